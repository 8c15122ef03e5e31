"""Algorithms in plain English: every setting has a sentence, and a summary shows those set."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from apps.engine.errors import EngineError
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import HIGHER_TIMEFRAMES, SOURCES, Indicator
from apps.engine.language.operands import IndicatorOperand
from apps.engine.language.steps import PositionSizing
from apps.engine.language.strategy import STEP_NAMES, Strategy, parse
from apps.engine.language.summary import Change, StepSummary, summarize
from tests.engine.configurations import complete

Path = tuple[str | int, ...]

CROSS = {
    "type": "indicator_indicator",
    "indicator1": {"type": "EMA", "period": 9, "offset": 1},
    "operator": "crosses_above",
    "indicator2": {"type": "MACD", "output": "signal", "timeframe": "1h"},
    "side": "long",
}
LEVEL = {
    "type": "indicator_value",
    "indicator": {"type": "RSI"},
    "operator": "above",
    "value": 55.5,
    "side": "short",
}
RISING = {
    "type": "indicator_value",
    "indicator": {"type": "PRICE", "source": "hlc3"},
    "operator": "rising",
    "candles": 3,
}
PATTERN = {"type": "candle_pattern", "pattern": "CDLENGULFING", "direction": "bullish"}
HOURS = {"type": "time_window", "from": "09:30", "to": "14:30", "side": "long"}
GROUP = {
    "type": "group",
    "logicalOperator": "OR",
    "side": "long",
    "conditions": [
        LEVEL,
        {
            "type": "group",
            "logicalOperator": "AND",
            "conditions": [
                PATTERN,
                {"type": "group", "logicalOperator": "OR", "conditions": [HOURS, RISING]},
            ],
        },
    ],
}
SIZINGS = (
    {"method": "risk_based", "riskPercentage": 1.5},
    {"method": "fixed_quantity", "quantity": 100},
    {"method": "fixed_amount", "amount": 1_234_567.5},
    {"method": "percentage_of_equity", "percentage": 12.5},
    {"method": "percentage_of_equity", "percentage": {"type": "RSI", "period": 5}},
    {
        "method": "volatility_based",
        "riskPercentage": 1,
        "atrPeriod": 20,
        "atrMultiplier": 3,
        "pyramiding": {"enabled": True, "maxEntries": 4},
    },
    *(
        {
            "method": "fixed_quantity",
            "quantity": 100,
            "pyramiding": {"enabled": enabled, "maxEntries": 4, "distance": distance},
        }
        for enabled, distance in (
            (True, {"direction": "favour", "type": "percentage", "percentage": 1.5}),
            (True, {"direction": "against", "type": "points", "points": 12}),
            (
                True,
                {"direction": "favour", "type": "atr", "atrPeriod": 20, "atrMultiplier": 0.5},
            ),
            (False, {"direction": "against", "type": "points", "points": 7}),
        )
    ),
)
LEVELS = {
    "stopLoss": {"type": "level", "price": {"type": "MIN", "source": "low"}, "buffer": 0.1},
    "takeProfit": {"type": "level", "price": {"type": "PREVIOUS_DAY", "output": "high"}},
    "trailingStop": {
        "type": "level",
        "enabled": True,
        "price": {"type": "MAX", "source": "high"},
        "buffer": 1,
        "activationThreshold": 2,
    },
}
EXITS = (
    LEVELS,
    {
        **LEVELS,
        "trailingStop": {
            "type": "level",
            "enabled": False,
            "price": {"type": "MIN", "source": "low"},
            "buffer": 3,
        },
    },
    {
        "conditions": [CROSS],
        "logicalOperator": "OR",
        "stopLoss": {"type": "percentage", "percentage": 1.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2.5},
        "trailingStop": {"enabled": True, "percentage": 1, "activationThreshold": 2},
        "squareOffTime": "15:10",
        "maxHoldingCandles": 12,
        "exitOnOppositeSignal": True,
    },
    {
        "stopLoss": {"type": "points", "points": 5},
        "takeProfit": {"type": "points", "points": 10},
        "trailingStop": {"type": "points", "enabled": True, "points": 4},
        "steps": [
            {"at": {"type": "risk_reward", "ratio": 1}, "close": 40, "moveStop": "entry"},
            {"at": {"type": "percentage", "percentage": 2}, "close": 20},
            {"at": {"type": "points", "points": 8}, "close": 10},
        ],
    },
    {
        "stopLoss": {"type": "atr", "atrPeriod": 10, "atrMultiplier": 1.5},
        "takeProfit": {"type": "atr", "atrPeriod": 11, "atrMultiplier": 3},
        "trailingStop": {"type": "atr", "enabled": False, "atrPeriod": 12, "atrMultiplier": 2.5},
    },
    {
        "stopLoss": {"type": "percentage", "percentage": 1},
        "takeProfit": {"type": "percentage", "percentage": 3},
        "trailingStop": {
            "type": "points",
            "enabled": False,
            "points": 4,
            "activationThreshold": 1,
        },
    },
)
DATES = {
    "type": "time_window",
    "from": "09:30",
    "to": "14:30",
    "weekdays": ["MON", "FRI"],
    "sessionOfMonth": [-3, -2],
    "within": 4,
}
LATE_PATTERN = {**PATTERN, "timeframe": "1h", "offset": 2}
ARITHMETIC = {
    "type": "indicator_value",
    "indicator": {
        "type": "CALC",
        "operator": "divide",
        "operands": [
            {"type": "SMA", "source": {"type": "RSI", "offset": 1}},
            {"type": "CALC", "operator": "max", "operands": [{"type": "PRICE"}, 2.5]},
        ],
    },
    "operator": "above",
    "value": 55.5,
    "side": "both",
    "within": 3,
}
LATE_GROUP = {**GROUP, "within": 2}
ENTRIES = (
    {"positionType": "both", "confirmationCandles": 3, "conditions": [GROUP, CROSS, RISING]},
    {"positionType": "long", "logicalOperator": "OR", "conditions": [PATTERN, HOURS, LEVEL]},
    {"positionType": "long", "conditions": [DATES, LATE_PATTERN, ARITHMETIC, LATE_GROUP]},
)
RANKED = {
    "positionType": "long",
    "conditions": [LEVEL],
    "rank": {
        "by": {"type": "ROC", "period": 12},
        "order": "lowest",
        "top": 2,
        "keep": 4,
        "every": "candle",
    },
}
SETTINGS = (
    {"mode": "paper", "exchange": "NSE", "orderType": "market", "limitOffset": 0.5},
    {
        "mode": "paper",
        "exchange": "BSE",
        "orderType": "limit",
        "limitOffset": 0.25,
        "broker": "zerodha",
        "slippage": 0.05,
        "productType": "delivery",
        "initialCapital": 2_500_000,
        "charges": "none",
        "includeOutOfSession": True,
        "maxVolumeShare": 5,
    },
)
LIMITS = {
    "maxPositionSize": 500_000,
    "maxDailyLoss": 20_000,
    "maxOpenPositions": 3,
    "maxEntriesPerDay": 4,
    "maxEntriesPerSymbol": 2,
    "cooldown": {"candles": 6, "after": "loss"},
    "maxDailyProfit": 15_000.5,
}
USUAL = complete()
WHOLE = (
    USUAL,
    complete(riskParameters=LIMITS),
    *(complete(positionSizing=sizing) for sizing in SIZINGS),
    *(complete(exitConditions=exits) for exits in EXITS),
    *(complete(entryConditions=entry) for entry in ENTRIES),
    *(complete(executionSettings=settings) for settings in SETTINGS),
    complete(
        basicInfo={
            "strategyType": "swing",
            "timeframe": "1d",
            "symbols": ["NSE:SBIN", "NSE:TCS", "NSE:INFY"],
        },
        entryConditions=RANKED,
        exitConditions={"onRank": "leave", "maxHoldingCandles": 9},
    ),
)
# Values that a text setting may change to, besides its values elsewhere in it.
TEXTS = tuple(
    """
    1m 15m 1d NSE MCX live stop AND OR short both below at_or_above at_or_below crosses_below
    falling bearish favour against CDLDOJI 09:45 14:45 intraday carryforward standard scalping
    volume fyers TUE subtract min week highest hold
""".split()
)


def texts(summary: tuple[StepSummary, ...]) -> list[tuple[str, str]]:
    return [(said.field, said.text) for step in summary for said in step.sentences]


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from leaves(member, (*path, name))
    elif isinstance(value, list | tuple):
        for index, member in enumerate(value):
            yield from leaves(member, (*path, index))
    else:
        yield path, value


def with_leaf(steps: Mapping[str, Any], path: Path, value: object) -> dict[str, Any]:
    changed = deepcopy(dict(steps))
    container: Any = changed
    for name in path[:-1]:
        container = container[name]
    if value is None:
        del container[path[-1]]
    else:
        container[path[-1]] = value
    return changed


def alternatives(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value, None)
    if isinstance(value, int | float):
        return (value + 1, value * 2, value / 2, value + 0.001, None)
    return (*TEXTS, None)


def written(strategy: Strategy) -> dict[str, Any]:
    """Return the steps with every setting that has a value."""
    return strategy.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize("steps", WHOLE, ids=range(len(WHOLE)))
def test_no_setting_can_be_changed_without_another_sentence(steps: dict[str, Any]) -> None:
    """The steps that an example shares with the first are changed there alone."""
    strategy = parse(steps)
    said, whole = texts(summarize(steps)), written(strategy)
    usual = {} if steps is USUAL else written(parse(USUAL))
    own = {name: step for name, step in whole.items() if step != usual.get(name)}
    reported: set[Path] = set()
    for path, value in leaves(own):
        for other in alternatives(value):
            changed = with_leaf(whole, path, other)
            try:
                Strategy.model_validate(changed)  # refuses most of them, without words
                differs = parse(changed) != strategy
            except (ValidationError, EngineError):
                continue
            if differs:
                assert texts(summarize(changed)) != said, (path, value, other)
                reported.add(path)
    # The kind of an object cannot be changed alone; outputs are checked below.
    kinds = {"type", "method", "output"}
    assert {path for path, _ in leaves(own) if path[-1] not in kinds} - reported == set()


def test_the_examples_have_every_setting() -> None:
    """The settings of indicators are checked one by one below."""
    seen = {
        (type(part), name)
        for steps in WHOLE
        for part in parts(parse(steps))
        for name in part.model_fields_set
    }
    kinds = {kind for kind, _ in seen}
    sizings = get_args(get_args(PositionSizing)[0])
    assert kinds.issuperset(sizings)
    missing = {
        (kind.__name__, name)
        for kind in kinds
        for name in kind.model_fields
        if not issubclass(kind, IndicatorOperand) and (kind, name) not in seen
    }
    # These have one alternative that sets them, of the kinds that share them.
    shared = {"pyramiding", "activationThreshold", "side", "value", "candles", "enabled"}
    shared |= {"within"}
    assert {(kind, name) for kind, name in missing if name not in shared} == set()


def parts(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        for name in type(value).model_fields:
            yield from parts(getattr(value, name))
    elif isinstance(value, tuple):
        for member in value:
            yield from parts(member)


@pytest.mark.parametrize("row", CATALOGUE.values(), ids=list(CATALOGUE))
def test_the_summary_names_every_parameter_of_an_indicator(row: Indicator) -> None:
    def said(**settings: object) -> str:
        operand = {"type": row.type, **settings}
        condition = {**LEVEL, "indicator": operand}
        steps = complete(entryConditions={"positionType": "long", "conditions": [condition]})
        parse(steps)
        return dict(texts(summarize(steps)))["entryConditions.conditions"]

    settings: list[dict[str, object]] = [{}, {"offset": 1}, {"offset": 2}]
    settings += [{"timeframe": name} for name in HIGHER_TIMEFRAMES[1:]]
    settings += [{"output": output.name} for output in row.outputs[1:]]
    if row.has_source:
        settings += [{"source": source} for source in SOURCES[1:]]
    for parameter in row.parameters:
        values: list[object] = [name for name, _ in parameter.names]
        values = values or [parameter.low, parameter.high]
        other_values = [value for value in values if value != parameter.written(parameter.default)]
        settings += [{parameter.name: value} for value in other_values]
    sentences = []
    for setting in settings:
        try:
            sentences.append(said(**setting))
        except EngineError:  # it exceeds a limit that another parameter sets
            continue
    assert len(set(sentences)) == len(sentences)
    assert len(sentences) > len(settings) / 2


def test_an_algorithm_reads_as_plain_english() -> None:
    steps = complete(entryConditions={"positionType": "long", "conditions": [CROSS, GROUP]})
    said = [sentence.text for sentence in summarize(steps)[2].shown]
    assert said == [
        "Long only.",
        "Enters when all conditions hold.",
        "Entry: EMA (9) 1 candle ago crosses above MACD signal (12, 26, 9) on 1-hour candles"
        " (for long positions only).",
        "Entry: any of (RSI (14) is above 55.5 (for short positions only); all of (bullish"
        " Engulfing pattern (CDLENGULFING); any of (candle starts from 09:30 to before 14:30 (for"
        " long positions only); (high + low + close) / 3 rises 3 candles in a row))) (for long"
        " positions only).",
    ]


def test_a_summary_leaves_out_what_is_not_set() -> None:
    steps = complete(exitConditions={"stopLoss": {"type": "percentage", "percentage": 1}})
    shown = {sentence.field for step in summarize(steps) for sentence in step.shown}
    assert "exitConditions.stopLoss" in shown
    unset = {"takeProfit", "trailingStop", "squareOffTime", "maxHoldingCandles"}
    assert not shown & {f"exitConditions.{name}" for name in unset}
    assert not shown & {"basicInfo.strategyType", "executionSettings.exchange"}


def test_a_draft_lists_its_settings_and_its_missing_fields() -> None:
    steps = complete(positionSizing={"method": "fixed_quantity"}, exitConditions={})
    summary = {step.step: step for step in summarize(steps)}
    assert [name for name, step in summary.items() if not step.is_complete] == [
        "positionSizing",
        "exitConditions",
    ]
    assert [sentence.text for sentence in summary["positionSizing"].sentences] == [
        "Not complete: positionSizing.quantity is required."
    ]
    whole = {step.step: step for step in summarize(complete())}
    assert summary["basicInfo"] == whole["basicInfo"]


def test_a_trailing_stop_that_is_off_may_lack_its_distance() -> None:
    exits = {"maxHoldingCandles": 5, "trailingStop": {"type": "points", "enabled": False}}
    said = dict(texts(summarize(complete(exitConditions=exits))))
    assert said["exitConditions.trailingStop"] == (
        "Trailing stop off; it would be a distance in rupees, not set, behind the best price."
    )


def test_steps_with_errors_beyond_the_limit_count_as_unread() -> None:
    symbols = [f"NSE:{'X' * 60}{number}" for number in range(50)]
    steps = complete(
        basicInfo={"strategyType": "x", "timeframe": "x", "symbols": symbols},
        riskParameters={"maxPositionSize": "x"},
    )
    unread = [step.step for step in summarize(steps) if not step.is_complete]
    assert unread == ["basicInfo", "riskParameters"]


def test_changes_are_listed_field_by_field() -> None:
    before = complete()
    stop = {"type": "points", "points": 12.5}
    after = {**before, "exitConditions": {**before["exitConditions"], "stopLoss": stop}}
    assert Change.between(summarize(before), summarize(before)) == ()
    assert Change.between(summarize(before), summarize(after)) == (
        Change(
            "exitConditions.stopLoss",
            ("Stop loss 1.5 % from the average entry.",),
            ("Stop loss ₹12.5 from the average entry.",),
        ),
    )


def test_added_removed_and_reordered_conditions_are_listed() -> None:
    def steps(*conditions: dict[str, Any]) -> tuple[StepSummary, ...]:
        return summarize(
            complete(entryConditions={"positionType": "long", "conditions": list(conditions)})
        )

    [change] = Change.between(steps(CROSS, RISING), steps(RISING, HOURS))
    assert (len(change.before), len(change.after)) == (1, 1)
    assert "crosses above" in change.before[0]
    assert "candle starts" in change.after[0]
    [change] = Change.between(steps(CROSS, RISING), steps(RISING, CROSS))
    assert change.before == tuple(reversed(change.after))
    [change] = Change.between(steps(RISING), steps(RISING, RISING))
    assert (len(change.before), len(change.after)) == (1, 2)


def test_the_steps_stand_in_their_order() -> None:
    assert tuple(step.step for step in summarize({})) == STEP_NAMES
