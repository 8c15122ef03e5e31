"""The conditions for long and for short: resolved for each side.

The short side of an algorithm that trades both sides is the long side in a market turned upside
down. There a price, an average or an oscillator around a centre runs the other way, so `above`
becomes `below`, the upper band the lower, the high the low, RSI 70 becomes RSI 30. Values without
direction (ADX, ATR, VOLUME) are the same in both, and so is a condition made of them. +DI and -DI
change places and keep their operator. A condition that compares the two kinds has no mirror and
stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from apps.engine.indicators import patterns
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import Inversion
from apps.engine.indicators.series import CandleSource, ComputedValue, Read, series
from apps.engine.language.conditions import (
    CandlePattern,
    Condition,
    EntryConditions,
    IndicatorIndicator,
    IndicatorValue,
    LogicalOperator,
    Side,
    Single,
    TimeWindow,
    Weekday,
)
from apps.engine.language.exits import ExitConditions, LevelStop, LevelTarget, LevelTrail
from apps.engine.language.operands import Calc, Operand

_OPPOSITE_OPERATOR = {
    "above": "below",
    "below": "above",
    "at_or_above": "at_or_below",
    "at_or_below": "at_or_above",
    "crosses_above": "crosses_below",
    "crosses_below": "crosses_above",
    "rising": "falling",
    "falling": "rising",
}
_SIGNS = {"bullish": 1, "bearish": -1, None: 0}
_WEEKDAYS = get_args(Weekday)
_OPPOSITE_SOURCE = {"high": "low", "low": "high"}


class Comparison(NamedTuple):
    """A value against another, or against a number."""

    left: ComputedValue
    operator: str
    right: ComputedValue | float


class Movement(NamedTuple):
    """A value that rises or falls strictly, over some consecutive steps of its own candles."""

    value: ComputedValue
    operator: str
    steps: int


class PatternCheck(NamedTuple):
    """Bars that end a pattern: a bullish one (sign 1), a bearish one (-1), or either (0)."""

    read: Read
    sign: int


class Hours(NamedTuple):
    """Bars that start in [start, end), seconds of the exchange's day."""

    start: int
    end: int


class Weekdays(NamedTuple):
    """Bars on these days of the week, 0 for Monday."""

    days: frozenset[int]


class SessionOfMonth(NamedTuple):
    """Bars of the month's sessions from `low` to `high`, counted from 1, or from -1 backwards."""

    low: int
    high: int


class AlertCheck(NamedTuple):
    """Bars in which an alert of this name was received (rule 25)."""

    name: str


class Within(NamedTuple):
    """A check that held at one of the last candles, this one included."""

    check: Check
    candles: int


class GroupCheck(NamedTuple):
    """Checks joined by AND (all) or OR (one); never true without any."""

    operator: LogicalOperator
    checks: tuple[Check, ...]


CalendarCheck: TypeAlias = Weekdays | SessionOfMonth
Check: TypeAlias = (
    Comparison | Movement | PatternCheck | Hours | CalendarCheck | AlertCheck | Within | GroupCheck
)


def entry_check(side: Side, entry: EntryConditions) -> GroupCheck:
    """Return the check that opens a side; for a side that is not traded, the mirror of the
    other.
    """
    return GroupCheck(entry.logicalOperator, _checks(entry.conditions, side, _written_for(entry)))


def exit_check(side: Side, exits: ExitConditions, entry: EntryConditions) -> GroupCheck:
    """Return the check that closes a position of a side; its conditions are written for the same
    side as entries.
    """
    return GroupCheck(exits.logicalOperator, _checks(exits.conditions, side, _written_for(entry)))


def _written_for(entry: EntryConditions) -> Side:
    return "short" if entry.positionType == "short" else "long"


def _checks(conditions: Sequence[Condition], side: Side, written_for: Side) -> tuple[Check, ...]:
    """Return the checks of this side.

    A group without any for this side is left out, as a condition of the other side is.
    """
    checks: list[Check] = []
    for condition in conditions:
        if condition.side not in (None, "both", side):
            continue
        as_written = condition.side is not None or side == written_for
        check: Check | None
        if condition.type != "group":
            check = _resolve(condition, inverted=not as_written)
        else:
            inner = _checks(condition.conditions, side, side if as_written else written_for)
            check = GroupCheck(condition.logicalOperator, inner) if inner else None
        if check is not None:
            checks.append(Within(check, condition.within) if condition.within else check)
    return tuple(checks)


def _resolve(condition: Single, *, inverted: bool) -> Check:
    if condition.type == "indicator_indicator":
        return _compare(condition, inverted=inverted)
    if condition.type == "indicator_value":
        return _measure(condition, inverted=inverted)
    if condition.type == "candle_pattern":
        return _pattern(condition, inverted=inverted)
    if condition.type == "signal":
        return AlertCheck(condition.name)
    return _window(condition)


def _window(condition: TimeWindow) -> Check:
    checks: list[Check] = []
    if condition.seconds is not None:
        checks.append(Hours(*condition.seconds))
    if condition.weekdays is not None:
        checks.append(Weekdays(frozenset(map(_WEEKDAYS.index, condition.weekdays))))
    if condition.sessionOfMonth is not None:
        checks.append(SessionOfMonth(*condition.sessionOfMonth))
    return checks[0] if len(checks) == 1 else GroupCheck("AND", tuple(checks))


def _pattern(condition: CandlePattern, *, inverted: bool) -> PatternCheck:
    name, sign = condition.pattern, _SIGNS[condition.direction]
    if inverted:
        name, sign = patterns.inverted(name, sign)
    candles = CandleSource(timeframe=condition.timeframe or "")
    return PatternCheck(
        Read(patterns.pattern_series(name), 0, condition.offset or 0, candles), sign
    )


def _compare(condition: IndicatorIndicator, *, inverted: bool) -> Comparison:
    left, right, operator = condition.indicator1, condition.indicator2, condition.operator
    turns = inverted and _inversion(left) is not Inversion.NONE
    if not inverted or turns != (_inversion(right) is not Inversion.NONE):
        return Comparison(left.value, operator, right.value)
    opposite_operator = _OPPOSITE_OPERATOR[operator] if turns else operator
    return Comparison(_opposite(left), opposite_operator, _opposite(right))


def _measure(condition: IndicatorValue, *, inverted: bool) -> Comparison | Movement:
    operand, operator, value = condition.indicator, str(condition.operator), condition.value
    read = _opposite(operand) if inverted else operand.value
    if inverted and _inversion(operand) is not Inversion.NONE:
        operator = _OPPOSITE_OPERATOR[operator]
    if value is None:
        return Movement(read, operator, condition.candles or 1)
    return Comparison(read, operator, _inversion(operand).level(value) if inverted else value)


class LevelRead(NamedTuple):
    """A level of a stop, target or trail for each side: values, and the buffer in percent."""

    kind: Literal["stop", "target", "trail"]
    long: ComputedValue
    short: ComputedValue
    buffer: float


def level_reads(exits: ExitConditions, entry: EntryConditions) -> Iterator[LevelRead]:
    """Yield the levels of exits (rules 3 and 5).

    In an algorithm of both sides the short's level is the mirror; else both are as written.
    """

    def level(kind: Literal["stop", "target", "trail"], price: Operand, buffer: float) -> LevelRead:
        short = _opposite(price) if entry.positionType == "both" else price.value
        return LevelRead(kind, price.value, short, buffer)

    stop, target, trail = exits.stopLoss, exits.takeProfit, exits.trailingStop
    if isinstance(stop, LevelStop):
        yield level("stop", stop.price, stop.buffer or 0.0)
    if isinstance(target, LevelTarget):
        yield level("target", target.price, 0.0)
    if isinstance(trail, LevelTrail) and trail.enabled and trail.price is not None:
        yield level("trail", trail.price, trail.buffer or 0.0)


def _inversion(operand: Operand) -> Inversion:
    """Return the inversion of the operand: that of its source where it keeps it. Values of volume,
    of another symbol, and of a source without direction have none.
    """
    if isinstance(operand, Calc) or operand.on or operand.source == "volume":
        return Inversion.NONE
    own = CATALOGUE[operand.type].output(operand.output).inversion
    if isinstance(operand.source, str):
        return own
    inner = _inversion(operand.source)
    return inner if own is Inversion.SAME or inner is Inversion.NONE else own


def _opposite(operand: Operand) -> ComputedValue:
    """Return the operand of the other side; one without a mirror, and one of a source without
    direction, stays as written.
    """
    if isinstance(operand, Calc) or operand.on or operand.source == "volume":
        return operand.value
    source: str | ComputedValue
    if isinstance(operand.source, str):
        source = _OPPOSITE_SOURCE.get(operand.source, operand.source)
    elif _inversion(operand.source) is Inversion.NONE:
        return operand.value
    else:
        source = _opposite(operand.source)
    row = CATALOGUE[operand.type]
    output = CATALOGUE[row.opposite].output(row.output(operand.output).opposite)
    inverted = series(row.opposite, output.name, source, row.turned(operand.parameters))
    return Read(inverted, output.column, operand.offset, operand.candles)
