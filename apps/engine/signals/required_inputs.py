"""The inputs of a strategy at the close of each bar: conditions, and the history that they read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from apps.engine.kernel.codes import (
    CLOSE_LONG,
    CLOSE_SHORT,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
)
from apps.engine.language.conditions import Side
from apps.engine.language.sides import (
    Check,
    Comparison,
    GroupCheck,
    Movement,
    Read,
    entry_check,
    exit_check,
)
from apps.engine.language.strategy import Strategy, needs


class SignalCondition(NamedTuple):
    """A bit of the signals, its check, and the number of confirming candles."""

    bit: int
    check: Check
    candles: int


class RequiredInputs(NamedTuple):
    """The inputs of signals and ATR columns, computed once for any number of symbols.

    `lookbacks` are the earlier bars of each operand, with confirming bars and one more for the
    previous value. `warmups` are the strategy's in its own timeframe, `higher_timeframes` those in
    higher ones.
    """

    timeframe: str
    conditions: tuple[SignalCondition, ...]
    lookbacks: tuple[int, ...]
    warmups: tuple[int, ...]
    higher_timeframes: tuple[tuple[str, int], ...]
    atr_periods: tuple[int, int, int, int]

    @property
    def lookback(self) -> int:
        """The number of bars before its own that a condition may read."""
        return max(self.lookbacks)


def required_inputs(strategy: Strategy) -> RequiredInputs:
    conditions, warmups = tuple(_conditions(strategy)), needs(strategy)
    return RequiredInputs(
        strategy.basicInfo.timeframe,
        conditions,
        tuple(
            bars + condition.candles
            for condition in conditions
            for bars in (0, *_lookbacks(condition.check))
        ),
        tuple(candles for timeframe, candles in warmups if timeframe is None),
        tuple((timeframe, candles) for timeframe, candles in warmups if timeframe is not None),
        strategy.atr_periods,
    )


def _conditions(strategy: Strategy) -> Iterator[SignalCondition]:
    entry, exits = strategy.entryConditions, strategy.exitConditions
    bits = _bits_and_sides(strategy)
    for bit, side in bits:
        check = _unwrapped(entry_check(side, entry))
        yield SignalCondition(bit, check, max(entry.confirmationCandles, 1))
    closing: tuple[tuple[int, int, Side], ...] = (
        (ENTER_LONG, CLOSE_LONG, "long"),
        (ENTER_SHORT, CLOSE_SHORT, "short"),
    )
    for entered, bit, side in closing:
        if exits.conditions and entered in dict(bits):
            yield SignalCondition(bit, _unwrapped(exit_check(side, exits, entry)), 1)


def _unwrapped(check: GroupCheck) -> Check:
    """Return the only check of a group of one."""
    return check.checks[0] if len(check.checks) == 1 else check


def _bits_and_sides(strategy: Strategy) -> list[tuple[int, Side]]:
    match strategy.entryConditions.positionType, strategy.exits_on_opposite_signal:
        case "both", _:
            return [(ENTER_LONG, "long"), (ENTER_SHORT, "short")]
        case "long", False:
            return [(ENTER_LONG, "long")]
        case "long", True:
            return [(ENTER_LONG, "long"), (EXIT_LONG, "short")]
        case "short", False:
            return [(ENTER_SHORT, "short")]
    return [(ENTER_SHORT, "short"), (EXIT_SHORT, "long")]


def lookback(check: Check) -> int:
    """Return the number of bars before its own that a check reads, with one confirming candle."""
    return max(_lookbacks(check), default=0)


def _lookbacks(check: Check) -> Iterator[int]:
    """Yield the same for each operand."""
    match check:
        case Comparison(left, _, right):
            yield from (1 + _offset(left), 1 + _offset(right))
        case GroupCheck(_, checks):
            for part in checks:
                yield from _lookbacks(part)
        case Movement(read, _, steps) if not read.timeframe:
            yield read.offset + steps


def _offset(operand: Read | float) -> int:
    """Return the offset of an operand in bars; offsets in higher timeframes are not bars."""
    return operand.offset if isinstance(operand, Read) and not operand.timeframe else 0
