"""The inputs of a strategy at the close of each bar: conditions, and the history that they read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from apps.engine.indicators.series import OWN_CANDLES, CandleSource, ComputedValue, Read, reads_of
from apps.engine.kernel.codes import (
    CLOSE_LONG,
    CLOSE_SHORT,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
    SHARE,
    STOP_LEVEL,
    TARGET_LEVEL,
    TRAIL_LEVEL,
)
from apps.engine.language.conditions import Side
from apps.engine.language.ranking import RankingRows
from apps.engine.language.sides import (
    Check,
    Comparison,
    GroupCheck,
    Movement,
    PatternCheck,
    Within,
    entry_check,
    exit_check,
    level_reads,
)
from apps.engine.language.strategy import Strategy, needs


class SignalCondition(NamedTuple):
    """A bit of the signals, its check, and the number of confirming candles."""

    bit: int
    check: Check
    candles: int


class LevelColumn(NamedTuple):
    """A column of the kernel's levels: a value, and the factor of its buffer."""

    column: int
    value: ComputedValue
    factor: float = 1.0


class RankInputs(NamedTuple):
    """The ranking of a strategy: its value, the places that enter and stay, and the bit that closes
    at later places (0: none).
    """

    by: ComputedValue
    highest: bool
    top: int
    keep: int
    every: RankingRows
    close: int


class RequiredInputs(NamedTuple):
    """The inputs of signals and ATR columns, computed once for any number of symbols.

    `lookbacks` are the earlier bars of each operand, with confirming bars and one more for the
    previous value. `warmups` are the strategy's in its own candles, `aligned` those in candles of
    other sources.
    """

    timeframe: str
    conditions: tuple[SignalCondition, ...]
    lookbacks: tuple[int, ...]
    warmups: tuple[int, ...]
    aligned: tuple[tuple[CandleSource, int], ...]
    atr_periods: tuple[int, int, int, int, int]
    levels: tuple[LevelColumn, ...] = ()
    rank: RankInputs | None = None

    @property
    def lookback(self) -> int:
        """The number of bars before its own that a condition may read."""
        return max(self.lookbacks)


def required_inputs(strategy: Strategy) -> RequiredInputs:
    conditions, warmups = tuple(_conditions(strategy)), needs(strategy)
    rank = _rank(strategy)
    return RequiredInputs(
        strategy.basicInfo.timeframe,
        conditions,
        (
            *(
                bars + condition.candles
                for condition in conditions
                for bars in (0, *_lookbacks(condition.check))
            ),
            *(() if rank is None else (bars_back(rank.by),)),
        ),
        tuple(candles for source, candles in warmups if source == OWN_CANDLES),
        tuple((source, candles) for source, candles in warmups if source != OWN_CANDLES),
        strategy.atr_periods,
        tuple(_levels(strategy)),
        rank,
    )


def _rank(strategy: Strategy) -> RankInputs | None:
    entry, leaves = strategy.entryConditions, strategy.exitConditions.onRank == "leave"
    rank = entry.rank
    if rank is None:
        return None
    close = CLOSE_LONG if entry.positionType == "long" else CLOSE_SHORT
    return RankInputs(
        rank.by.value,
        rank.order != "lowest",
        rank.top,
        rank.top if rank.keep is None else rank.keep,
        rank.every,
        close if leaves else 0,
    )


_COLUMNS: Final = {"stop": STOP_LEVEL, "target": TARGET_LEVEL, "trail": TRAIL_LEVEL}


def _levels(strategy: Strategy) -> Iterator[LevelColumn]:
    for level in level_reads(strategy.exitConditions, strategy.entryConditions):
        column = _COLUMNS[level.kind]
        yield LevelColumn(column, level.long, 1 - level.buffer / 100)
        yield LevelColumn(column + 1, level.short, 1 + level.buffer / 100)
    share = strategy.level_operands.get("positionSizing.percentage")
    if share is not None:
        yield LevelColumn(SHARE, share.value)


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
            yield from (1 + bars_back(left), 1 + bars_back(right))
        case GroupCheck(_, checks):
            for part in checks:
                yield from _lookbacks(part)
        case Movement(value, _, steps) if counts_own_candles(value):
            yield bars_back(value) + steps
        case PatternCheck(read, _):
            yield bars_back(read)
        case Within(inner, candles):
            yield from (bars + candles - 1 for bars in (0, *_lookbacks(inner)))


def counts_own_candles(value: ComputedValue) -> bool:
    """Return whether a value moves in the algorithm's own candles."""
    return not isinstance(value, Read) or value.candles == OWN_CANDLES


def bars_back(operand: ComputedValue | float) -> int:
    """Return the offset of an operand in bars; offsets in candles of other sources are not bars."""
    offsets = (read.offset for read in reads_of(operand) if read.candles == OWN_CANDLES)
    return max(offsets, default=0)
