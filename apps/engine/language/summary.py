"""An algorithm in plain English: short sentences about what its steps set, and the differences of
two versions in sentences.

Every setting has a sentence, so two different configurations never have the same ones. A summary
shows those that a reader asks for: not what is off, has no effect or is a matter of course.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Final, NamedTuple

from pydantic import ValidationError

from apps.engine.errors import FieldError
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import SOURCES
from apps.engine.indicators.patterns import PATTERNS
from apps.engine.language.conditions import (
    AlertSignal,
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
from apps.engine.language.strategy import STEP_NAMES, Strategy, read_strategy, with_stand_ins
from apps.engine.units import group_digits

_TIMEFRAMES: Final = {"m": "minute", "h": "hour"}
_DAYS: Final = {"1d": "daily", "1w": "weekly"}
_SOURCES: Final = {
    "close": "close",
    "open": "open",
    "high": "high",
    "low": "low",
    "volume": "volume",
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
_NAMES: Final = {
    "AROON": "Aroon",
    "BBANDS": "Bollinger",
    "CHOP": "Choppiness",
    "DONCHIAN": "Donchian",
    "FISHER": "Fisher",
    "HA": "Heikin-Ashi",
    "ICHIMOKU": "Ichimoku",
    "KC": "Keltner",
    "MAX": "highest",
    "MIN": "lowest",
    "RENKO": "Renko",
    "SAR": "Parabolic SAR",
    "SQUEEZE": "Squeeze",
    "STOCH": "Stochastic",
    "SUPERTREND": "Supertrend",
    "VOLUME": "volume",
}
_GROUPS: Final = {"AND": "all of", "OR": "any of"}
_PRODUCTS: Final = {
    "intraday": "Intraday: positions are closed before the session ends.",
    "delivery": "Delivery: shares are held overnight.",
    "carryforward": "Carryforward: positions are held overnight.",
    None: "Intraday below daily candles, else held overnight (default).",
}
_RANKING_ROWS: Final = {
    "candle": "At every candle",
    "week": "At the last session of each week",
    "month": "At the last session of each month",
}
_ON_RANK: Final = {
    "hold": "Keeps positions whatever their place in the ranking.",
    "leave": "Exits at the next open at a place beyond those kept, or without one.",
}
_CONDITION_TYPES: Final = frozenset(
    {"indicator_indicator", "indicator_value", "candle_pattern", "time_window", "signal", "group"}
)
_ANY_COMPARISON: Final = {"type": "indicator_value", "operator": "above", "value": 0}


class Sentence(NamedTuple):
    """A sentence about a setting; `field` is its dotted path, without the index of a list."""

    field: str
    text: str
    is_shown: bool = True  # in a summary; a comparison of versions has all sentences


class StepSummary(NamedTuple):
    """A step in words; an incomplete one names its missing parts."""

    step: str
    is_complete: bool
    sentences: tuple[Sentence, ...]

    @property
    def shown(self) -> tuple[Sentence, ...]:
        return tuple(sentence for sentence in self.sentences if sentence.is_shown)


class Change(NamedTuple):
    """The sentences of a field that only one of two versions has."""

    field: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @classmethod
    def between(
        cls, before: Iterable[StepSummary], after: Iterable[StepSummary]
    ) -> tuple[Change, ...]:
        """Return the sentences that only one of the two has, field by field; all sentences of a
        field if only their order differs.
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
            differences.append(cls(field, *((earlier, later) if is_reordered else (gone, come))))
        return tuple(differences)


def summarize(steps: Mapping[str, object]) -> tuple[StepSummary, ...]:
    """Return the steps, complete or partial, in words, in their order."""
    strategy, replaced = with_stand_ins(steps)
    problems = read_strategy(steps).problems if replaced else ()
    return tuple(
        _without(step, problems)
        if step in replaced
        else StepSummary(step, True, tuple(_sentences(step, strategy)))
        for step in STEP_NAMES
    )


def describe(part: Mapping[str, object]) -> str | None:
    """Return an operand or a condition, as it is on the wire, in words; None if it is not valid."""
    is_condition = part.get("type") in _CONDITION_TYPES
    condition = part if is_condition else {**_ANY_COMPARISON, "indicator": part}
    try:
        entry = EntryConditions.model_validate({"positionType": "long", "conditions": [condition]})
    except ValidationError:
        return None
    [stored] = entry.conditions
    if is_condition or not isinstance(stored, IndicatorValue):
        return _condition(stored)
    return _operand(stored.indicator)


def _by_field(summaries: Iterable[StepSummary]) -> dict[str, tuple[str, ...]]:
    sentences = [sentence for summary in summaries for sentence in summary.sentences]
    return {
        field: tuple(sentence.text for sentence in group)
        for field, group in groupby(sentences, key=lambda sentence: sentence.field)
    }


def _without(step: str, problems: Iterable[FieldError]) -> StepSummary:
    """Return the missing parts of a step among all problems."""
    own = (problem.message for problem in problems if problem.field.partition(".")[0] == step)
    lacks = tuple(Sentence(step, f"Not complete: {message}") for message in own)
    return StepSummary(step, False, lacks)


def _sentences(step: str, strategy: Strategy) -> Iterator[Sentence]:
    """Yield the sentences of a step, field by field."""
    match step:
        case "basicInfo":
            sentences = _basics(strategy.basicInfo)
        case "positionSizing":
            sentences = _sizing(strategy.positionSizing)
        case "entryConditions":
            sentences = _entries(strategy.entryConditions)
        case "exitConditions":
            sentences = _exits(strategy)
        case "riskParameters":
            sentences = _limits(strategy.riskParameters)
        case _:
            sentences = _execution(strategy.executionSettings)
    for sentence in sentences:
        yield sentence._replace(field=f"{step}.{sentence.field}")


# Steps.


def _basics(basics: BasicInfo) -> Iterator[Sentence]:
    label = basics.strategyType.replace("_", " ")
    yield Sentence("strategyType", f"Labelled {label}.", False)
    yield Sentence("timeframe", f"Reads {_candles_of(basics.timeframe)} at their close.")
    yield Sentence("symbols", f"Trades {_listed(basics.symbols)}.")


def _sizing(sizing: PositionSizing) -> Iterator[Sentence]:
    match sizing:
        case RiskBased():
            size = f"Risks {_percent(sizing.riskPercentage)} of equity per entry"
        case FixedQuantity():
            size = f"Each entry is {_number(sizing.quantity)} units, in whole lots"
        case FixedAmount():
            size = f"Each entry is worth {_rupees(sizing.amount)}, in whole lots"
        case PercentageOfEquity(percentage=float(percent)):
            size = f"Each entry is worth {_percent(percent)} of equity, in whole lots"
        case PercentageOfEquity():
            size = f"Each entry is worth {_operand(sizing.percentage)} percent of equity as read at"
            size += " the signal, at most all of it, in whole lots"
        case VolatilityBased():
            move = _average_ranges(sizing.atrMultiplier, sizing.atrPeriod)
            loss = _percent(sizing.riskPercentage)
            size = f"Each entry loses {loss} of equity if the price moves {move} against it"
    yield Sentence("method", f"{size}.")
    most = sizing.pyramiding.maxEntries
    adds = sizing.pyramiding.distance
    if sizing.pyramiding.enabled and adds is not None:
        text = f"It adds each {_adds(adds)}, up to {most} entries; new signals add nothing."
    elif sizing.pyramiding.enabled:
        text = f"Adds on each new signal in the same direction, up to {most} entries."
    else:
        text = f"Nothing is added to a position (up to {most} entries if it were"
        text += f", each {_adds(adds)})." if adds is not None else ")."
    yield Sentence("pyramiding", text, sizing.pyramiding.enabled)


def _adds(adds: AddDistance) -> str:
    match adds:
        case PercentageDistance():
            distance = _percent(adds.percentage)
        case PointsDistance():
            distance = _rupees(adds.points)
        case AtrDistance():
            distance = _average_ranges(adds.atrMultiplier, adds.atrPeriod)
    return f"{distance} {'in its favour' if adds.direction == 'favour' else 'against it'}"


def _entries(entry: EntryConditions) -> Iterator[Sentence]:
    sides = {
        "long": "Long only.",
        "short": "Short only.",
        "both": "Trades both ways: short signals mirror the long ones.",
    }
    yield Sentence("positionType", sides[entry.positionType])
    text = f"Enters when {_quantity(entry.logicalOperator)}."
    yield Sentence("logicalOperator", text, len(entry.conditions) > 1)
    confirmed = entry.confirmationCandles
    text = (
        f"Conditions are confirmed over {_counted(confirmed, 'candle')}: a cross or a pattern comes"
        " at the first, and all else holds at each."
    )
    yield Sentence("confirmationCandles", text, confirmed > 1)
    for condition in entry.conditions:
        yield Sentence("conditions", f"Entry: {_condition(condition)}.")
    if entry.rank is not None:
        yield Sentence("rank", _ranking(entry.rank))


def _quantity(operator: str) -> str:
    return "all conditions hold" if operator == "AND" else "any condition holds"


def _ranking(rank: Rank) -> str:
    places = "place 1" if rank.top == 1 else f"places 1 to {rank.top}"
    kept = rank.top if rank.keep is None else rank.keep
    order = "lowest" if rank.order == "lowest" else "highest"
    return (
        f"{_RANKING_ROWS[rank.every]} symbols are ranked by {_operand(rank.by)}, {order}"
        f" first: {places} enter in this order where their conditions hold, and places up to {kept}"
        " are kept."
    )


def _exits(strategy: Strategy) -> Iterator[Sentence]:
    exits = strategy.exitConditions
    text = f"Exits at the next open when {_quantity(exits.logicalOperator)}."
    yield Sentence("logicalOperator", text, len(exits.conditions) > 1)
    for condition in exits.conditions:
        yield Sentence("conditions", f"Exit: {_condition(condition)}.")
    yield Sentence("stopLoss", _stop(exits.stopLoss), exits.stopLoss is not None)
    yield Sentence("takeProfit", _target(exits.takeProfit), exits.takeProfit is not None)
    for step in exits.steps or ():
        yield Sentence("steps", _step(step))
    trail = exits.trailingStop
    yield Sentence("trailingStop", _trail(trail), trail is not None and trail.enabled)
    if exits.squareOffTime is None:
        yield Sentence("squareOffTime", "No square-off time.", False)
    else:
        text = f"Squares off at {exits.squareOffTime}. No new entries after that."
        yield Sentence("squareOffTime", text)
    held = exits.maxHoldingCandles
    if held is None:
        yield Sentence("maxHoldingCandles", "No longest holding.", False)
    else:
        text = f"Exits at the open after {_counted(held, 'candle')}, its first included."
        yield Sentence("maxHoldingCandles", text)
    opposite = exits.exitOnOppositeSignal
    texts = {
        True: "Closes on an opposite signal.",
        False: "Keeps its position on an opposite signal.",
        None: "Reverses on an opposite signal (default).",
    }
    both_ways = strategy.entryConditions.positionType == "both"
    yield Sentence("exitOnOppositeSignal", texts[opposite], both_ways or opposite is not None)
    if exits.onRank is not None:
        yield Sentence("onRank", _ON_RANK[exits.onRank])


def _limits(risk: RiskParameters) -> Iterator[Sentence]:
    yield Sentence("maxPositionSize", f"At most {_rupees(risk.maxPositionSize)} per position.")
    most = _counted(risk.maxOpenPositions, "open position")
    yield Sentence("maxOpenPositions", f"At most {most}.")
    text = f"Closes all and stops for the day after a loss of {_rupees(risk.maxDailyLoss)}."
    yield Sentence("maxDailyLoss", text)
    if risk.maxDailyProfit is not None:
        profit = _rupees(risk.maxDailyProfit)
        text = f"Closes all and stops for the day after a profit of {profit}."
        yield Sentence("maxDailyProfit", text)
    if risk.maxEntriesPerDay is not None:
        opened = _counted(risk.maxEntriesPerDay, "new position")
        yield Sentence("maxEntriesPerDay", f"At most {opened} a day.")
    if risk.maxEntriesPerSymbol is not None:
        opened = _counted(risk.maxEntriesPerSymbol, "new position")
        yield Sentence("maxEntriesPerSymbol", f"At most {opened} a day in a symbol.")
    if risk.cooldown is not None:
        candles = _counted(risk.cooldown.candles, "candle")
        exits = "an exit with a loss" if risk.cooldown.after == "loss" else "an exit"
        text = f"After {exits} nothing enters the symbol in that candle and the next {candles}."
        yield Sentence("cooldown", text)
    text = "No stop loss among the limits."
    if risk.stopLoss is not None:
        text = f"Stop loss {_percent(risk.stopLoss)} from the entry; a tighter one of the exits"
        text += " comes first."
    yield Sentence("stopLoss", text, risk.stopLoss is not None)
    text = "No target among the limits."
    if risk.takeProfit is not None:
        text = f"Target {_percent(risk.takeProfit)} from the entry, if the exits have none."
    yield Sentence("takeProfit", text, risk.takeProfit is not None)
    text = "No least reward."
    if risk.riskRewardRatio is not None:
        text = f"Warns of a reward below {_number(risk.riskRewardRatio)} x the risk."
    yield Sentence("riskRewardRatio", text, risk.riskRewardRatio is not None)


def _execution(settings: ExecutionSettings) -> Iterator[Sentence]:
    account = {"paper": "Trades on paper.", "live": "Trades with a broker."}
    yield Sentence("mode", account[settings.mode], settings.mode == "live")
    yield Sentence("exchange", f"Main exchange: {settings.exchange}.", False)
    offset = _percent(settings.limitOffset)
    orders = {
        "market": "Market orders at the next open.",
        "limit": f"Limit orders {offset} below the signal's close (above for shorts), for one"
        " candle.",
        "stop": f"Stop orders {offset} above the signal's close (below for shorts), for one"
        " candle.",
    }
    text = orders[settings.orderType]
    if settings.orderType == "market" and settings.limitOffset:
        text += f" The offset of {offset} has no effect."
    yield Sentence("orderType", text, settings.orderType != "market")
    broker = settings.broker
    text = "No broker is named." if broker is None else f"Broker: {broker}."
    yield Sentence("broker", text, broker is not None)
    slippage = f"Slippage {_percent(settings.slippage)} on market and stop fills."
    yield Sentence("slippage", slippage, settings.slippage > 0)
    share = settings.maxVolumeShare
    if share is not None:
        text = f"An entry takes at most {_percent(share)} of its candle's volume."
        yield Sentence("maxVolumeShare", text)
    yield Sentence("productType", _PRODUCTS[settings.productType])
    yield Sentence("initialCapital", f"Starts with {_rupees(settings.initialCapital)}.")
    charges = {
        "none": "No charges.",
        "standard": "Brokerage and taxes included, as each segment charges them.",
        None: "Brokerage and taxes included.",
    }
    yield Sentence("charges", charges[settings.charges])
    hours = "Candles outside market hours count too."
    if not settings.includeOutOfSession:
        hours = "Regular market hours only."
    yield Sentence("includeOutOfSession", hours, settings.includeOutOfSession)


# Exits.


def _stop(stop: StopLoss | None) -> str:
    match stop:
        case None:
            return "No stop loss."
        case LevelStop():
            return f"The stop rests at {_at_level(stop.price, stop.buffer)}, as read at the signal."
        case PercentageStop():
            distance = _percent(stop.percentage)
        case PointsStop():
            distance = _rupees(stop.points)
        case AtrStop():
            distance = _average_ranges(stop.atrMultiplier, stop.atrPeriod)
    return f"Stop loss {distance} from the average entry."


def _target(target: TakeProfit | None) -> str:
    match target:
        case None:
            return "No target."
        case LevelTarget():
            return f"The target rests at {_at_level(target.price, None)}, as read at the signal."
        case RiskRewardTarget():
            return f"Target at {_number(target.ratio)} x the risk."
        case PercentageTarget():
            distance = _percent(target.percentage)
        case PointsTarget():
            distance = _rupees(target.points)
        case AtrTarget():
            distance = _average_ranges(target.atrMultiplier, target.atrPeriod)
    return f"Target {distance} from the average entry."


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
        begins = f" It begins at a gain of {past}."
    if trail.enabled:
        return f"The stop follows {level}, read at every close.{begins}"
    return f"Trailing stop off; it would follow {level}.{begins}"


def _step(step: Step) -> str:
    match step.at:
        case RiskRewardTarget():
            level = f"{_number(step.at.ratio)} x the risk"
        case PercentageTarget():
            level = f"{_percent(step.at.percentage)} from the average entry"
        case PointsTarget():
            level = f"{_rupees(step.at.points)} from the average entry"
    moves = ", and the stop goes to the entry" if step.moveStop else ""
    return f"At {level} {_percent(step.close)} of the position is closed{moves}."


def _trail(trail: TrailingStop | None) -> str:
    distance: str | None
    match trail:
        case None:
            return "No trailing stop."
        case LevelTrail():
            return _level_trail(trail)
        case PercentageTrail():
            distance = None if trail.percentage is None else _percent(trail.percentage)
            unit = "percent"
        case PointsTrail():
            distance, unit = None if trail.points is None else _rupees(trail.points), "rupees"
        case AtrTrail():
            distance, unit = _average_ranges(trail.atrMultiplier, trail.atrPeriod), "ranges"
    begins = ""
    if trail.activationThreshold:
        begins = f", from a gain of {_percent(trail.activationThreshold)} on"
    if trail.enabled:
        return f"Trailing stop {distance} behind the best price{begins}."
    behind = f"{distance} behind" if distance else f"a distance in {unit}, not set, behind"
    return f"Trailing stop off; it would be {behind} the best price{begins}."


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
            direction = condition.direction or "bullish or bearish"
            text = f"{direction} {name} pattern ({condition.pattern})"
            if condition.timeframe is not None:
                text += f" on {_candles_of(condition.timeframe)}"
            if condition.offset:
                text += f" {_counted(condition.offset, 'candle')} ago"
        case TimeWindow():
            text = _window(condition)
        case AlertSignal():
            text = f'alert "{condition.name}" is received'
        case _:
            text = _group(condition)
    if condition.within is not None:
        text += f", at one of the last {_counted(condition.within, 'candle')}"
    match condition.side:
        case None:
            return text
        case "both":
            return f"{text} (as written for both sides)"
    return f"{text} (for {condition.side} positions only)"


def _window(window: TimeWindow) -> str:
    parts = []
    if window.from_ is not None:
        parts.append(f"from {window.from_} to before {window.to}")
    if window.weekdays is not None:
        parts.append(f"on {_listed([_WEEKDAYS[day] for day in window.weekdays])}")
    if window.sessionOfMonth is not None:
        parts.append(f"on the {_sessions(*window.sessionOfMonth)} of the month")
    return f"candle starts {', '.join(parts)}"


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
    return verb if count == 1 else f"{verb} {count} candles in a row"


def _operand(operand: NumberOrOperand) -> str:
    """Describe an operand, such as "EMA (20) of the high on 1-hour candles 2 candles ago"."""
    match operand:
        case Calc():
            return _calculation(operand)
        case float():
            return _number(operand)
    row = CATALOGUE[operand.type]
    if row.type == "PRICE":
        text = "price" if operand.source == SOURCES[0] else _source(operand)
    else:
        text = f"{_type_name(row.type)}{_output(operand)}{_settings(operand)}"
        if row.type == "OPENING_RANGE":
            text = f"{_named(operand, 'minutes')}-minute opening range {operand.output}"
        if row.has_source and operand.source != SOURCES[0]:
            text += f" of {_source(operand)}"
    if operand.on is not None:
        text += f" of {operand.on}"
    if operand.timeframe is not None:
        text += f" on {_candles_of(operand.timeframe)}"
    if operand.offset:
        text += f" {_counted(operand.offset, 'candle')} ago"
    return text


def _type_name(code: str) -> str:
    """Return the name of an indicator: "previous day" for PREVIOUS_DAY, but RSI for RSI."""
    return _NAMES.get(code) or (code.replace("_", " ").lower() if "_" in code else code)


def _output(operand: IndicatorOperand) -> str:
    """Return the chosen line of an indicator, unless it has the indicator's name."""
    is_first = operand.output == CATALOGUE[operand.type].outputs[0].name
    is_named = operand.output in ("value", operand.type.lower())
    return "" if is_first and is_named else f" {operand.output}"


def _settings(operand: IndicatorOperand) -> str:
    names = (parameter.name for parameter in CATALOGUE[operand.type].parameters)
    values = [_named(operand, name) for name in names if getattr(operand, name) is not None]
    return f" ({', '.join(values)})" if values else ""


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
    return f"{_number(multiplier)} average true ranges ({period})"


def _candles_of(timeframe: str) -> str:
    """Return "5-minute candles" for 5m."""
    if timeframe in _DAYS:
        return f"{_DAYS[timeframe]} candles"
    return f"{timeframe[:-1]}-{_TIMEFRAMES[timeframe[-1]]} candles"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
