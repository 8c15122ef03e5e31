"""What a strategy watches for at the close of each bar: checks, each with the bit that it sets."""

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
    Joined,
    Movement,
    Read,
    entry_check,
    exit_check,
)
from apps.engine.language.strategy import Strategy, needs


class Wanted(NamedTuple):
    """A bit of the signals, and the check that sets it when so many candles confirm it."""

    bit: int
    check: Check
    candles: int


class Watch(NamedTuple):
    """What signals and ranges are made of: it is looked up once, for any number of symbols.

    `backs` are how many bars before its own a check reads, one by one for the operands of all, with
    those that confirm it; one more than that, so that the value before can be told. `needs` are
    the strategy's of its own timeframe, `longer` those of longer ones.
    """

    timeframe: str
    wanted: tuple[Wanted, ...]
    backs: tuple[int, ...]
    needs: tuple[int, ...]
    longer: tuple[tuple[str, int], ...]
    atr_periods: tuple[int, int, int, int]

    @property
    def lead(self) -> int:
        """How many bars before its own a check may read."""
        return max(self.backs)


def watch_of(strategy: Strategy) -> Watch:
    wanted, all_needs = tuple(_wanted(strategy)), needs(strategy)
    return Watch(
        strategy.basicInfo.timeframe,
        wanted,
        tuple([steps + one.candles for one in wanted for steps in (0, *_backs(one.check))]),
        tuple([candles for timeframe, candles in all_needs if timeframe is None]),
        tuple([(timeframe, candles) for timeframe, candles in all_needs if timeframe is not None]),
        strategy.atr_periods,
    )


def _wanted(strategy: Strategy) -> list[Wanted]:
    entry, exits = strategy.entryConditions, strategy.exitConditions
    confirming = max(entry.confirmationCandles, 1)
    found = [
        Wanted(bit, _lone(entry_check(side, entry)), confirming)
        for bit, side in _bits_and_sides(strategy)
    ]
    entered = {one.bit for one in found}
    if exits.conditions and ENTER_LONG in entered:
        found.append(Wanted(CLOSE_LONG, _lone(exit_check("long", exits, entry)), 1))
    if exits.conditions and ENTER_SHORT in entered:
        found.append(Wanted(CLOSE_SHORT, _lone(exit_check("short", exits, entry)), 1))
    return found


def _lone(check: Joined) -> Check:
    """What is joined with nothing, without what would join it."""
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


def looks_back(check: Check) -> int:
    """How many bars before its own a check reads, when one candle confirms it."""
    return max(_backs(check), default=0)


def _backs(check: Check) -> Iterator[int]:
    """The same, one by one for all that it reads."""
    match check:
        case Comparison(left, _, right):
            yield from (1 + _bars_back(left), 1 + _bars_back(right))
        case Joined(_, checks):
            for one in checks:
                yield from _backs(one)
        case Movement(read, _, steps) if not read.timeframe:
            yield read.offset + steps


def _bars_back(operand: Read | float) -> int:
    """The offset in a longer timeframe is not one of bars."""
    return operand.offset if isinstance(operand, Read) and not operand.timeframe else 0
