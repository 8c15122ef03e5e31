"""What a strategy watches for at the close of each bar: checks, each with the bit that it sets."""

from __future__ import annotations

from collections.abc import Mapping
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
    Hours,
    Joined,
    Movement,
    Pattern,
    Read,
    entry_check,
    exit_check,
)
from apps.engine.language.strategy import Strategy, warmups


class Wanted(NamedTuple):
    """A bit of the signals, and the check that sets it when so many candles confirm it."""

    bit: int
    check: Joined
    candles: int


class Watch(NamedTuple):
    """What signals and ranges are made of: it is looked up once, for any number of symbols.

    Checks read `lead` bars before their own, those that confirm them counted. `warmups` and
    `atr_periods` are those of the strategy.
    """

    timeframe: str
    wanted: tuple[Wanted, ...]
    lead: int
    warmups: Mapping[str | None, int]
    atr_periods: tuple[int, int, int, int]


def watch_of(strategy: Strategy) -> Watch:
    wanted = tuple(_wanted(strategy))
    lead = max([looks_back(one.check) + one.candles for one in wanted])
    timeframe, least = strategy.basicInfo.timeframe, warmups(strategy)
    return Watch(timeframe, wanted, lead, least, strategy.atr_periods)


def _wanted(strategy: Strategy) -> list[Wanted]:
    entry, exits = strategy.entryConditions, strategy.exitConditions
    confirming = max(entry.confirmationCandles, 1)
    found = [
        Wanted(bit, entry_check(side, entry), confirming) for bit, side in _bits_and_sides(strategy)
    ]
    entered = {one.bit for one in found}
    if exits.conditions and ENTER_LONG in entered:
        found.append(Wanted(CLOSE_LONG, exit_check("long", exits, entry), 1))
    if exits.conditions and ENTER_SHORT in entered:
        found.append(Wanted(CLOSE_SHORT, exit_check("short", exits, entry), 1))
    return found


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
    match check:
        case Comparison(left, _, right):
            return 1 + max(_bars_back(left), _bars_back(right))
        case Joined(_, checks):
            return max(map(looks_back, checks), default=0)
        case Movement(read, _, steps):
            return 0 if read.timeframe else read.offset + steps
        case Hours() | Pattern():
            return 0


def _bars_back(operand: Read | float) -> int:
    """The offset in a longer timeframe is not one of bars."""
    return operand.offset if isinstance(operand, Read) and not operand.timeframe else 0
