"""Steps as users send them: accepted, incomplete and refused ones."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.engine.errors import FieldError, IncompleteStrategy, InvalidStrategy
from apps.engine.language import validation_errors
from apps.engine.language.conditions import IndicatorValue
from apps.engine.language.operands import IndicatorOperand
from apps.engine.language.strategy import (
    STEP_NAMES,
    Strategy,
    parse,
    read_strategy,
)
from tests.engine.configurations import CROSS, RSI_ABOVE_50, complete, entering, without

FIRST = "entryConditions__conditions__0"


def only_error(steps: dict[str, Any]) -> FieldError:
    (error,) = read_strategy(steps).errors
    return error


def lacking(steps: dict[str, Any]) -> list[str]:
    """Return the paths of missing values, if nothing is wrong."""
    reading = read_strategy(steps)
    assert reading.errors == ()
    assert reading.strategy is None or not reading.missing
    return [gap.field for gap in reading.incomplete]


# Complete


def test_complete_steps_make_a_strategy_with_its_defaults() -> None:
    strategy = parse(without("executionSettings.slippage", "positionSizing.pyramiding"))
    assert strategy.basicInfo.symbols == ("NSE:RELIANCE", "NSE:NIFTY24JANFUT")
    assert strategy.executionSettings.slippage == 0.0
    assert strategy.executionSettings.initialCapital == 1_000_000.0
    assert strategy.positionSizing.pyramiding.enabled is False
    assert strategy.positionSizing.pyramiding.maxEntries == 2
    comparison = strategy.entryConditions.conditions[1]
    assert isinstance(comparison, IndicatorValue)
    rsi = comparison.indicator
    assert isinstance(rsi, IndicatorOperand)
    assert (rsi.parameters, rsi.source, rsi.output, rsi.offset) == (
        {"period": 14},
        "close",
        "value",
        0,
    )


def test_a_strategy_cannot_be_changed() -> None:
    strategy = parse(complete())
    with pytest.raises(ValueError, match="frozen"):
        strategy.basicInfo.timeframe = "1d"  # type: ignore[misc]  # the assignment is the test


def test_equal_steps_make_equal_strategies() -> None:
    assert parse(complete()) == parse(complete())
    assert hash(parse(complete())) == hash(parse(complete()))


@pytest.mark.parametrize(
    "sizing",
    [
        {"method": "fixed_quantity", "quantity": 100},
        {"method": "fixed_quantity", "quantity": 100.0},
        {"method": "fixed_amount", "amount": 25000},
        {"method": "percentage_of_equity", "percentage": 100},
        {"method": "volatility_based", "riskPercentage": 1},
        {"method": "risk_based", "riskPercentage": 1, "pyramiding": {"maxEntries": 10}},
    ],
)
def test_every_way_to_size_is_read(sizing: dict[str, Any]) -> None:
    assert parse(complete(positionSizing=sizing)).positionSizing.method == sizing["method"]


@pytest.mark.parametrize(
    "exits",
    [
        {"stopLoss": {"type": "points", "points": 5}},
        {"stopLoss": {"type": "atr"}},
        {"stopLoss": {"type": "atr", "atrPeriod": 10.0, "atrMultiplier": 1.5}},
        {"takeProfit": {"type": "percentage", "percentage": 150}},
        {"takeProfit": {"type": "points", "points": 5}},
        {"takeProfit": {"type": "atr", "atrPeriod": 20, "atrMultiplier": 3}},
        {"takeProfit": {"type": "risk_reward", "ratio": 2}},
        {"trailingStop": {"enabled": True, "percentage": 1}},
        {"trailingStop": {"enabled": True, "type": "points", "points": 5}},
        {"trailingStop": {"enabled": True, "type": "atr", "activationThreshold": 0}},
        {"squareOffTime": "15:15"},
        {"maxHoldingCandles": 10},
        {"exitOnOppositeSignal": True},
        {"conditions": [RSI_ABOVE_50], "logicalOperator": "OR"},
        {"maxHoldingCandles": 10, "conditions": []},
        {"maxHoldingCandles": 10, "trailingStop": {"enabled": False}},
    ],
)
def test_a_single_exit_is_enough(exits: dict[str, Any]) -> None:
    assert lacking(complete(exitConditions=exits)) == []


@pytest.mark.parametrize(
    ("timeframe", "product", "intraday"),
    [("4h", None, True), ("1d", None, False), ("1d", "intraday", True), ("1m", "delivery", False)],
)
def test_below_a_day_the_product_is_intraday_by_default(
    timeframe: str, product: str | None, intraday: bool
) -> None:
    written = {"productType": product} if product else {}
    settings = complete()["executionSettings"] | written
    steps = complete(basicInfo__timeframe=timeframe, executionSettings=settings)
    assert parse(steps).is_intraday is intraday


@pytest.mark.parametrize(
    ("position", "written", "exits"),
    [
        ("both", None, True),
        ("both", False, False),
        ("long", None, False),
        ("short", True, True),
    ],
)
def test_opposite_signals_close_by_default_where_both_sides_trade(
    position: str, written: bool | None, exits: bool
) -> None:
    ways_out = {"maxHoldingCandles": 5}
    if written is not None:
        ways_out["exitOnOppositeSignal"] = written
    steps = complete(entryConditions__positionType=position, exitConditions=ways_out)
    steps["riskParameters"]["stopLoss"] = 1
    assert parse(steps).exits_on_opposite_signal is exits


def test_orders_are_at_market_limit_or_stop() -> None:
    for order in ("market", "limit", "stop"):
        settings = complete()["executionSettings"] | {"orderType": order, "limitOffset": 0.5}
        assert parse(complete(executionSettings=settings)).executionSettings.orderType == order
    assert parse(complete()).executionSettings.limitOffset == 0.0


def test_the_schema_documents_every_step_and_indicator() -> None:
    schema = Strategy.model_json_schema()
    assert schema["required"] == list(STEP_NAMES)
    assert schema["$defs"]["MACD"]["properties"]["slowPeriod"] == {
        "default": 26,
        "description": "Candles of the slow moving average.",
        "maximum": 1000,
        "minimum": 3,
        "title": "Slowperiod",
        "type": "integer",
    }
    assert "from" in schema["$defs"]["TimeWindow"]["properties"]


# Incomplete


def test_empty_steps_lack_every_step() -> None:
    reading = read_strategy({})
    assert reading.missing == (
        "basicInfo",
        "positionSizing",
        "entryConditions",
        "exitConditions",
        "riskParameters",
        "executionSettings",
    )
    assert reading.errors == ()


@pytest.mark.parametrize("step", STEP_NAMES)
def test_an_empty_step_is_incomplete(step: str) -> None:
    reading = read_strategy(complete(**{step: {}}))
    assert (reading.errors, reading.strategy) == ((), None)
    assert step in reading.missing


@pytest.mark.parametrize(
    "path",
    """
        basicInfo.strategyType basicInfo.timeframe basicInfo.symbols positionSizing.method
        positionSizing.riskPercentage entryConditions.positionType entryConditions.conditions
        exitConditions.stopLoss.type exitConditions.stopLoss.percentage
        exitConditions.takeProfit.ratio exitConditions.trailingStop.enabled
        exitConditions.trailingStop.percentage riskParameters.maxPositionSize
        riskParameters.maxDailyLoss riskParameters.maxOpenPositions executionSettings.mode
        executionSettings.exchange executionSettings.orderType
    """.split(),
)
def test_a_required_field_that_is_missing_is_incomplete_not_wrong(path: str) -> None:
    steps = without(path)
    assert lacking(steps) == [path]
    assert read_strategy(steps).missing == (path.partition(".")[0],)


@pytest.mark.parametrize(
    ("condition", "missing"),
    [
        ({}, "type"),
        ({"type": "indicator_value", "indicator": {"type": "RSI"}, "operator": "above"}, "value"),
        ({"type": "indicator_value", "operator": "rising"}, "indicator"),
        (CROSS | {"indicator2": {}}, "indicator2.type"),
        (CROSS | {"indicator2": {"period": 9}}, "indicator2.type"),
        ({"type": "time_window", "from": "09:15"}, "to"),
    ],
)
def test_a_condition_may_be_unfinished(condition: dict[str, Any], missing: str) -> None:
    assert lacking(entering(CROSS, condition)) == [f"entryConditions.conditions[1].{missing}"]


def test_no_symbols_and_no_conditions_are_incomplete() -> None:
    assert lacking(complete(basicInfo__symbols=[])) == ["basicInfo.symbols"]
    assert lacking(entering()) == ["entryConditions.conditions"]


@pytest.mark.parametrize(
    "exits",
    [
        {"exitOnOppositeSignal": False},
        {"trailingStop": {"enabled": False}},
        {"conditions": [], "logicalOperator": "AND"},
    ],
)
def test_without_a_way_out_the_exits_are_incomplete(exits: dict[str, Any]) -> None:
    assert lacking(complete(exitConditions=exits)) == ["exitConditions"]


@pytest.mark.parametrize(
    "steps",
    [
        complete(exitConditions={"maxHoldingCandles": 5}),
        complete(
            positionSizing={"method": "fixed_quantity", "quantity": 1},
            exitConditions={"takeProfit": {"type": "risk_reward", "ratio": 2}},
        ),
    ],
    ids=["risk_based", "risk_reward"],
)
def test_a_needed_stop_may_come_from_exits_or_from_risk(steps: dict[str, Any]) -> None:
    assert lacking(steps) == []
    del steps["riskParameters"]["stopLoss"]
    assert lacking(steps) == ["exitConditions.stopLoss"]
    assert read_strategy(steps).missing == ("exitConditions",)
    steps["exitConditions"]["stopLoss"] = {"type": "points", "points": 3}
    assert lacking(steps) == []


def test_missing_steps_are_named_in_order() -> None:
    steps = without("riskParameters", "basicInfo.symbols")
    with pytest.raises(IncompleteStrategy) as refused:
        parse(steps)
    assert refused.value.missing == ("basicInfo", "riskParameters")
    assert {error.field for error in refused.value.errors} == {
        "basicInfo.symbols",
        "riskParameters",
    }


# Wrong


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("basicInfo__strategyType", "hodl"),
        ("basicInfo__timeframe", "2h"),
        ("basicInfo__timeframe", "1D"),
        ("positionSizing__method", "martingale"),
        ("positionSizing__method", 5),
        ("positionSizing__method", []),
        ("entryConditions__positionType", "sideways"),
        ("entryConditions__logicalOperator", "XOR"),
        (f"{FIRST}__type", "astrology"),
        (f"{FIRST}__operator", "bogus"),
        (f"{FIRST}__operator", "rising"),
        ("entryConditions__conditions__1__operator", "bogus"),
        ("entryConditions__conditions__1__operator", None),
        ("entryConditions__conditions__1__operator", ["above"]),
        (f"{FIRST}__indicator1__source", "typical"),
        (f"{FIRST}__indicator1__output", "upper"),
        ("exitConditions__stopLoss__type", "mental"),
        ("exitConditions__trailingStop__type", "risk_reward"),
        ("executionSettings__mode", "yolo"),
        ("executionSettings__exchange", "NFO"),
        ("executionSettings__orderType", "iceberg"),
        ("executionSettings__productType", "margin"),
        ("executionSettings__charges", True),
    ],
)
def test_an_error_lists_the_allowed_values(path: str, value: object) -> None:
    error = only_error(complete(**{path: value}))
    assert error.field == dotted(path)
    assert error.value == value
    assert error.allowed
    assert value not in error.allowed
    assert error.message.startswith(f"{error.field} must be ")
    assert str(error.allowed[-1]) in error.message


@pytest.mark.parametrize(("sent", "asked"), [("ema", " did you mean EMA?"), (True, "values.")])
def test_for_a_long_set_the_message_suggests_a_similar_value(sent: object, asked: str) -> None:
    error = only_error(complete(**{f"{FIRST}__indicator1__type": sent}))
    assert error.message.endswith(asked)
    assert len(error.message) < 200
    assert error.allowed is not None
    assert "EMA" in error.allowed


@pytest.mark.parametrize(
    "path",
    [
        "positionSizing__riskPercentage",
        "riskParameters__maxPositionSize",
        "riskParameters__riskRewardRatio",
        "executionSettings__initialCapital",
        "exitConditions__stopLoss__percentage",
        "entryConditions__conditions__1__value",
    ],
)
def test_a_number_is_a_finite_number_within_reason(path: str) -> None:
    infinite = (math.nan, math.inf, -math.inf, 10**400)
    value: object
    for value in (True, "1", None, [], {}, *infinite, 1e13, -1e13, 1e-320):
        assert only_error(complete(**{path: value})).field == dotted(path), value


@pytest.mark.parametrize(
    "path",
    [
        f"{FIRST}__indicator1__period",
        f"{FIRST}__indicator1__offset",
        "entryConditions__confirmationCandles",
        "riskParameters__maxOpenPositions",
        "positionSizing__pyramiding__maxEntries",
        "exitConditions__maxHoldingCandles",
    ],
)
def test_a_whole_number_must_be_in_its_range(path: str) -> None:
    for value in (1.5, True, "14", None, -1, 100_000_000, 2**63, 10**400, math.inf):
        assert only_error(complete(**{path: value})).field == dotted(path), value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("positionSizing__riskPercentage", 0),
        ("positionSizing__riskPercentage", 100.01),
        ("positionSizing__pyramiding__maxEntries", 1),
        ("positionSizing__pyramiding__maxEntries", 501),
        ("entryConditions__confirmationCandles", 11),
        (f"{FIRST}__indicator1__period", 0),
        (f"{FIRST}__indicator1__period", 100_000),
        (f"{FIRST}__indicator1__offset", 501),
        ("exitConditions__stopLoss__percentage", 0),
        ("exitConditions__stopLoss__percentage", -5),
        ("exitConditions__stopLoss__percentage", 101),
        ("exitConditions__takeProfit__ratio", 0),
        ("exitConditions__trailingStop__activationThreshold", -1),
        ("riskParameters__maxOpenPositions", 0),
        ("riskParameters__maxOpenPositions", 51),
        ("riskParameters__maxPositionSize", -1),
        ("riskParameters__maxDailyLoss", 0),
        ("riskParameters__maxDailyProfit", 0),
        ("riskParameters__maxEntriesPerDay", 0),
        ("riskParameters__maxEntriesPerSymbol", 1001),
        ("riskParameters__riskRewardRatio", 0),
        ("executionSettings__limitOffset", 20.1),
        ("executionSettings__limitOffset", -1),
        ("executionSettings__maxVolumeShare", 0),
        ("executionSettings__maxVolumeShare", 100.5),
        ("executionSettings__slippage", 5.1),
        ("executionSettings__slippage", -0.1),
        ("executionSettings__initialCapital", 0),
    ],
)
def test_an_error_of_a_number_gives_the_limit(path: str, value: float) -> None:
    error = only_error(complete(**{path: value}))
    assert (error.field, error.value) == (dotted(path), value)
    assert "must be at " in error.message


def test_a_float_without_a_fraction_is_a_whole_number() -> None:
    strategy = parse(complete(riskParameters__maxOpenPositions=3.0))
    assert repr(strategy.riskParameters.maxOpenPositions) == "3"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("basicInfo", [], "an object"),
        ("basicInfo", "x", "an object"),
        ("basicInfo", None, "an object"),
        ("positionSizing", 5, "an object"),
        ("positionSizing", None, "an object"),
        ("positionSizing__pyramiding", None, "an object"),
        ("positionSizing__pyramiding__enabled", 1, "true or false"),
        ("entryConditions__conditions", {}, "an array"),
        (FIRST, 5, "an object"),
        (f"{FIRST}__indicator1", "EMA", "an object"),
        ("exitConditions__stopLoss", None, "an object"),
        ("exitConditions__trailingStop", [], "an object"),
        ("exitConditions__exitOnOppositeSignal", None, "true or false"),
        ("exitConditions__squareOffTime", None, "a string"),
        ("basicInfo__symbols", "NSE:TCS", "an array"),
        ("executionSettings__broker", 1, "a string"),
    ],
)
def test_a_wrong_type_is_an_error(path: str, value: object, says: str) -> None:
    error = only_error(complete(**{path: value}))
    assert error == FieldError(dotted(path), f"{dotted(path)} must be {says}.", value)


@pytest.mark.parametrize(
    "clock", ["9:15", "24:00", "09:60", "0915", "09:15:00", "09:15\n", "०९:१५"]
)
def test_a_time_of_day_has_one_form(clock: str) -> None:
    error = only_error(complete(exitConditions__squareOffTime=clock))
    assert error.message == 'exitConditions.squareOffTime must be a time of the form "HH:MM".'


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("exitConditions__stoploss", "stopLoss"),
        ("exitConditions__stopLoss__percent", "percentage"),
        ("entryConditions__confirmationCandle", "confirmationCandles"),
        (f"{FIRST}__indicator1__perod", "period"),
        (f"{FIRST}__indicator_2", "indicator2"),
        ("riskParameters__MaxDailyLoss", "maxDailyLoss"),
    ],
)
def test_an_unknown_key_is_reported_with_a_suggestion(path: str, meant: str) -> None:
    error = only_error(complete(**{path: 1}))
    assert error.field == dotted(path)
    assert error.message.endswith(f"is not a known field; did you mean {meant}?")
    assert error.allowed is not None
    assert meant in error.allowed


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("exitConditions__confirmationCandles", 2),
        ("exitConditions__takeProfit__percentage", 5),  # a field of another type of target
        ("basicInfo__zzzzzz", 1),
    ],
)
def test_any_key_the_service_does_not_know_is_refused(path: str, value: object) -> None:
    error = only_error(complete(**{path: value}))
    assert (error.field, error.value) == (dotted(path), value)


def test_a_symbol_is_checked_by_its_form_and_its_place() -> None:
    errors = read_strategy(complete(basicInfo__symbols=[1, "NSE:TCS", None, "NSE:tcs"])).errors
    assert [error.field for error in errors] == [
        "basicInfo.symbols[0]",
        "basicInfo.symbols[2]",
        "basicInfo.symbols[3]",
    ]
    assert errors[2].value == "NSE:tcs"


def test_symbols_are_distinct_and_at_most_fifty() -> None:
    twice = only_error(complete(basicInfo__symbols=["NSE:TCS", "NSE:INFY", "NSE:TCS"]))
    assert twice.field == "basicInfo.symbols"
    assert "NSE:TCS more than once" in twice.message
    many = only_error(complete(basicInfo__symbols=[f"NSE:A{i}" for i in range(10_001)]))
    assert many.message == "basicInfo.symbols must have at most 50 entries."


@pytest.mark.parametrize(
    ("condition", "field"),
    [
        (RSI_ABOVE_50 | {"operator": "rising"}, ".value"),
        (RSI_ABOVE_50 | {"candles": 2}, ".candles"),
        ({"type": "time_window", "from": "10:00", "to": "10:00"}, ".to"),
        (CROSS | {"indicator1": {"type": "MACD", "fastPeriod": 26}}, ".indicator1.slowPeriod"),
        (CROSS | {"indicator1": {"type": "DEMA", "period": 502}}, ".indicator1"),
        (CROSS | {"indicator1": {"type": "SMA", "period": 600, "offset": 450}}, ".indicator1"),
        (CROSS | {"indicator1": {"type": "PRICE", "period": 3}}, ".indicator1.period"),
        (CROSS | {"indicator1": {"type": "ATR", "source": "high"}}, ".indicator1.source"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(condition: dict[str, Any], field: str) -> None:
    assert only_error(entering(condition)).field == f"entryConditions.conditions[0]{field}"


def nested(depth: int, *conditions: dict[str, Any]) -> dict[str, Any]:
    """Return a group in a group, so many levels deep."""
    inside = [nested(depth - 1, *conditions)] if depth > 1 else list(conditions)
    return {"type": "group", "logicalOperator": "OR", "conditions": inside}


def test_groups_go_three_deep() -> None:
    assert lacking(entering(nested(3, CROSS))) == []
    error = only_error(entering(nested(4, CROSS)))
    assert error.field == "entryConditions.conditions[0]" + ".conditions[0]" * 3 + ".type"
    assert (error.value, "group" in (error.allowed or ())) == ("group", False)


def test_conditions_in_a_group_are_validated_like_any_other() -> None:
    inside = "entryConditions.conditions[0].conditions[0].conditions[1]"
    unfinished = nested(2, CROSS, {"type": "time_window", "from": "10:00"})
    assert lacking(entering(unfinished)) == [f"{inside}.to"]
    wrong = only_error(entering(nested(2, CROSS, CROSS | {"operater": "above"})))
    assert wrong.field == f"{inside}.operater"
    assert wrong.message.endswith("did you mean operator?")
    assert lacking(entering(nested(2))) == [inside.removesuffix("[1]")]
    untold = {"conditions": [{"operator": "bogus"}]}
    assert read_strategy(entering(untold)).errors[0].field.endswith("[0].conditions[0].operator")
    assert parse(entering(nested(3, CROSS))).warmup_bars == 21


def test_pattern_names_come_from_talib() -> None:
    star = {"type": "candle_pattern", "pattern": "CDLMORNINGSTAR", "direction": "bullish"}
    assert lacking(entering(star)) == []
    assert lacking(entering({"type": "candle_pattern"})) == [
        "entryConditions.conditions[0].pattern"
    ]
    for field, value in (("pattern", "CDLHAMER"), ("pattern", "EMA"), ("direction", "up")):
        error = only_error(entering(star | {field: value}))
        assert (error.field, error.value) == (f"entryConditions.conditions[0].{field}", value)
        assert error.allowed
    assert only_error(entering(star | {"value": 1})).field.endswith("[0].value")
    assert parse(entering(star, confirmationCandles=3)).warmup_bars == 14


def test_a_timeframe_of_an_operand_is_longer_than_the_algorithms() -> None:
    def read_in(own: str, timeframe: str) -> dict[str, Any]:
        operand = {"type": "EMA", "timeframe": timeframe}
        steps = entering(nested(1, CROSS | {"indicator2": operand}))
        steps["basicInfo"]["timeframe"] = own
        return steps

    assert lacking(read_in("5m", "15m")) == []
    assert parse(read_in("1d", "1w")).higher_timeframe_warmups == {"1w": 19}
    assert parse(read_in("5m", "1d")).warmup_bars == 9
    path = "entryConditions.conditions[0].conditions[0].indicator2.timeframe"
    for own, timeframe in (("15m", "15m"), ("1h", "5m"), ("1w", "1d")):
        error = only_error(read_in(own, timeframe))
        message = f"{path} must be longer than basicInfo.timeframe, which is {own}."
        assert (error.field, error.message) == (path, message)
        assert timeframe not in (error.allowed or ())
    unknown: Any
    for unknown in ("1m", "45m", None, []):
        assert only_error(read_in("5m", unknown)).field == path
    draft = read_in("1h", "5m")
    del draft["riskParameters"], draft["entryConditions"]["positionType"]
    assert only_error(draft).field == path
    del draft["basicInfo"]["timeframe"]
    assert read_strategy(draft).errors == ()


def test_exit_conditions_are_validated_like_entry_conditions() -> None:
    def leaving(condition: dict[str, Any]) -> dict[str, Any]:
        return complete(exitConditions={"maxHoldingCandles": 5, "conditions": [condition]})

    path = "exitConditions.conditions[0]"
    assert lacking(leaving({"type": "time_window", "from": "10:00"})) == [f"{path}.to"]
    assert only_error(leaving(CROSS | {"operator": "over"})).field == f"{path}.operator"
    daily: dict[str, Any] = RSI_ABOVE_50 | {
        "indicator": {"type": "RSI", "period": 30, "timeframe": "1d"}
    }
    assert parse(leaving(daily)).higher_timeframe_warmups == {"1d": 30}
    daily["indicator"]["timeframe"] = "5m"
    assert only_error(leaving(daily)).field == f"{path}.indicator.timeframe"
    slow = CROSS | {"indicator2": {"type": "SMA", "period": 80}}
    assert parse(leaving(slow)).warmup_bars == 80
    steps = complete(exitConditions={"conditions": [CROSS] * 21})
    assert only_error(steps).field == "exitConditions.conditions"


def test_four_hundred_conditions_are_the_most() -> None:
    groups = [nested(1, *[CROSS] * 20) for _ in range(20)]
    assert lacking(entering(*groups)) == []
    assert only_error(entering(nested(1, *[CROSS] * 21))).field.endswith("[0].conditions")
    error = only_error(
        entering(*groups[1:], nested(2, *[CROSS] * 20) | {"conditions": [CROSS, groups[0]]})
    )
    assert error.message.startswith("entryConditions.conditions hold 401 conditions")


def test_a_warm_up_of_a_thousand_candles_is_the_longest() -> None:
    longest = CROSS | {"indicator1": {"type": "DEMA", "period": 501}}
    assert lacking(entering(longest)) == []


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("positionSizing", {"riskPercentage": -5}, "positionSizing.riskPercentage"),
        ("positionSizing", {"quantty": 5}, "positionSizing.quantty"),
        (FIRST, {"operator": "bogus"}, "entryConditions.conditions[0].operator"),
        (FIRST, {"operater": "above"}, "entryConditions.conditions[0].operater"),
        (
            FIRST,
            {"indicator1": {"period": True}},
            "entryConditions.conditions[0].indicator1.period",
        ),
        ("exitConditions__takeProfit", {"ratio": "2"}, "exitConditions.takeProfit.ratio"),
    ],
)
def test_an_object_without_a_kind_is_still_validated(path: str, value: object, field: str) -> None:
    reading = read_strategy(complete(**{path: value}))
    assert [error.field for error in reading.errors] == [field]
    assert reading.missing == (dotted(path).partition(".")[0],)


def test_a_value_valid_for_some_kind_is_not_refused_before_the_kind_is_known() -> None:
    """150 percent is too much for a stop, but the target may still become one in percent."""
    assert lacking(complete(exitConditions__takeProfit={"percentage": 150})) == [
        "exitConditions.takeProfit.type"
    ]


def test_all_errors_are_returned_at_once_and_wrong_comes_before_incomplete() -> None:
    steps = complete(basicInfo__timeframe="2h", riskParameters={"maxDailyLoss": -1})
    with pytest.raises(InvalidStrategy) as refused:
        parse(steps)
    assert [error.field for error in refused.value.errors] == [
        "basicInfo.timeframe",
        "riskParameters.maxDailyLoss",
    ]


def test_ten_thousand_unknown_keys_give_a_hundred_errors() -> None:
    exits = complete()["exitConditions"] | {f"key{i}": 1 for i in range(10_000)}
    assert len(read_strategy(complete(exitConditions=exits)).errors) == 100


@pytest.mark.parametrize(
    "condition",
    [
        {"indicator1": {f"key{i}": 1 for i in range(10_000)}},
        {"indicator1": {"type": "EMA"} | {f"key{i}": 1 for i in range(10_000)}},
        CROSS | {"indicator1": {f"key{i}": 1 for i in range(10_000)}},
    ],
)
def test_ten_thousand_unknown_keys_without_a_kind_cost_as_little(
    condition: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = []
    monkeypatch.setattr(
        validation_errors,
        "get_close_matches",
        lambda *key, n: looked_up.append(key) or [],  # type: ignore[func-returns-value]  # for its effect
    )
    assert len(read_strategy(entering(condition, condition)).errors) == 100
    assert len(looked_up) < 1_000


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["type", "method", "EMA", "percentage", "atr", "indicator_value", "rising"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "method", "period", "", "from", "x.y"]), inner)
    ),
    max_leaves=8,
)


def places(value: object, way: str = "") -> list[str]:
    """Return the place of everything in the steps, as `complete` names places."""
    entries = dict(enumerate(value)) if isinstance(value, list) else value
    inner = entries.items() if isinstance(entries, dict) else ()
    return [way] * bool(way) + [
        path for name, below in inner for path in places(below, f"{way}__{name}".strip("_"))
    ]


@given(st.sampled_from(places(complete())), JSON)
@settings(max_examples=30, deadline=None)
def test_any_input_is_validated_without_an_exception(path: str, value: object) -> None:
    reading = read_strategy(complete(**{path: value}))
    for error in (*reading.errors, *reading.incomplete):
        assert error.field.startswith(STEP_NAMES)
        assert error.message.endswith((".", "?"))
    assert (reading.strategy is None) == bool(reading.errors or reading.incomplete)
    assert bool(reading.missing) == bool(reading.incomplete)


@pytest.mark.parametrize("broker", ["zero\ndha", "\x00", "zerodha\x7f", "\u202eahdorez"])
def test_a_broker_holds_no_control_character(broker: str) -> None:
    error = only_error(complete(executionSettings__broker=broker))
    path = "executionSettings.broker"
    assert error == FieldError(path, f"{path} holds a control character.", broker)


@pytest.mark.parametrize("value", ["x" * 100_000, [0] * 100_000, {"a": "x" * 500}])
def test_a_large_value_is_reported_too(value: object) -> None:
    assert only_error(complete(executionSettings__broker=value)).value is value


# Warnings and warm-up


def warned(steps: dict[str, Any]) -> list[str]:
    return [error.field for error in parse(steps).warnings]


@pytest.mark.parametrize(
    ("exits", "risk", "low"),
    [
        ({"takeProfit": {"type": "risk_reward", "ratio": 1.9}}, {"stopLoss": 1}, True),
        ({"takeProfit": {"type": "risk_reward", "ratio": 2}}, {"stopLoss": 1}, False),
        ({"takeProfit": {"type": "percentage", "percentage": 3}}, {"stopLoss": 2}, True),
        ({"takeProfit": {"type": "percentage", "percentage": 4}}, {"stopLoss": 2}, False),
        (
            {"stopLoss": {"type": "percentage", "percentage": 1}},
            {"stopLoss": 9, "takeProfit": 2},
            False,
        ),
        ({"stopLoss": {"type": "percentage", "percentage": 1}}, {"takeProfit": 1.9}, True),
        (
            {
                "stopLoss": {"type": "points", "points": 4},
                "takeProfit": {"type": "points", "points": 4},
            },
            {},
            True,
        ),
        (
            {
                "stopLoss": {"type": "atr", "atrMultiplier": 2},
                "takeProfit": {"type": "atr", "atrMultiplier": 3},
            },
            {},
            True,
        ),
        (  # these are of two kinds and cannot be compared
            {"stopLoss": {"type": "atr"}, "takeProfit": {"type": "percentage", "percentage": 0.1}},
            {},
            False,
        ),
        ({"stopLoss": {"type": "percentage", "percentage": 1}}, {}, False),  # no target
    ],
)
def test_a_target_below_the_minimum_reward_is_a_warning(
    exits: dict[str, Any], risk: dict[str, float], low: bool
) -> None:
    limits = {"maxPositionSize": 1e5, "maxDailyLoss": 5e3, "maxOpenPositions": 1}
    steps = complete(exitConditions=exits, riskParameters=limits | risk | {"riskRewardRatio": 2})
    assert warned(steps) == (["riskParameters.riskRewardRatio"] if low else [])


def test_a_reward_of_just_the_ratio_in_decimals_is_enough() -> None:
    """0.15 / 0.1 is 1.4999999999999998."""
    exits = {
        "stopLoss": {"type": "percentage", "percentage": 0.1},
        "takeProfit": {"type": "percentage", "percentage": 0.15},
    }
    limits = {"maxPositionSize": 1e5, "maxDailyLoss": 5e3, "maxOpenPositions": 1}
    for asked, low in ((1.5, False), (1.51, True)):
        risk = limits | {"riskRewardRatio": asked}
        steps = complete(exitConditions=exits, riskParameters=risk)
        assert warned(steps) == (["riskParameters.riskRewardRatio"] if low else [])


@pytest.mark.parametrize(
    ("timeframe", "product", "idle"),
    [("1d", "delivery", True), ("1w", None, True), ("1d", "intraday", False), ("1h", None, False)],
)
def test_a_square_off_time_on_days_is_a_warning_unless_intraday(
    timeframe: str, product: str | None, idle: bool
) -> None:
    steps = complete(basicInfo__timeframe=timeframe, exitConditions__squareOffTime="15:15")
    if product:
        steps["executionSettings"]["productType"] = product
    assert warned(steps) == (["exitConditions.squareOffTime"] if idle else [])


@pytest.mark.parametrize(
    ("position", "side", "idle"),
    [("long", "short", 1), ("both", "short", 1), ("short", "short", 0), ("both", None, 0)],
)
def test_a_side_that_no_condition_serves_is_a_warning(
    position: str, side: str | None, idle: int
) -> None:
    condition = CROSS | ({"side": side} if side else {})
    assert (
        warned(entering(condition, positionType=position)) == ["entryConditions.conditions"] * idle
    )


@pytest.mark.parametrize(
    ("position", "exits", "idle"),
    [("both", {}, 1), ("long", {"exitOnOppositeSignal": True}, 1), ("long", {}, 0)],
)
def test_conditions_that_are_the_same_of_both_sides_are_a_warning(
    position: str, exits: dict[str, Any], idle: int
) -> None:
    volume = {"type": "indicator_value", "indicator": {"type": "VOLUME"}, "operator": "above"}
    steps = entering({**volume, "value": 5}, positionType=position)
    steps["exitConditions"] |= exits
    assert warned(steps) == ["entryConditions.conditions"] * idle


@pytest.mark.parametrize(
    ("condition", "timeframe", "idle"),
    [
        ({"type": "time_window", "from": "09:15", "to": "15:00"}, "1d", 1),
        ({"type": "time_window", "from": "09:15", "to": "15:00"}, "1h", 0),
        ({"type": "time_window", "from": "00:00", "to": "15:00"}, "1d", 0),
        ({"type": "candle_pattern", "pattern": "CDLHAMMER", "direction": "bearish"}, "1d", 1),
        ({"type": "candle_pattern", "pattern": "CDLHAMMER", "direction": "bullish"}, "1d", 0),
        ({"type": "candle_pattern", "pattern": "CDLHAMMER"}, "1d", 0),
    ],
)
def test_a_condition_that_is_never_true_is_a_warning(
    condition: dict[str, Any], timeframe: str, idle: int
) -> None:
    steps = entering(condition)
    steps["basicInfo"]["timeframe"] = timeframe
    assert warned(steps) == ["entryConditions.conditions"] * idle


ITSELF = {
    "type": "indicator_indicator",
    "indicator1": {"type": "MACD", "offset": 1},
    "indicator2": {"type": "MACD", "fastPeriod": 12, "output": "macd", "offset": 1},
}


@pytest.mark.parametrize(
    ("operator", "changes", "outcome"),
    [
        *((word, {}, "never") for word in ("crosses_above", "crosses_below", "above", "below")),
        *((word, {}, "always") for word in ("at_or_above", "at_or_below")),
        ("above", {"offset": 2}, None),
        ("above", {"fastPeriod": 11}, None),
        ("above", {"output": "signal"}, None),
        ("above", {"timeframe": "1w"}, None),
        ("above", {"source": "high"}, None),
    ],
)
def test_comparing_an_indicator_with_itself_is_a_warning(
    operator: str, changes: dict[str, Any], outcome: str | None
) -> None:
    other = ITSELF["indicator2"] | changes  # type: ignore[operator]  # a dict
    steps = entering(ITSELF | {"operator": operator, "indicator2": other})
    messages = [error.message for error in parse(steps).warnings]
    assert len(messages) == (outcome is not None)
    assert all(str(outcome) in message for message in messages)


@pytest.mark.parametrize(
    ("exchange", "symbols", "idle"),
    [
        ("NSE", ["NSE:SBIN"], 0),
        ("BSE", ["NSE:SBIN", "BSE:SBIN"], 0),
        ("MCX", ["NSE:SBIN", "BSE:SBIN"], 1),
    ],
)
def test_an_exchange_that_no_symbol_names_is_a_warning(
    exchange: str, symbols: list[str], idle: int
) -> None:
    steps = complete(basicInfo__symbols=symbols)
    steps["executionSettings"]["exchange"] = exchange
    assert warned(steps) == ["executionSettings.exchange"] * idle


@pytest.mark.parametrize(
    ("steps", "bars"),
    [
        (entering({"type": "time_window", "from": "09:15", "to": "10:00"}), 0),
        (entering(RSI_ABOVE_50), 14),
        (entering(CROSS), 21),  # the slow average from bar 20 on, and one bar before the cross
        (entering(CROSS, confirmationCandles=3), 23),
        (entering(CROSS, confirmationCandles=0), 21),
        (entering(CROSS | {"indicator2": {"type": "SMA", "period": 20, "offset": 5}}), 25),
        (
            entering(
                {
                    "type": "indicator_value",
                    "indicator": {"type": "PRICE"},
                    "operator": "rising",
                    "candles": 4,
                }
            ),
            4,
        ),
        (complete(exitConditions__stopLoss={"type": "atr", "atrPeriod": 50}), 50),
    ],
)
def test_warm_up_is_the_longest_any_part_needs(steps: dict[str, Any], bars: int) -> None:
    assert parse(steps).warmup_bars == bars


def test_lists_far_too_long_do_not_make_answers_far_too_long() -> None:
    steps = complete(basicInfo__symbols=["x"] * 10_000)
    steps["entryConditions"]["conditions"] = [{}] * 10_000
    reading = read_strategy(steps)
    assert [error.field for error in reading.errors] == [
        "basicInfo.symbols",
        "entryConditions.conditions",
    ]
    assert reading.incomplete == ()


def dotted(path: str) -> str:
    parts = path.split("__")
    return "".join(f"[{p}]" if p.isdigit() else f".{p}" for p in parts).removeprefix(".")


@pytest.mark.parametrize(
    ("indicator", "operator", "value", "expected"),
    [
        ("RSI", "above", 160, "RSI is from 0 to 100: above 160 is never true."),
        ("RSI", "above", 100, "never"),
        ("RSI", "above", 99.9, None),
        ("RSI", "above", -1, "always"),
        ("RSI", "at_or_above", 100, None),
        ("RSI", "at_or_above", 101, "never"),
        ("RSI", "at_or_above", 0, "always"),
        ("RSI", "below", 0, "never"),
        ("RSI", "below", 100, None),
        ("RSI", "below", 160, "always"),
        ("RSI", "at_or_below", 0, None),
        ("RSI", "at_or_below", -5, "never"),
        ("RSI", "at_or_below", 100, "always"),
        ("RSI", "crosses_above", 0, None),
        ("RSI", "crosses_above", 100, "never"),
        ("RSI", "crosses_above", -1, "never"),
        ("RSI", "crosses_below", 100, None),
        ("RSI", "crosses_below", 0, "never"),
        ("RSI", "crosses_below", 101, "never"),
        ("WILLR", "above", 20, "WILLR is from -100 to 0: above 20 is never true."),
        ("ATR", "above", -1, "ATR is never below 0: above -1 is always true."),
        ("ATR", "above", 1e6, None),
        ("EMA", "above", -1, None),
    ],
)
def test_a_value_that_an_indicator_never_has_is_a_warning(
    indicator: str, operator: str, value: float, expected: str | None
) -> None:
    condition = {
        "type": "indicator_value",
        "indicator": {"type": indicator},
        "operator": operator,
        "value": value,
    }
    messages = parse(entering(condition)).warnings
    assert [error.field for error in messages] == ["entryConditions.conditions[0].value"] * bool(
        expected
    )
    assert all(str(expected) in error.message for error in messages)


def test_a_value_out_of_range_is_found_in_groups_and_exits() -> None:
    rsi = {**RSI_ABOVE_50, "value": 160}
    group = {"type": "group", "logicalOperator": "OR", "conditions": [CROSS, rsi]}
    steps = entering(CROSS, group)
    steps["exitConditions"]["conditions"] = [rsi]
    assert warned(steps) == [
        "entryConditions.conditions[1].conditions[1].value",
        "exitConditions.conditions[0].value",
    ]


@pytest.mark.parametrize(
    ("own", "indicator", "expected"),
    [
        ("1m", {"type": "PREVIOUS_WEEK"}, 1),
        ("5m", {"type": "PREVIOUS_WEEK"}, 0),
        ("1m", {"type": "PREVIOUS_MONTH"}, 1),
        ("1m", {"type": "PREVIOUS_MONTH", "timeframe": "15m"}, 0),
        ("5m", {"type": "PREVIOUS_MONTH"}, 0),
        ("1m", {"type": "RELATIVE_VOLUME"}, 1),
        ("1m", {"type": "RELATIVE_VOLUME", "period": 5}, 0),
        ("15m", {"type": "RELATIVE_VOLUME", "period": 250}, 1),
        ("1d", {"type": "RELATIVE_VOLUME", "period": 250}, 0),
    ],
)
def test_an_indicator_of_more_sessions_than_are_held_is_a_warning(
    own: str, indicator: dict[str, Any], expected: int
) -> None:
    steps = entering({**RSI_ABOVE_50, "indicator": indicator})
    steps["basicInfo"] |= {"timeframe": own}
    assert warned(steps) == ["entryConditions.conditions[0].indicator"] * expected


def test_the_sessions_of_a_commodity_are_longer() -> None:
    steps = entering({**RSI_ABOVE_50, "indicator": {"type": "PREVIOUS_MONTH"}})
    steps["basicInfo"] |= {"timeframe": "5m", "symbols": ["MCX:CRUDEOIL26DECFUT"]}
    steps["executionSettings"] |= {"exchange": "MCX"}
    (warning,) = parse(steps).warnings
    assert warning.message == (
        "PREVIOUS_MONTH needs 23 earlier sessions, and 2000 candles of 5m hold 11: it is often"
        " unknown. Give it a longer timeframe."
    )


def test_fibonacci_has_no_fourth_level() -> None:
    level = {"type": "PIVOT_POINTS", "output": "r4", "method": "fibonacci"}
    error = only_error(entering({**RSI_ABOVE_50, "indicator": level}))
    path = "entryConditions.conditions[0].indicator.output"
    message = f"{path} must be another level: fibonacci ends at r3 and s3."
    assert (error.field, error.message) == (path, message)


@pytest.mark.parametrize(("average", "expected"), [("SMA", 1), ("EMA", 1), ("DEMA", 0)])
def test_a_smoothing_that_overshoots_has_no_range(average: str, expected: int) -> None:
    stochastic = {"type": "STOCH", "smoothingMaType": average}
    condition = {**RSI_ABOVE_50, "indicator": stochastic, "value": 100}
    assert len(warned(entering(condition))) == expected


def test_adds_against_a_position_are_a_warning() -> None:
    def warned(direction: str, **sizing: object) -> list[str]:
        distance = {"direction": direction, "type": "points", "points": 10}
        adds = {"enabled": True, "maxEntries": 8, "distance": distance}
        steps = complete(positionSizing={**sizing, "pyramiding": adds})
        return [error.message for error in parse(steps).warnings]

    assert warned("against", method="fixed_quantity", quantity=10) == [
        "Adds against the position: at worst 8 entries of 10 units are held, 8 times the first."
    ]
    assert warned("against", method="percentage_of_equity", percentage=5) == [
        "Adds against the position: at worst 8 entries are held, 8 times the first."
    ]
    assert warned("favour", method="fixed_quantity", quantity=10) == []


def test_steps_must_leave_something() -> None:
    half = {"at": {"type": "points", "points": 1}, "close": 50}
    error = only_error(complete(exitConditions__steps=[half, half]))
    assert (error.field, error.message) == (
        "exitConditions.steps",
        "exitConditions.steps close 100 percent; together they must leave something: less than"
        " 100.",
    )
    refused: list[tuple[list[Any], str]] = [([], "at least 1 entry"), ([half] * 4, "at most 3")]
    for steps, wrong in refused:
        assert wrong in only_error(complete(exitConditions__steps=steps)).message
    strange = {"at": {"type": "atr"}, "close": 50}
    error = only_error(complete(exitConditions__steps=[strange]))
    assert error.field == "exitConditions.steps[0].at.type"


def test_a_step_by_the_risk_needs_a_stop() -> None:
    steps = complete()
    steps["exitConditions"] = {
        "maxHoldingCandles": 5,
        "steps": [{"at": {"type": "risk_reward", "ratio": 1}, "close": 50}],
    }
    steps["positionSizing"] = {"method": "fixed_quantity", "quantity": 1}
    steps["riskParameters"].pop("stopLoss", None)
    reading = read_strategy(steps)
    assert reading.missing == ("exitConditions",)
    assert [(error.field, error.message) for error in reading.incomplete] == [
        (
            "exitConditions.stopLoss",
            "exitConditions.stopLoss is needed by exitConditions.steps risk_reward: set"
            " exitConditions.stopLoss or riskParameters.stopLoss.",
        )
    ]


def test_a_step_at_or_beyond_the_target_is_a_warning() -> None:
    exits = {
        "stopLoss": {"type": "percentage", "percentage": 1},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
        "steps": [
            {"at": {"type": "risk_reward", "ratio": 1}, "close": 50},
            {"at": {"type": "risk_reward", "ratio": 2}, "close": 25},
        ],
    }
    warned = parse(complete(exitConditions=exits)).warnings
    assert [error.field for error in warned] == ["exitConditions.steps[1]"]


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ({"type": "ATR"}, "is no price: ATR has no place on the chart."),
        (
            {"type": "SMA", "source": "volume"},
            "is no price: SMA has no place on the chart.",
        ),
        (
            {"type": "SMA", "source": {"type": "RSI"}},
            "is no price: RSI has no place on the chart.",
        ),
    ],
)
def test_a_level_is_in_the_unit_of_the_price(price: dict[str, Any], message: str) -> None:
    error = only_error(complete(exitConditions__stopLoss={"type": "level", "price": price}))
    field = "exitConditions.stopLoss.price"
    assert (error.field, error.message) == (field, f"{field} {message}")


@pytest.mark.parametrize("exit_", ["stopLoss", "takeProfit", "trailingStop"])
def test_a_level_of_both_sides_needs_a_mirror(exit_: str) -> None:
    middle = {"type": "CALC", "operator": "add", "operands": [{"type": "PRICE"}, 1]}
    level: dict[str, Any] = {"type": "level", "price": middle}
    if exit_ == "trailingStop":
        level["enabled"] = True
    steps = complete(entryConditions__positionType="both")
    steps["exitConditions"][exit_] = level
    error = only_error(steps)
    assert error.field == f"exitConditions.{exit_}.price"
    assert "has no mirror, which an algorithm of both sides needs" in error.message
    steps["entryConditions"]["positionType"] = "long"
    assert read_strategy(steps).errors == ()


def test_a_level_that_is_missing_makes_its_step_incomplete() -> None:
    for exits in (
        {"stopLoss": {"type": "level"}},
        {"takeProfit": {"type": "level"}, "stopLoss": {"type": "points", "points": 1}},
        {"trailingStop": {"type": "level", "enabled": True}, "maxHoldingCandles": 3},
    ):
        assert read_strategy(complete(exitConditions=exits)).missing == ("exitConditions",)


def test_operands_of_levels_count_for_the_warm_up() -> None:
    level = {"type": "level", "price": {"type": "MIN", "period": 250, "source": "low"}}
    assert parse(complete(exitConditions__stopLoss=level)).warmup_bars == 249
