"""POST /api/trading/algorithms/<id>/validate"""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.core.errors import Fault
from apps.symbols.models import Type
from tests import make
from tests.backtests.price_series import wave_candles
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles
from tests.symbols.instruments import equity, future


def validate(api: Api, owner: User, algorithm: Algorithm) -> dict[str, Any]:
    response = api(owner).post(f"/api/trading/algorithms/{algorithm.pk}/validate")
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    return body


def fields(issues: list[dict[str, str]]) -> list[str]:
    assert all(set(issue) == {"field", "message"} and issue["message"] for issue in issues)
    return [issue["field"] for issue in issues]


def test_a_complete_algorithm_is_valid(api: Api, alice: User) -> None:
    basic = make.steps()["basicInfo"] | {"symbols": ["NSE:TCS"]}
    algorithm = make.algorithm(alice, **make.steps(basicInfo=basic))
    review = validate(api, alice, algorithm)
    assert [coverage["symbol"] for coverage in review.pop("coverage")] == ["NSE:TCS"]
    assert review == {"valid": True, "missingFields": [], "errors": [], "warnings": []}


def test_an_empty_draft_misses_every_step(api: Api, alice: User) -> None:
    body = validate(api, alice, make.algorithm(alice))
    assert (body["valid"], body["missingFields"]) == (False, list(make.steps()))
    assert "basicInfo.timeframe" in fields(body["errors"])


def test_errors_name_the_missing_fields_of_a_step(api: Api, alice: User) -> None:
    steps = make.steps(basicInfo={"strategyType": "swing", "timeframe": "1d", "symbols": []})
    body = validate(api, alice, make.algorithm(alice, **steps))
    assert body["missingFields"] == ["basicInfo"]
    assert fields(body["errors"]) == ["basicInfo.symbols"]


def test_stored_values_that_rules_have_left_behind_are_errors(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    stored = make.steps()["basicInfo"] | {"timeframe": "7m"}
    Algorithm.objects.filter(pk=algorithm.pk).update(basic_info=stored)
    body = validate(api, alice, algorithm)
    assert (body["valid"], fields(body["errors"])) == (False, ["basicInfo.timeframe"])
    assert body["missingFields"] == ["basicInfo"], "as a start would say"


def test_a_probable_mistake_is_a_warning(api: Api, alice: User) -> None:
    risk = make.steps()["riskParameters"] | {"riskRewardRatio": 3}
    basic = make.steps()["basicInfo"] | {"symbols": ["NSE:TCS", "NSE:NIFTY24JANFUT"]}
    algorithm = make.algorithm(alice, **make.steps(riskParameters=risk, basicInfo=basic))
    body = validate(api, alice, algorithm)
    assert body["valid"] is True
    assert fields(body["warnings"]) == ["riskParameters.riskRewardRatio", "basicInfo.symbols[1]"]
    assert "expired" in body["warnings"][1]["message"]


def warnings_at(now: datetime, owner: User, steps: dict[str, Any]) -> list[Fault]:
    algorithm = make.algorithm(owner, **steps)
    return list(services.review(algorithm=algorithm, now=now).warnings)


ORDINARY_DAY = datetime(2026, 11, 19, 6, tzinfo=UTC)
HOLIDAY = datetime(2026, 11, 24, 6, tzinfo=UTC)
"""On which MCX opened at 17:00; on other days it opens at 09:00."""


@pytest.mark.parametrize("now", [ORDINARY_DAY, HOLIDAY])
@pytest.mark.parametrize(
    ("time", "symbol", "timeframe", "expected"),
    [
        ("09:15", "NSE:TCS", "15m", "NSE:TCS opens at 09:15"),
        ("09:16", "NSE:TCS", "15m", None),
        ("15:00", "NSE:TCS", "15m", None),
        ("15:01", "NSE:TCS", "15m", "The last 15m candle of NSE:TCS starts at 15:00"),
        ("15:14", "NSE:TCS", "1m", None),
        ("15:15", "NSE:TCS", "1m", "NSE:TCS closes at 15:15"),
        ("16:00", "NSE:TCS", "15m", "NSE:TCS closes at 15:15"),
        ("16:00", "NSE:TCS", "1d", "no effect"),
        ("09:10", "MCX:GOLD26DECFUT", "5m", None),
        ("03:20", "MCX:GOLD26DECFUT", "5m", "MCX:GOLD26DECFUT opens at 09:00"),
        ("23:45", "MCX:GOLD26DECFUT", "5m", None),
        ("23:55", "MCX:GOLD26DECFUT", "5m", "MCX:GOLD26DECFUT closes at 23:55"),
    ],
)
def test_a_square_off_outside_an_ordinary_session_is_a_warning(
    alice: User, *, now: datetime, time: str, symbol: str, timeframe: str, expected: str | None
) -> None:
    """Entries stop at the square-off, and after the close there is no candle for it."""
    steps = make.steps()
    steps["basicInfo"] |= {"symbols": [symbol], "timeframe": timeframe}
    steps["entryConditions"]["positionType"] = "long"
    steps["executionSettings"] |= {"exchange": symbol.partition(":")[0], "productType": "delivery"}
    steps["exitConditions"]["squareOffTime"] = time
    warnings = warnings_at(now, alice, steps)
    assert [warning.field for warning in warnings] == ["exitConditions.squareOffTime"] * bool(
        expected
    )
    assert all(str(expected) in warning.message for warning in warnings)


@pytest.mark.parametrize(
    ("window", "execution", "square_off", "expected"),
    [
        (("15:00", "15:15"), {}, None, "filled before the square-off at 15:00"),
        (("14:45", "15:15"), {}, None, "filled before the square-off at 15:00"),
        (("14:30", "15:15"), {}, None, None),
        (("15:00", "15:15"), {"productType": "delivery"}, None, "last candle, 15:00, is the"),
        (("14:30", "15:15"), {"productType": "delivery"}, None, "end the window at 15:00."),
        (("14:15", "15:15"), {"productType": "delivery"}, None, None),
        (("14:30", "15:00"), {"productType": "delivery"}, None, None),
        (("14:00", "15:15"), {}, "14:15", "filled before the square-off at 14:15"),
        (("14:00", "15:15"), {}, "14:30", None),
        (("03:00", "04:00"), {}, None, None),
    ],
)
def test_hours_without_a_candle_for_an_entry_are_a_warning(
    alice: User,
    *,
    window: tuple[str, str],
    execution: dict[str, str],
    square_off: str | None,
    expected: str | None,
) -> None:
    steps = make.steps()
    steps["basicInfo"] |= {"symbols": ["NSE:TCS"], "timeframe": "15m"}
    hours = {"type": "time_window", "from": window[0], "to": window[1]}
    group = {"type": "group", "logicalOperator": "AND", "conditions": [hours]}
    steps["entryConditions"] = {"positionType": "long", "conditions": [group]}
    steps["executionSettings"] |= execution
    if square_off:
        steps["exitConditions"]["squareOffTime"] = square_off
    warnings = warnings_at(ORDINARY_DAY, alice, steps)
    path = "entryConditions.conditions[0].conditions[0]"
    assert [warning.field for warning in warnings] == [path] * bool(expected)
    assert all(str(expected) in warning.message for warning in warnings)


def test_a_read_symbol_without_candles_is_a_warning(alice: User) -> None:
    steps = make.steps()
    steps["basicInfo"] |= {"symbols": ["NSE:TCS"], "timeframe": "15m"}
    vix = {"type": "SMA", "on": "NSE:INDIAVIX", "timeframe": "75m"}
    condition = {"type": "indicator_value", "indicator": vix, "operator": "below", "value": 15}
    steps["entryConditions"] = {"positionType": "long", "conditions": [condition]}
    (warning,) = warnings_at(ORDINARY_DAY, alice, steps)
    assert (warning.field, warning.message) == (
        "entryConditions.conditions[0].indicator",
        "No candles of NSE:INDIAVIX are stored that make 75m: load them first.",
    )
    store_candles("NSE:INDIAVIX", "30m", wave_candles("2024-02-01", 3))
    assert len(warnings_at(ORDINARY_DAY, alice, steps)) == 1
    store_candles("NSE:INDIAVIX", "15m", wave_candles("2024-02-01", 3))
    assert warnings_at(ORDINARY_DAY, alice, steps) == []


@pytest.mark.parametrize(("quantity", "expected"), [(74, True), (75, False), (100, False)])
def test_less_than_a_lot_is_a_warning(alice: User, quantity: int, expected: bool) -> None:
    future("NSE:NIFTY27JANFUT", expiry=date(2027, 1, 26), lot_size=75)
    equity("NSE:TCS")
    steps = make.steps(positionSizing={"method": "fixed_quantity", "quantity": quantity})
    steps["basicInfo"]["symbols"] = ["NSE:NIFTY27JANFUT", "NSE:TCS"]
    warnings = warnings_at(ORDINARY_DAY, alice, steps)
    assert [warning.field for warning in warnings] == ["positionSizing.quantity"] * expected
    assert all("NSE:NIFTY27JANFUT comes in lots of 75" in warning.message for warning in warnings)


@pytest.mark.parametrize(
    ("sizing", "stops", "expected"),
    [
        (
            {"method": "risk_based", "riskPercentage": 1},
            {"exit": 0.5},
            "A risk of 1 % of the initial capital of ₹10,00,000 at a stop of 0.5 % asks for"
            " ₹20,00,000, and maxPositionSize allows ₹5,00,000: an entry risks 0.25 % at most."
            " Lower riskPercentage or raise maxPositionSize.",
        ),
        ({"method": "risk_based", "riskPercentage": 0.25}, {"exit": 0.5}, None),
        ({"method": "risk_based", "riskPercentage": 0.5}, {"exit": 2, "risk": 0.9}, "₹5,55,556"),
        ({"method": "risk_based", "riskPercentage": 0.5}, {"exit": 0.9, "risk": 2}, "₹5,55,556"),
        ({"method": "risk_based", "riskPercentage": 0.5}, {"risk": 0.9}, "₹5,55,556"),
        ({"method": "risk_based", "riskPercentage": 50}, {"points": 5}, None),
        ({"method": "risk_based", "riskPercentage": 50}, {"points": 5, "risk": 2}, "₹2,50,00,000"),
        ({"method": "volatility_based", "riskPercentage": 50}, {"exit": 1}, None),
        ({"method": "fixed_quantity", "quantity": 10**9}, {"exit": 1}, None),
        (
            {"method": "percentage_of_equity", "percentage": 80},
            {},
            "An entry of 80 % of the initial capital of ₹10,00,000 asks for ₹8,00,000, and"
            " maxPositionSize allows ₹5,00,000: an entry is 50 % at most. Lower percentage or raise"
            " maxPositionSize.",
        ),
        ({"method": "percentage_of_equity", "percentage": 50}, {}, None),
        (
            {"method": "fixed_amount", "amount": 500_001},
            {},
            "An entry asks for ₹5,00,001, and maxPositionSize allows ₹5,00,000: each is cut to"
            " that. Lower amount or raise maxPositionSize.",
        ),
        ({"method": "fixed_amount", "amount": 500_000}, {}, None),
    ],
)
def test_a_size_that_its_limit_always_cuts_is_a_warning(
    alice: User, sizing: dict[str, Any], stops: dict[str, float], expected: str | None
) -> None:
    equity("NSE:TCS")
    steps = make.steps(positionSizing=sizing, exitConditions={"maxHoldingCandles": 9})
    steps["basicInfo"]["symbols"] = ["NSE:TCS"]
    if "exit" in stops:
        stop = {"type": "percentage", "percentage": stops["exit"]}
        steps["exitConditions"]["stopLoss"] = stop
    elif "points" in stops:
        steps["exitConditions"]["stopLoss"] = {"type": "points", "points": stops["points"]}
    if "risk" in stops:
        steps["riskParameters"]["stopLoss"] = stops["risk"]
    warnings = warnings_at(ORDINARY_DAY, alice, steps)
    field = f"positionSizing.{list(sizing)[1]}"
    assert [warning.field for warning in warnings] == [field] * bool(expected)
    assert all(str(expected) in warning.message for warning in warnings)


@pytest.mark.parametrize(("percentage", "expected"), [(0.29, False), (0.291, True)])
def test_a_size_of_just_its_limit_in_decimals_is_enough(
    alice: User, percentage: float, expected: bool
) -> None:
    """1,000,000 * 0.29 / 0.58 is 500000.00000000006."""
    equity("NSE:TCS")
    steps = make.steps(positionSizing={"method": "risk_based", "riskPercentage": percentage})
    steps["basicInfo"]["symbols"] = ["NSE:TCS"]
    steps["exitConditions"]["stopLoss"]["percentage"] = 0.58
    assert bool(warnings_at(ORDINARY_DAY, alice, steps)) == expected


@pytest.mark.parametrize(
    ("broker", "charges", "expected"),
    [("zerodhaa", "standard", True), ("zerodhaa", "none", False), ("Zerodha ", "standard", False)],
)
def test_a_broker_whose_prices_are_unknown_is_a_warning(
    alice: User, broker: str, charges: str, expected: bool
) -> None:
    steps = make.steps()
    steps["basicInfo"]["symbols"] = ["NSE:TCS"]
    steps["executionSettings"] |= {"broker": broker, "charges": charges}
    warnings = warnings_at(ORDINARY_DAY, alice, steps)
    assert [warning.field for warning in warnings] == ["executionSettings.broker"] * expected
    assert all("charged as discount" in warning.message for warning in warnings)
    assert all("Known are none, discount, zerodha" in warning.message for warning in warnings)


@pytest.mark.parametrize(
    ("position", "execution", "timeframe", "expected"),
    [
        ("short", {"productType": "delivery"}, "15m", "NSE:TCS"),
        ("both", {}, "1d", "NSE:TCS"),
        ("both", {"productType": "intraday"}, "1d", None),
        ("short", {}, "15m", None),
        ("long", {"productType": "delivery"}, "15m", None),
    ],
)
def test_a_share_sold_short_in_delivery_is_a_warning(
    alice: User, *, position: str, execution: dict[str, str], timeframe: str, expected: str | None
) -> None:
    steps = make.steps()
    steps["basicInfo"] |= {"symbols": ["NSE:TCS", "NSE:NIFTY99JANFUT"], "timeframe": timeframe}
    steps["entryConditions"]["positionType"] = position
    steps["executionSettings"] |= execution
    warnings = warnings_at(ORDINARY_DAY, alice, steps)
    assert [warning.field for warning in warnings] == ["entryConditions.positionType"] * bool(
        expected
    )
    assert all(warning.message.startswith(f"{expected} sold short") for warning in warnings)


def test_a_condition_on_the_volume_of_an_index_is_a_warning(alice: User) -> None:
    equity("NSE:NIFTY", type=Type.INDEX)
    equity("NSE:TCS")
    steps = make.steps()
    steps["basicInfo"]["symbols"] = ["NSE:NIFTY", "NSE:TCS"]
    average = {"type": "SMA", "source": "volume", "period": 5}
    volume = {
        "type": "indicator_indicator",
        "indicator1": {"type": "PRICE"},
        "operator": "above",
        "indicator2": average,
    }
    group = {"type": "group", "logicalOperator": "AND", "conditions": [volume]}
    steps["entryConditions"] = {"positionType": "long", "conditions": [group]}
    first, *further = warnings_at(ORDINARY_DAY, alice, steps)
    assert first.field == "entryConditions.conditions[0].conditions[0].indicator2"
    assert "NSE:NIFTY" in first.message
    assert "NSE:TCS" not in first.message
    assert [warning.field for warning in further] == ["basicInfo.symbols[0]"]
    steps["basicInfo"]["symbols"] = ["NSE:TCS"]
    assert warnings_at(ORDINARY_DAY, alice, steps) == []


def test_an_exchange_of_no_symbol_is_a_warning(api: Api, alice: User) -> None:
    steps = make.steps()
    steps["basicInfo"]["symbols"] = ["NSE:TCS", "BSE:TCS"]
    for exchange, expected in (("BSE", []), ("MCX", ["executionSettings.exchange"])):
        steps["executionSettings"]["exchange"] = exchange
        body = validate(api, alice, make.algorithm(alice, **steps))
        assert fields(body["warnings"]) == expected


def test_validation_changes_nothing(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    before = api(alice).get(f"/api/trading/algorithms/{algorithm.pk}").json()
    validate(api, alice, algorithm)
    assert api(alice).get(f"/api/trading/algorithms/{algorithm.pk}").json() == before


def test_any_content_type_will_do_without_a_body(api: Api, alice: User) -> None:
    path = f"/api/trading/algorithms/{make.algorithm(alice).pk}/validate"
    assert api(alice).post(path, b"", content_type="text/plain").status_code == 200


def test_a_stranger_gets_not_found(api: Api, alice: User, bob: User) -> None:
    path = f"/api/trading/algorithms/{make.algorithm(alice).pk}/validate"
    assert_error(api(bob).post(path), 404, "ALGORITHM_NOT_FOUND")


def test_steps_that_are_sent_are_refused_not_passed_over(api: Api, alice: User) -> None:
    """The check is of the stored steps: a client that sends steps expects another answer."""
    path = f"/api/trading/algorithms/{make.algorithm(alice).pk}/validate"
    response = api(alice).post(path, {"basicInfo": {"timeframe": "1d"}})
    assert_error(response, 400, "VALIDATION_ERROR", field="basicInfo")
