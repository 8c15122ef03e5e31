"""From conditions to signals: bits per bar, computed by blocks (rule 11).

A signal depends neither on where a range starts nor on what comes after it, to the last bit, and a
live bar reads the same numbers as a backtest (`values`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import pairwise

import numpy as np

from apps.engine.candles import Candles
from apps.engine.indicators.longer import Longer
from apps.engine.indicators.series import Column, Series, series
from apps.engine.language.sides import (
    Check,
    Comparison,
    Hours,
    Joined,
    Movement,
    Pattern,
    Read,
)
from apps.engine.signals.programs import (
    Bits,
    Instruction,
    Op,
    Program,
    Run,
    Truth,
    comparison,
    truth_of,
)
from apps.engine.signals.values import NO_CACHE, ColumnCache, Values, back
from apps.engine.signals.watch import Watch

MOST_COMPARED = 20
"""Conditions of a program: as long as it is not run it holds the columns of all."""
NO_RANGES = np.empty((0, 4))
"""Of a strategy that asks for none."""
SECOND_OF_DAY = Read(Series("SECOND_OF_DAY", ("day", "time"), ()), 0, 0)


def signals_of(
    watch: Watch,
    candles: Candles,
    longer: Mapping[str, Longer],
    first: int,
    last: int,
    *,
    columns: ColumnCache = NO_CACHE,
    into: Bits | None = None,
    run: Run | None = None,
) -> Bits:
    """Signal bits at the closes of the bars [first, last), u1[last - first]; `into` is their place
    if it is given.

    `candles` holds the symbol's history in the strategy's timeframe: all of it, or at least
    WARMUP_BARS bars before the block of bar `first`; `longer` that of every other timeframe that a
    condition names; `columns` keeps what was computed over these very bars before; `run` gets the
    programs that set the bits, and may carry them out later. Both entry bits are set where both
    sides are true; what that means is the kernel's to say. EXIT bits are those of
    exitOnOppositeSignal for an algorithm that trades one side, CLOSE bits those of conditions.
    """
    bits = np.empty(last - first, np.uint8) if into is None else into
    for part in columns.parts(candles, watch.timeframe, first, last, watch.lead):
        values, there = Values(candles, part, longer, columns), bits[part.blocks.begin - first :]
        for place, (bit, check, confirming) in enumerate(watch.wanted):
            instructions = tuple(instructions_of(check, values, confirming))
            program = Program(there, bit, instructions, anew=place == 0)
            (run or columns.passes.run)([program], part.spans)
        del values, instructions, program  # their memory is the next part's
    return bits


def atr_columns(
    watch: Watch,
    candles: Candles,
    first: int,
    last: int,
    *,
    columns: ColumnCache = NO_CACHE,
) -> Column:
    """The average true ranges that size, stop, target and trail ask for at the bars [first, last),
    f8[last - first, 4] in that order.

    NaN where none is asked for, and where it is not known yet; f8[0, 4] when no rule asks.
    `candles` and `columns` as for `signals_of`.
    """
    periods = watch.atr_periods
    if not any(periods):
        return NO_RANGES
    ranges = np.full((last - first, 4), np.nan)
    for part in columns.parts(candles, watch.timeframe, first, last, 0):
        values, begin = Values(candles, part, {}, columns), part.blocks.begin - first
        for place, period in enumerate(periods):
            if period:
                ranges[begin : begin + len(values), place] = values.read(_atr(period))
    return ranges


def _atr(period: int) -> Read:
    return Read(series("ATR", "value", "close", {"period": period}), 0, 0)


def instructions_of(check: Check, values: Values, candles: int) -> list[Instruction]:
    """What leaves the truth of `confirmed` on the stack."""
    match check:
        case Comparison() if candles == 1:
            return [_compared(check, values)]
        case Joined(operator, (first, *rest)) if _size(check) <= MOST_COMPARED:
            found = instructions_of(first, values, candles)
            for one in rest:
                found += instructions_of(one, values, candles)
                found.append(Instruction(Op.AND if operator == "AND" else Op.OR))
            return found
    return [Instruction(Op.TRUE, confirmed(check, values, candles))]


def _size(check: Check) -> int:
    return sum(map(_size, check.checks)) if isinstance(check, Joined) else 1


def _compared(check: Comparison, values: Values) -> Instruction:
    left, operator, right = check
    beside = values.read(right) if isinstance(right, Read) else float(right)
    return comparison(values.read(left), operator, beside)


def confirmed(check: Check, values: Values, candles: int) -> Truth:
    """Whether the check holds at each bar, confirmed by so many candles.

    Levels and movements hold on each of them. A pattern ended at the first of them; a cross
    happened there, and its side has held since. Hours count at the last one. What is joined is
    confirmed each for itself.
    """
    match check:
        case Joined(_, ()):
            return np.zeros(len(values), dtype=np.bool_)
        case Joined(_, (one,)):
            return confirmed(one, values, candles)
        case Joined(operator, checks):
            truths = (confirmed(one, values, candles) for one in checks)
            return reduce(np.logical_and if operator == "AND" else np.logical_or, truths)
        case Hours(start, end):
            second = values.read(SECOND_OF_DAY)
            return (second >= start) & (second < end)
        case Pattern(read, sign):
            return _earlier(_seen(values.read(read), sign), candles - 1)
        case Movement(read, operator, steps) if read.timeframe:
            before = (read._replace(offset=read.offset + step) for step in range(steps + 1))
            columns = pairwise(values.read(one) for one in before)
            moved = [a > b if operator == "rising" else a < b for a, b in columns]
            return _held(reduce(np.logical_and, moved), candles)
        case Movement(read, operator, steps):
            return _held(_steps(values.read(read), operator), steps + candles - 1)
        case Comparison():
            compared = _compared(check, values)
            if compared.op is not Op.CROSSES_ABOVE:
                return _held(truth_of(compared), candles)
            stays = truth_of(compared._replace(op=Op.ABOVE))
            return _earlier(truth_of(compared), candles - 1) & _held(stays, candles)


def _seen(pattern: Column, sign: int) -> Truth:
    return pattern * sign > 0 if sign else np.abs(pattern) > 0


def _steps(a: Column, operator: str) -> Truth:
    return a > back(a, 1) if operator == "rising" else a < back(a, 1)


def _held(truth: Truth, candles: int) -> Truth:
    """True where it is true on each of the last so many candles."""
    return reduce(np.logical_and, (_earlier(truth, step) for step in range(1, candles)), truth)


def _earlier(truth: Truth, steps: int) -> Truth:
    """The truth so many bars ago; false before the array starts."""
    moved = np.zeros(len(truth), dtype=np.bool_)
    moved[steps:] = truth[: max(len(truth) - steps, 0)]
    return moved
