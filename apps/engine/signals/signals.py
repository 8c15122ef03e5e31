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

from apps.engine.indicators.series import Floats, Read, Series, reads_of, series, shifted
from apps.engine.kernel.codes import SHARE
from apps.engine.kernel.records import LEVELS, NO_LEVELS, RANGES
from apps.engine.language.sides import (
    AlertCheck,
    Check,
    Comparison,
    GroupCheck,
    Hours,
    Movement,
    PatternCheck,
    SessionOfMonth,
    Weekdays,
    Within,
)
from apps.engine.signals.columns import BatchColumns, ColumnCache, SymbolBars
from apps.engine.signals.required_inputs import RequiredInputs, counts_own_candles

Truth: TypeAlias = NDArray[np.bool_]
SignalMask: TypeAlias = NDArray[np.uint8]
"""The bits of `kernel.codes` at each bar."""

NO_RANGES = np.empty((0, RANGES))
"""Of a strategy that asks for none."""
NO_VALUES = np.empty(0)
"""Of a strategy without a ranking."""
SECOND_OF_DAY = Read(Series("SECOND_OF_DAY", ("day", "time"), ()), 0, 0)
DAY_NUMBER = Read(Series("COLUMN", ("day",), ()), 0, 0)

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
    bars: SymbolBars,
    first: int,
    last: int,
    *,
    cache: ColumnCache | None = None,
    into: SignalMask | None = None,
) -> SignalMask:
    """Return the signals at the closes of the bars [first, last), u1[last - first], written to
    `into` if given.

    `bars` holds the symbol's history in the strategy's timeframe: all of it, or at least
    WARMUP_BARS bars before the block of bar `first`; and the candles of other sources that
    conditions name. `cache` has earlier results over the same bars. Both entry bits are set if both
    sides are true; the kernel decides their meaning. EXIT bits come from exitOnOppositeSignal for
    an algorithm that trades one side, CLOSE bits from conditions.
    """
    signals = np.empty(last - first, np.uint8) if into is None else into
    cache = cache or ColumnCache(0)
    for batch in cache.batches_of(bars.candles, inputs.timeframe, first, last, inputs.lookback):
        mask = _mask(inputs, BatchColumns(bars, batch, cache))
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
    bars: SymbolBars,
    first: int,
    last: int,
    *,
    cache: ColumnCache | None = None,
) -> Floats:
    """Return the average true ranges used by size, stop, target and trail at the bars [first,
    last), f8[last - first, RANGES] in that order.

    NaN for unused and for unknown ones; f8[0, RANGES] if no rule uses any. `bars` and `cache` are
    as for `signals_of`.
    """
    if not any(inputs.atr_periods):
        return NO_RANGES
    ranges, cache = np.full((last - first, RANGES), np.nan), cache or ColumnCache(0)
    for batch in cache.batches_of(bars.candles, inputs.timeframe, first, last, 0):
        columns, begin = BatchColumns(bars, batch, cache), batch.blocks[0].first - first
        for position, period in enumerate(inputs.atr_periods):
            if period:
                batch.unpack(columns.read(_atr(period)), ranges[begin:, position])
    return ranges


def level_columns(
    inputs: RequiredInputs,
    bars: SymbolBars,
    first: int,
    last: int,
    *,
    cache: ColumnCache | None = None,
) -> Floats:
    """Return the kernel's levels at the bars [first, last), f8[last - first, LEVELS]; f8[0, LEVELS]
    if the strategy reads none.

    NaN for unused ones, and for values that are unknown or not above 0. `bars` and `cache` are as
    for `signals_of`.
    """
    if not inputs.levels:
        return NO_LEVELS
    levels, cache = np.full((last - first, LEVELS), np.nan), cache or ColumnCache(0)
    offsets = (read.offset for level in inputs.levels for read in reads_of(level.value))
    lookback = max(offsets, default=0)
    for batch in cache.batches_of(bars.candles, inputs.timeframe, first, last, lookback):
        columns, begin = BatchColumns(bars, batch, cache), batch.blocks[0].first - first
        for column, value, factor in inputs.levels:
            batch.unpack(columns.read(value) * factor, levels[begin:, column])
    levels[:, SHARE] = np.minimum(levels[:, SHARE], 100) / 100
    return np.where(levels > 0, levels, np.nan)


def ranked_values(
    inputs: RequiredInputs,
    bars: SymbolBars,
    first: int,
    last: int,
    *,
    cache: ColumnCache | None = None,
) -> Floats:
    """Return the value by which the symbol is ranked at each of the bars [first, last), NaN if
    unknown; f8[0] without a ranking. `bars` and `cache` are as for `signals_of`.
    """
    if inputs.rank is None:
        return NO_VALUES
    values, cache = np.full(last - first, np.nan), cache or ColumnCache(0)
    for batch in cache.batches_of(bars.candles, inputs.timeframe, first, last, inputs.lookback):
        column = BatchColumns(bars, batch, cache).read(inputs.rank.by)
        batch.unpack(column, values[batch.blocks[0].first - first :])
    return values


def _atr(period: int) -> Read:
    return Read(series("ATR", "value", "close", {"period": period}), 0, 0)


def confirmed(check: Check, columns: BatchColumns, candles: int) -> Truth:
    """Return whether the check holds at each bar, confirmed by this many candles.

    Levels and movements must hold on each of them. A pattern must end at the first of them, or an
    alert be received in it; a cross must happen there, with its side holding since. Hours count at
    the last one. Members of a group are confirmed separately.
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
        case Weekdays(days):
            return np.isin((columns.read(DAY_NUMBER) + 3) % 7, list(days))  # day 0: a Thursday
        case SessionOfMonth(low, high):
            session = _session_of_month(columns, from_the_end=low < 0)
            return np.logical_and(session >= low, session <= high)
        case Within(inner, last):
            truth = confirmed(inner, columns, candles)
            return reduce(np.logical_or, (_earlier(truth, bars) for bars in range(last)))
        case PatternCheck(read, sign):
            pattern = columns.read(read)
            seen = pattern * sign > 0 if sign else np.abs(pattern) > 0
            return _earlier(seen, candles - 1)
        case AlertCheck(name):
            return _earlier(columns.alerted(name), candles - 1)
        case Movement(value, operator, steps) if counts_own_candles(value):
            column = columns.read(value)
            return _held(_moved(column, shifted(column, 1), operator), steps + candles - 1)
        case Movement(Read() as read, operator, steps):
            moved = (
                _moved(columns.read(later), columns.read(before), operator)
                for before, later in pairwise(_offsets(read, steps))
            )
            return _held(reduce(np.logical_and, moved), candles)
        case Comparison(left, operator, right):
            return _compared(
                columns.read(left),
                operator,
                right if isinstance(right, float | int) else columns.read(right),
                candles,
            )
    raise TypeError(f"{check!r} is no check.")


def _session_of_month(columns: BatchColumns, *, from_the_end: bool) -> Floats:
    """Return the number of each bar's session in its month, from 1, or from -1 backwards; NaN where
    the calendar is not certain, and before the array starts.
    """
    days = columns.read(DAY_NUMBER)
    session, known = np.full(len(days), np.nan), np.flatnonzero(~np.isnan(days))
    if columns.sessions is not None:
        dates, of_bar = np.unique(days[known].astype(np.int32), return_inverse=True)
        number, certain = columns.sessions.session_of_month(dates, from_the_end=from_the_end)
        session[known] = np.where(certain, number, np.nan)[of_bar]
    return session


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
