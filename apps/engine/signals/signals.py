"""Signals from conditions: bits per bar, computed by blocks (rule 11).

A signal depends neither on the start of a range nor on later bars, to the last bit, and a live bar
reads the same numbers as a backtest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles
from apps.engine.indicators.higher_timeframe import HigherTimeframe
from apps.engine.indicators.series import Floats, Series, series
from apps.engine.language.sides import (
    Check,
    Comparison,
    GroupCheck,
    Hours,
    Movement,
    PatternCheck,
    Read,
)
from apps.engine.signals.columns import BatchColumns, ColumnCache, shifted
from apps.engine.signals.required_inputs import RequiredInputs

Truth: TypeAlias = NDArray[np.bool_]
SignalMask: TypeAlias = NDArray[np.uint8]
"""The bits of `kernel.codes` at each bar."""

NO_RANGES = np.empty((0, 4))
"""Of a strategy that asks for none."""
SECOND_OF_DAY = Read(Series("SECOND_OF_DAY", ("day", "time"), ()), 0, 0)

Compare: TypeAlias = Callable[[Floats, Floats | float], Truth]
_LEVELS: Final[Mapping[str, Compare]] = {
    "above": np.greater,
    "crosses_above": np.greater,
    "at_or_above": np.greater_equal,
    "below": np.less,
    "crosses_below": np.less,
    "at_or_below": np.less_equal,
}
_BEFORE_A_CROSS: Final[Mapping[str, Compare]] = {
    "crosses_above": np.less_equal,
    "crosses_below": np.greater_equal,
}


def signals_of(
    inputs: RequiredInputs,
    candles: Candles,
    higher_timeframes: Mapping[str, HigherTimeframe],
    first: int,
    last: int,
    *,
    cache: ColumnCache | None = None,
    into: SignalMask | None = None,
) -> SignalMask:
    """Return the signals at the closes of the bars [first, last), u1[last - first], written to
    `into` if given.

    `candles` holds the symbol's history in the strategy's timeframe: all of it, or at least
    WARMUP_BARS bars before the block of bar `first`. `higher_timeframes` are those named by
    conditions; `cache` has earlier results over the same bars. Both entry bits are set if both
    sides are true; the kernel decides their meaning. EXIT bits come from exitOnOppositeSignal for
    an algorithm that trades one side, CLOSE bits from conditions.
    """
    signals = np.empty(last - first, np.uint8) if into is None else into
    cache = cache or ColumnCache(0)
    for batch in cache.batches_of(candles, inputs.timeframe, first, last, inputs.lookback):
        mask = _mask(inputs, BatchColumns(candles, batch, higher_timeframes, cache))
        batch.unpack(mask, signals[batch.blocks[0].first - first :])
    return signals


def _mask(inputs: RequiredInputs, columns: BatchColumns) -> SignalMask:
    """Return the bits of all conditions, packed as the columns are."""
    masks = (
        confirmed(check, columns, candles).view(np.uint8) * np.uint8(bit)
        for bit, check, candles in inputs.conditions
    )
    return reduce(np.bitwise_or, masks)


def atr_columns(
    inputs: RequiredInputs,
    candles: Candles,
    first: int,
    last: int,
    *,
    cache: ColumnCache | None = None,
) -> Floats:
    """Return the average true ranges used by size, stop, target and trail at the bars [first,
    last), f8[last - first, 4] in that order.

    NaN for unused and for unknown ones; f8[0, 4] if no rule uses any. `candles` and `cache` are as
    for `signals_of`.
    """
    if not any(inputs.atr_periods):
        return NO_RANGES
    ranges, cache = np.full((last - first, 4), np.nan), cache or ColumnCache(0)
    for batch in cache.batches_of(candles, inputs.timeframe, first, last, 0):
        columns, begin = BatchColumns(candles, batch, {}, cache), batch.blocks[0].first - first
        for position, period in enumerate(inputs.atr_periods):
            if period:
                batch.unpack(columns.read(_atr(period)), ranges[begin:, position])
    return ranges


def _atr(period: int) -> Read:
    return Read(series("ATR", "value", "close", {"period": period}), 0, 0)


def confirmed(check: Check, columns: BatchColumns, candles: int) -> Truth:
    """Return whether the check holds at each bar, confirmed by this many candles.

    Levels and movements must hold on each of them. A pattern must end at the first of them; a cross
    must happen there, with its side holding since. Hours count at the last one. Members of a group
    are confirmed separately.
    """
    match check:
        case GroupCheck(_, ()):
            return np.zeros(len(columns), dtype=np.bool_)
        case GroupCheck(operator, checks):
            truths = (confirmed(part, columns, candles) for part in checks)
            return reduce(np.logical_and if operator == "AND" else np.logical_or, truths)
        case Hours(start, end):
            second = columns.read(SECOND_OF_DAY)
            return (second >= start) & (second < end)
        case PatternCheck(read, sign):
            pattern = columns.read(read)
            seen = pattern * sign > 0 if sign else np.abs(pattern) > 0
            return _earlier(seen, candles - 1)
        case Movement(read, operator, steps) if read.timeframe:
            moved = (
                _moved(columns.read(later), columns.read(before), operator)
                for before, later in pairwise(_offsets(read, steps))
            )
            return _held(reduce(np.logical_and, moved), candles)
        case Movement(read, operator, steps):
            column = columns.read(read)
            return _held(_moved(column, shifted(column, 1), operator), steps + candles - 1)
        case Comparison(left, operator, right):
            return _compared(
                columns.read(left),
                operator,
                columns.read(right) if isinstance(right, Read) else right,
                candles,
            )


def _offsets(read: Read, steps: int) -> list[Read]:
    """Return the reads from this many candles back to its own, the latest at the end."""
    return [read._replace(offset=read.offset + step) for step in range(steps, -1, -1)]


def _moved(later: Floats, before: Floats, operator: str) -> Truth:
    return later > before if operator == "rising" else later < before


def _compared(left: Floats, operator: str, right: Floats | float, candles: int) -> Truth:
    level, before = _LEVELS[operator](left, right), _BEFORE_A_CROSS.get(operator)
    if before is None:
        return _held(level, candles)
    crossed = np.empty(len(level), np.bool_)
    crossed[:1] = False
    np.logical_and(before(left, right)[:-1], level[1:], out=crossed[1:])
    return crossed if candles == 1 else _earlier(crossed, candles - 1) & _held(level, candles)


def _held(truth: Truth, candles: int) -> Truth:
    """Return whether it is true on each of the last candles."""
    return reduce(np.logical_and, (_earlier(truth, bars) for bars in range(1, candles)), truth)


def _earlier(truth: Truth, bars: int) -> Truth:
    """Return the truth of this many bars ago; false before the array starts."""
    if not bars:
        return truth
    earlier = np.zeros(len(truth), dtype=np.bool_)
    earlier[bars:] = truth[: max(len(truth) - bars, 0)]
    return earlier
