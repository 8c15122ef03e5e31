"""POST /api/trading/algorithms/<id>/validate"""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.envelope import assert_error
from tests.symbols.instruments import equity, future


def validate(api: Api, owner: User, algorithm: Algorithm) -> dict[str, Any]:
    response = api(owner).post(f"/api/trading/algorithms/{algorithm.pk}/validate")
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    return body


def fields(remarks: list[dict[str, str]]) -> list[str]:
    assert all(set(remark) == {"field", "message"} and remark["message"] for remark in remarks)
    return [remark["field"] for remark in remarks]


def test_a_complete_one_is_valid(api: Api, alice: User) -> None:
    basic = make.steps()["basicInfo"] | {"symbols": ["NSE:TCS"]}
    algorithm = make.algorithm(alice, **make.steps(basicInfo=basic))
    assert validate(api, alice, algorithm) == {
        "valid": True, "missingFields": [], "errors": [], "warnings": [],
    }  # fmt: skip


def test_an_empty_draft_misses_every_step(api: Api, alice: User) -> None:
    body = validate(api, alice, make.algorithm(alice))
    assert (body["valid"], body["missingFields"]) == (False, list(make.steps()))
    assert "basicInfo.timeframe" in fields(body["errors"])


def test_the_errors_say_what_a_step_lacks(api: Api, alice: User) -> None:
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


def test_what_is_probably_not_meant_is_a_warning(api: Api, alice: User) -> None:
    risk = make.steps()["riskParameters"] | {"riskRewardRatio": 3}
    basic = make.steps()["basicInfo"] | {"symbols": ["NSE:TCS", "NSE:NIFTY24JANFUT"]}
    algorithm = make.algorithm(alice, **make.steps(riskParameters=risk, basicInfo=basic))
    body = validate(api, alice, algorithm)
    assert body["valid"] is True
    assert fields(body["warnings"]) == [
        "riskParameters.riskRewardRatio", "basicInfo.symbols[1]",
    ]  # fmt: skip
    assert "expired" in body["warnings"][1]["message"]


@pytest.mark.parametrize(
    ("time", "symbol", "told"),
    [
        ("09:15", "NSE:TCS", ["exitConditions.squareOffTime"]),
        ("09:16", "NSE:TCS", []),
        ("09:10", "MCX:GOLD26DECFUT", []),
        ("03:20", "MCX:GOLD26DECFUT", ["exitConditions.squareOffTime"]),
    ],
)
def test_a_square_off_before_the_opening_is_a_warning(
    api: Api, alice: User, time: str, symbol: str, told: list[str]
) -> None:
    """Nothing is entered from the square-off on."""
    steps = make.steps()
    steps["basicInfo"]["symbols"] = [symbol]
    steps["executionSettings"]["exchange"] = symbol.partition(":")[0]
    steps["exitConditions"]["squareOffTime"] = time
    warnings = validate(api, alice, make.algorithm(alice, **steps))["warnings"]
    assert [one["field"] for one in warnings if "square" in one["field"]] == told
    assert all(f"{symbol} opens at" in one["message"] for one in warnings if told)


def test_a_square_off_is_held_against_an_ordinary_session(alice: User) -> None:
    """On 2026-11-24, a holiday, MCX opened at 17:00; on other days it opens at 09:00."""
    steps = make.steps()
    steps["basicInfo"]["symbols"] = ["MCX:GOLD26DECFUT"]
    steps["executionSettings"]["exchange"] = "MCX"
    steps["exitConditions"]["squareOffTime"] = "09:10"
    algorithm = make.algorithm(alice, **steps)
    review = services.validate(
        owner=alice, algorithm_id=algorithm.pk, now=datetime(2026, 11, 24, 6, tzinfo=UTC)
    )
    assert [warning.field for warning in review.warnings] == []


@pytest.mark.parametrize(("quantity", "told"), [(74, True), (75, False), (100, False)])
def test_less_than_a_lot_is_a_warning(api: Api, alice: User, quantity: int, told: bool) -> None:
    future("NSE:NIFTY27JANFUT", expiry=date(2027, 1, 26), lot_size=75)
    equity("NSE:TCS")
    steps = make.steps(positionSizing={"method": "fixed_quantity", "quantity": quantity})
    steps["basicInfo"]["symbols"] = ["NSE:NIFTY27JANFUT", "NSE:TCS"]
    warnings = validate(api, alice, make.algorithm(alice, **steps))["warnings"]
    assert [one["field"] for one in warnings] == ["positionSizing.quantity"] * told
    assert all("NSE:NIFTY27JANFUT" in one["message"] for one in warnings)
    assert all("lots of 75" in one["message"] for one in warnings)


def test_an_exchange_of_no_symbol_is_a_warning(api: Api, alice: User) -> None:
    steps = make.steps()
    steps["basicInfo"]["symbols"] = ["NSE:TCS", "BSE:TCS"]
    for exchange, told in (("BSE", []), ("MCX", ["executionSettings.exchange"])):
        steps["executionSettings"]["exchange"] = exchange
        body = validate(api, alice, make.algorithm(alice, **steps))
        assert fields(body["warnings"]) == told


def test_it_changes_nothing(api: Api, alice: User) -> None:
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
    """What is judged is what is stored: a client that sends steps expects another answer."""
    path = f"/api/trading/algorithms/{make.algorithm(alice).pk}/validate"
    response = api(alice).post(path, {"basicInfo": {"timeframe": "1d"}})
    assert_error(response, 400, "VALIDATION_ERROR", field="basicInfo")
