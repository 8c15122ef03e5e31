"""An algorithm in plain English: a sentence for every setting of its steps, and the differences of
two versions in sentences.

Settings with a default have a sentence too; a setting without effect has one if it differs from its
default. So two configurations with different meanings never read the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from apps.engine.errors import FieldError
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.patterns import PATTERNS
from apps.engine.language.conditions import (
    AnyGroup,
    CandlePattern,
    Condition,
    EntryConditions,
    IndicatorIndicator,
    IndicatorValue,
    TimeWindow,
)
from apps.engine.language.exits import (
    AtrStop,
    AtrTarget,
    AtrTrail,
    ExitConditions,
    LevelStop,
    LevelTarget,
    LevelTrail,
    PercentageStop,
    PercentageTarget,
    PercentageTrail,
    PointsStop,
    PointsTarget,
    PointsTrail,
    RiskRewardTarget,
    Step,
    StopLoss,
    TakeProfit,
    TrailingStop,
)
from apps.engine.language.operands import Calc, IndicatorOperand, NumberOrOperand, Operand
from apps.engine.language.ranking import Rank
from apps.engine.language.steps import (
    AddDistance,
    AtrDistance,
    BasicInfo,
    ExecutionSettings,
    FixedAmount,
    FixedQuantity,
    PercentageDistance,
    PercentageOfEquity,
    PointsDistance,
    PositionSizing,
    RiskBased,
    RiskParameters,
    VolatilityBased,
)
from apps.engine.language.strategy import STEP_NAMES, read_strategy, with_stand_ins
from apps.engine.units import group_digits

_TIMEFRAMES: Final = {"m": "minute", "h": "hour", "d": "day", "w": "week"}
_SOURCES: Final = {
    "close": "the close",
    "open": "the open",
    "high": "the high",
    "low": "the low",
    "volume": "the volume",
    "hl2": "(high + low) / 2",
    "hlc3": "(high + low + close) / 3",
    "ohlc4": "(open + high + low + close) / 4",
}
_OPERATORS: Final = {
    "crosses_above": "crosses above",
    "crosses_below": "crosses below",
    "above": "is above",
    "below": "is below",
    "at_or_above": "is at or above",
    "at_or_below": "is at or below",
}
_INFIX: Final = {"add": " + ", "subtract": " - ", "multiply": " x ", "divide": " / "}
_WEEKDAYS: Final = {
    "MON": "Mondays",
    "TUE": "Tuesdays",
    "WED": "Wednesdays",
    "THU": "Thursdays",
    "FRI": "Fridays",
    "SAT": "Saturdays",
    "SUN": "Sundays",
}
_QUANTIFIERS: Final = {"AND": "every condition", "OR": "any condition"}
_GROUPS: Final = {"AND": "all of", "OR": "any of"}
_PRODUCTS: Final = {
    "intraday": "The product is intraday: positions are squared off before the session ends.",
    "delivery": "The product is delivery: shares are held over night.",
    "carryforward": "The product is carryforward: positions are held over night.",
    None: "No product is set: it is intraday on candles of less than a day, else delivery for"
    " shares and carryforward for contracts.",
}
_RANKING_ROWS: Final = {
    "candle": "At every candle",
    "week": "At the last session of each week",
    "month": "At the last session of each month",
}
_ON_RANK: Final = {
    "hold": "A position stays open whatever its place in the ranking.",
    "leave": "A ranked position is closed at its next open at a place beyond those kept, or"
    " without one.",
}
_WORD_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


StepPart: TypeAlias = (
    BasicInfo
    | PositionSizing
    | EntryConditions
    | ExitConditions
    | RiskParameters
    | ExecutionSettings
)


class Sentence(NamedTuple):
    """A sentence about a setting; `field` is its dotted path, without the index of a list."""

    field: str
    text: str


class StepSummary(NamedTuple):
    """A step in words; an incomplete one names its missing parts."""

    step: str
    is_complete: bool
    sentences: tuple[Sentence, ...]


class Change(NamedTuple):
    """The sentences of a field that only one of two versions has."""

    field: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def summarize(steps: Mapping[str, object]) -> tuple[StepSummary, ...]:
    """Return the steps, complete or partial, in words, in their order."""
    strategy, replaced = with_stand_ins(steps)
    problems = read_strategy(steps).problems if replaced else ()
    return tuple(
        _without(step, problems)
        if step in replaced
        else StepSummary(step, True, tuple(_sentences(step, getattr(strategy, step))))
        for step in STEP_NAMES
    )


def step_changes(before: Iterable[StepSummary], after: Iterable[StepSummary]) -> tuple[Change, ...]:
    """Return the sentences that only one of the two has, field by field; all sentences of a field
    if only their order differs.
    """
    old, new = _by_field(before), _by_field(after)
    differences = []
    for field in dict.fromkeys((*old, *new)):
        earlier, later = old.get(field, ()), new.get(field, ())
        if earlier == later:
            continue
        gone = tuple(text for text in earlier if text not in later)
        come = tuple(text for text in later if text not in earlier)
        is_reordered = not gone and not come
        differences.append(Change(field, *((earlier, later) if is_reordered else (gone, come))))
    return tuple(differences)


def _by_field(summaries: Iterable[StepSummary]) -> dict[str, tuple[str, ...]]:
    sentences = [sentence for summary in summaries for sentence in summary.sentences]
    return {
        field: tuple(sentence.text for sentence in group)
        for field, group in groupby(sentences, key=lambda sentence: sentence.field)
    }


def _without(step: str, problems: Iterable[FieldError]) -> StepSummary:
    """Return the missing parts of a step among all problems."""
    own = (problem.message for problem in problems if problem.field.partition(".")[0] == step)
    lacks = tuple(Sentence(step, f"It is not complete: {message}") for message in own)
    return StepSummary(step, False, lacks)


def _sentences(step: str, part: StepPart) -> Iterator[Sentence]:
    """Yield the sentences of a step, field by field."""
    match part:
        case BasicInfo():
            pairs = _basics(part)
        case EntryConditions():
            pairs = _entries(part)
        case ExitConditions():
            pairs = _exits(part)
        case RiskParameters():
            pairs = _limits(part)
        case ExecutionSettings():
            pairs = _execution(part)
        case _:
            pairs = _sizing(part)
    for field, text in pairs:
        yield Sentence(f"{step}.{field}", text)


# Steps.

Pairs = Iterator[tuple[str, str]]
"""Fields of a step, and a sentence of each."""


def _basics(basics: BasicInfo) -> Pairs:
    label = basics.strategyType.replace("_", " ")
    yield "strategyType", f"Its label is {label}, which changes no trade."
    length = _candles_of(basics.timeframe)
    yield "timeframe", f"Conditions are read at the close of each candle of {length}."
    order = " Where several signal at once, those listed first are entered first."
    several = len(basics.symbols) > 1
    yield "symbols", f"It trades {_listed(basics.symbols)}.{order if several else ''}"


def _sizing(sizing: PositionSizing) -> Pairs:
    match sizing:
        case RiskBased():
            size = f"as large as loses {_percent(sizing.riskPercentage)} of equity at the stop loss"
        case FixedQuantity():
            size = f"of {_number(sizing.quantity)} units, rounded down to whole lots"
        case FixedAmount():
            size = f"worth {_rupees(sizing.amount)}, rounded down to whole lots"
        case PercentageOfEquity(percentage=float(percent)):
            size = f"worth {_percent(percent)} of equity, rounded down to whole lots"
        case PercentageOfEquity():
            share = f"{_operand(sizing.percentage)} percent"
            size = f"worth {share} of equity as read at the signal, at most all of it, rounded"
            size += " down to whole lots"
        case VolatilityBased():
            move = _average_ranges(sizing.atrMultiplier, sizing.atrPeriod)
            loss = _percent(sizing.riskPercentage)
            size = f"as large as loses {loss} of equity when the price goes {move} against it"
    yield "method", f"Each entry is {size}."
    most = sizing.pyramiding.maxEntries
    adds = sizing.pyramiding.distance
    if sizing.pyramiding.enabled and adds is not None:
        text = f"It adds each {_adds(adds)}, up to {most} entries; new signals add nothing."
    elif sizing.pyramiding.enabled:
        text = f"A new signal in the direction held adds to the position, up to {most} entries."
    else:
        text = "Nothing is added to an open position"
        text += "." if most == 2 else f"; the limit of {most} entries has no effect."
        text += f" It would add each {_adds(adds)}." if adds is not None else ""
    yield "pyramiding", text


def _adds(adds: AddDistance) -> str:
    match adds:
        case PercentageDistance():
            distance = _percent(adds.percentage)
        case PointsDistance():
            distance = _rupees(adds.points)
        case AtrDistance():
            distance = _average_ranges(adds.atrMultiplier, adds.atrPeriod)
    return f"{distance} {'in its favour' if adds.direction == 'favour' else 'against it'}"


def _entries(entry: EntryConditions) -> Pairs:
    sides = {
        "long": "It opens long positions alone.",
        "short": "It opens short positions alone.",
        "both": "It opens long positions, and short ones on the mirror of what is written.",
    }
    yield "positionType", sides[entry.positionType]
    quantifier = _QUANTIFIERS[entry.logicalOperator]
    yield "logicalOperator", f"An entry is signalled where {quantifier} below holds."
    confirmed = entry.confirmationCandles
    if confirmed > 1:
        text = (
            f"Each condition is confirmed by {confirmed} candles: a level or a movement holds on"
            " each of them; a cross or a pattern came at the first, and a cross has held since."
        )
    else:
        text = "No further candle has to confirm a condition"
        text += " (confirmationCandles is 0)." if confirmed == 0 else "."
    yield "confirmationCandles", text
    for condition in entry.conditions:
        yield "conditions", f"Entry condition: {_condition(condition)}."
    if entry.rank is not None:
        yield "rank", _ranking(entry.rank)


def _ranking(rank: Rank) -> str:
    order = "lowest" if rank.order == "lowest" else "highest"
    picked = "the first is" if rank.top == 1 else f"the first {rank.top} are"
    kept = rank.top if rank.keep is None else rank.keep
    return (
        f"{_RANKING_ROWS[rank.every]} the symbols are ranked by {_operand(rank.by)}, the {order}"
        f" first: {picked} entered where their conditions hold, in this order and not in that of"
        f" the list, and places up to {kept} are kept."
    )


def _exits(exits: ExitConditions) -> Pairs:
    quantifier = _QUANTIFIERS[exits.logicalOperator]
    if exits.conditions:
        text = f"A position is closed at its next open where {quantifier} below holds."
        yield "logicalOperator", text
    elif exits.logicalOperator == "OR":
        yield "logicalOperator", "Any condition would close a position; there is none."
    for condition in exits.conditions:
        yield "conditions", f"Exit condition: {_condition(condition)}."
    if not exits.conditions:
        yield "conditions", "No condition closes a position."
    yield "stopLoss", _stop(exits.stopLoss)
    yield "takeProfit", _target(exits.takeProfit)
    for step in exits.steps or ():
        yield "steps", _step(step)
    yield "trailingStop", _trail(exits.trailingStop)
    if exits.squareOffTime is None:
        text = (
            "No square-off time is set: an intraday product is squared off 15 minutes before the"
            " session's close."
        )
    else:
        text = (
            f"Positions are squared off at the first bar from {exits.squareOffTime} on, exchange"
            " time, and none is opened after it on that day."
        )
    yield "squareOffTime", text
    held = exits.maxHoldingCandles
    if held is None:
        yield "maxHoldingCandles", "There is no limit to how long a position is held."
    else:
        text = f"A position is closed at the open after {_number(held)} candles, its first counted."
        yield "maxHoldingCandles", text
    opposite = {
        True: "A signal of the other side closes a position.",
        False: "A signal of the other side closes no position.",
        None: "A signal of the other side closes a position where both sides are traded, as"
        " nothing else is set.",
    }
    yield "exitOnOppositeSignal", opposite[exits.exitOnOppositeSignal]
    if exits.onRank is not None:
        yield "onRank", _ON_RANK[exits.onRank]


def _limits(risk: RiskParameters) -> Pairs:
    largest = _rupees(risk.maxPositionSize)
    yield "maxPositionSize", f"A position is worth {largest} at most, in whole lots."
    text = (
        f"After a loss of {_rupees(risk.maxDailyLoss)} in a day all positions are closed, and none"
        " is opened before the next session."
    )
    yield "maxDailyLoss", text
    if risk.maxDailyProfit is not None:
        text = (
            f"After a profit of {_rupees(risk.maxDailyProfit)} in a day all positions are closed,"
            " and none is opened before the next session."
        )
        yield "maxDailyProfit", text
    most = risk.maxOpenPositions
    positions = "1 position is" if most == 1 else f"{most} positions are"
    yield "maxOpenPositions", f"At most {positions} open at the same time."
    if risk.maxEntriesPerDay is not None:
        opened = _counted(risk.maxEntriesPerDay, "position")
        yield "maxEntriesPerDay", f"It opens at most {opened} a day."
    if risk.maxEntriesPerSymbol is not None:
        opened = _counted(risk.maxEntriesPerSymbol, "position")
        yield "maxEntriesPerSymbol", f"It opens at most {opened} a day in a symbol."
    if risk.cooldown is not None:
        candles = _counted(risk.cooldown.candles, "candle")
        exits = "an exit with a loss" if risk.cooldown.after == "loss" else "an exit"
        text = f"After {exits} nothing enters the symbol in that candle and the next {candles}."
        yield "cooldown", text
    if risk.stopLoss is None:
        text = "The risk limits have no stop loss of their own."
    else:
        text = (
            f"The risk limits have a stop loss {_percent(risk.stopLoss)} from the entry; where the"
            " exit conditions have one too, the tighter holds."
        )
    yield "stopLoss", text
    if risk.takeProfit is None:
        text = "The risk limits have no target of their own."
    else:
        text = (
            f"The risk limits have a target {_percent(risk.takeProfit)} from the entry, for where"
            " the exit conditions have none."
        )
    yield "takeProfit", text
    if risk.riskRewardRatio is None:
        text = "No least reward for the risk is asked for."
    else:
        ratio = _number(risk.riskRewardRatio)
        text = f"A reward of less than {ratio} times the risk is warned of."
    yield "riskRewardRatio", text


def _execution(settings: ExecutionSettings) -> Pairs:
    account = {"paper": "on the paper account", "live": "with a broker"}
    yield "mode", f"It trades {account[settings.mode]}."
    text = f"Its main exchange is {settings.exchange}; a symbol trades on the one that it names."
    yield "exchange", text
    offset = _percent(settings.limitOffset)
    orders = {
        "market": "Entries are market orders, filled at the next open.",
        "limit": f"Entries are limit orders, {offset} below the signal's close (above it for"
        " shorts), which wait during the next candle alone.",
        "stop": f"Entries are stop orders, {offset} above the signal's close (below it for"
        " shorts), which wait during the next candle alone.",
    }
    text = orders[settings.orderType]
    if settings.orderType == "market" and settings.limitOffset:
        text += f" The offset of {offset} has no effect on them."
    yield "orderType", text
    broker = settings.broker
    yield "broker", "No broker is named." if broker is None else f"The broker is {broker}."
    slippage = _percent(settings.slippage)
    yield "slippage", f"Market and stop fills are {slippage} worse than their prices."
    share = settings.maxVolumeShare
    if share is not None:
        text = (
            f"An entry takes at most {_percent(share)} of the volume of the candle that fills it."
        )
        yield "maxVolumeShare", text
    yield "productType", _PRODUCTS[settings.productType]
    yield "initialCapital", f"It begins with {_rupees(settings.initialCapital)}."
    charges = {
        "none": "No charges are deducted.",
        "standard": "Charges are deducted by the schedule of each symbol's segment.",
        None: "Charges are deducted by the schedule of each symbol's segment, as nothing else is"
        " set.",
    }
    yield "charges", charges[settings.charges]
    counts = "count" if settings.includeOutOfSession else "do not count"
    yield "includeOutOfSession", f"Bars outside of sessions {counts} for indicators and fills."


# Exits.


def _stop(stop: StopLoss | None) -> str:
    match stop:
        case None:
            return "The exit conditions have no stop loss."
        case LevelStop():
            return f"The stop rests at {_at_level(stop.price, stop.buffer)}, as read at the signal."
        case PercentageStop():
            distance = _percent(stop.percentage)
        case PointsStop():
            distance = _rupees(stop.points)
        case AtrStop():
            distance = _average_ranges(stop.atrMultiplier, stop.atrPeriod)
    return f"A stop loss stands {distance} from the average entry price."


def _target(target: TakeProfit | None) -> str:
    match target:
        case None:
            return "The exit conditions have no target."
        case LevelTarget():
            return f"The target rests at {_at_level(target.price, None)}, as read at the signal."
        case RiskRewardTarget():
            return f"The target is {_number(target.ratio)} times as far as the stop loss."
        case PercentageTarget():
            distance = _percent(target.percentage)
        case PointsTarget():
            distance = _rupees(target.points)
        case AtrTarget():
            distance = _average_ranges(target.atrMultiplier, target.atrPeriod)
    return f"The target stands {distance} from the average entry price."


def _at_level(price: Operand, buffer: float | None) -> str:
    beyond = "" if buffer is None else f", {_percent(buffer)} beyond it"
    return f"{_operand(price)}{beyond}"


def _level_trail(trail: LevelTrail) -> str:
    level = "a level that is not set"
    if trail.price is not None:
        level = _at_level(trail.price, trail.buffer)
    elif trail.buffer is not None:
        level += f", {_percent(trail.buffer)} beyond it"
    begins = ""
    if trail.activationThreshold:
        past = _percent(trail.activationThreshold)
        begins = f" It does once the best price is {past} past the average entry."
    if trail.enabled:
        return f"The stop follows {level}, read at every close.{begins}"
    return f"The trailing stop is switched off; it would follow {level}.{begins}"


def _step(step: Step) -> str:
    match step.at:
        case RiskRewardTarget():
            level = f"{_number(step.at.ratio)} times the risk"
        case PercentageTarget():
            level = f"{_percent(step.at.percentage)} from the average entry price"
        case PointsTarget():
            level = f"{_rupees(step.at.points)} from the average entry price"
    moves = ", and the stop goes to the entry" if step.moveStop else ""
    return f"At {level} {_percent(step.close)} of the position is closed{moves}."


def _trail(trail: TrailingStop | None) -> str:
    distance: str | None
    match trail:
        case None:
            return "There is no trailing stop."
        case LevelTrail():
            return _level_trail(trail)
        case PercentageTrail():
            distance = None if trail.percentage is None else _percent(trail.percentage)
            unit = "percent"
        case PointsTrail():
            distance, unit = None if trail.points is None else _rupees(trail.points), "rupees"
        case AtrTrail():
            distance, unit = _average_ranges(trail.atrMultiplier, trail.atrPeriod), "ranges"
    begins = "from the entry on"
    if trail.activationThreshold:
        begins = f"once that is {_percent(trail.activationThreshold)} past the average entry"
    if trail.enabled:
        return f"A trailing stop follows the best price {distance} behind, {begins}."
    behind = f"{distance} behind" if distance else f"at a distance in {unit} that is not set"
    return f"The trailing stop is switched off; it would follow the best price {behind}, {begins}."


# Conditions.


def _condition(condition: Condition) -> str:
    match condition:
        case IndicatorIndicator():
            operator = _OPERATORS[condition.operator]
            left, right = _operand(condition.indicator1), _operand(condition.indicator2)
            text = f"{left} {operator} {right}"
        case IndicatorValue():
            text = f"{_operand(condition.indicator)} {_comparison(condition)}"
        case CandlePattern():
            name = PATTERNS[condition.pattern].description
            direction = condition.direction or "in either direction"
            text = f"the candle pattern {name} ({condition.pattern}) ends, {direction}"
            if condition.timeframe is not None:
                text += f", on candles of {_candles_of(condition.timeframe)}"
            if condition.offset:
                text += f", {_counted(condition.offset, 'candle')} before"
        case TimeWindow():
            text = _window(condition)
        case _:
            text = _group(condition)
    if condition.within is not None:
        text += f", at one of the last {_counted(condition.within, 'candle')}"
    match condition.side:
        case None:
            return text
        case "both":
            return f"for both sides as written, {text}"
    return f"for {condition.side} positions alone, {text}"


def _window(window: TimeWindow) -> str:
    parts = []
    if window.from_ is not None:
        parts.append(f"from {window.from_} until before {window.to}, exchange time")
    if window.weekdays is not None:
        parts.append(f"on {_listed([_WEEKDAYS[day] for day in window.weekdays])}")
    if window.sessionOfMonth is not None:
        parts.append(f"on the {_sessions(*window.sessionOfMonth)} of the month")
    return f"the candle starts {', '.join(parts)}"


def _sessions(low: int, high: int) -> str:
    if low == high:
        return f"{_ordinal(low)} session"
    return f"{_ordinal(low)} to the {_ordinal(high)} session"


def _ordinal(number: int) -> str:
    """Return a word for a session: first, last, 2nd, 2nd last."""
    if abs(number) == 1:
        return "first" if number > 0 else "last"
    digits = str(abs(number))
    teens = digits[-2:] in ("11", "12", "13")
    suffix = "th" if teens else {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1], "th")
    return f"{digits}{suffix}" + (" last" if number < 0 else "")


def _group(group: AnyGroup) -> str:
    parts = "; ".join(map(_condition, group.conditions))
    return f"{_GROUPS[group.logicalOperator]} ({parts})"


def _comparison(condition: IndicatorValue) -> str:
    if condition.value is not None:
        return f"{_OPERATORS[condition.operator]} {_number(condition.value)}"
    verb = "rises" if condition.operator == "rising" else "falls"
    count = condition.candles or 1
    return f"{verb} from the candle before" if count == 1 else f"{verb} over {count} candles"


def _operand(operand: NumberOrOperand) -> str:
    """Describe an operand, such as "the EMA of the close (period 20) on candles of 1 hour, 2
    candles before".
    """
    match operand:
        case Calc():
            return _calculation(operand)
        case float():
            return _number(operand)
    row = CATALOGUE[operand.type]
    if row.type == "PRICE":
        text = _source(operand)
    else:
        output = "" if operand.output == "value" else f" {operand.output}"
        source = f" of {_source(operand)}" if row.has_source else ""
        written = [p.name for p in row.parameters if getattr(operand, p.name) is not None]
        values = [f"{_words(name)} {_named(operand, name)}" for name in written]
        settings = f" ({', '.join(values)})" if values else ""
        text = f"the {row.type}{output}{source}{settings}"
    if operand.on is not None:
        text += f" of {operand.on}"
    if operand.timeframe is not None:
        text += f" on candles of {_candles_of(operand.timeframe)}"
    if operand.offset:
        text += f", {_counted(operand.offset, 'candle')} before,"
    return text


def _source(operand: IndicatorOperand) -> str:
    return _SOURCES[operand.source] if isinstance(operand.source, str) else _operand(operand.source)


def _calculation(calc: Calc) -> str:
    parts = [_operand(operand) for operand in calc.operands]
    match calc.operator:
        case "abs":
            return f"the size of {parts[0]}"
        case "min":
            return f"the {'smaller' if len(parts) == 2 else 'smallest'} of {_listed(parts)}"
        case "max":
            return f"the {'greater' if len(parts) == 2 else 'greatest'} of {_listed(parts)}"
    return f"({_INFIX[calc.operator].join(parts)})"


def _named(operand: IndicatorOperand, parameter: str) -> str:
    value = getattr(operand, parameter)
    return value if isinstance(value, str) else _number(value)


# Numbers.


def _number(value: float) -> str:
    """Return all digits of a number, without an exponent."""
    text = f"{Decimal(str(value)):f}"
    return text.removesuffix(".0")


def _percent(value: float) -> str:
    return f"{_number(value)} %"


def _rupees(amount: float) -> str:
    whole, point, fraction = _number(amount).partition(".")
    return f"₹{group_digits(whole)}{point}{fraction}"


def _average_ranges(multiplier: float, period: int) -> str:
    return f"{_number(multiplier)} average true ranges of {period} candles"


def _candles_of(timeframe: str) -> str:
    return _counted(int(timeframe[:-1]), _TIMEFRAMES[timeframe[-1]])


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _words(name: str) -> str:
    return _WORD_BREAK.sub(" ", name).lower()
