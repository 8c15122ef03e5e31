"""POST /api/trading/algorithms/validate"""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms.models import Algorithm, Version
from apps.core.models import AuditRecord
from tests import make
from tests.backtests.price_series import wave_candles
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

PATH = "/api/trading/algorithms/validate"


def validate(api: Api, owner: User, body: dict[str, Any]) -> dict[str, Any]:
    response = api(owner).post(PATH, body)
    assert response.status_code == 200
    review: dict[str, Any] = response.json()
    return review


def on_tcs() -> dict[str, Any]:
    return make.steps(basicInfo=make.steps()["basicInfo"] | {"symbols": ["NSE:TCS"]})


def test_complete_steps_are_valid_and_have_their_coverage(api: Api, alice: User) -> None:
    store_candles("NSE:TCS", "15m", wave_candles("2024-02-01", 3))
    review = validate(api, alice, on_tcs())
    [coverage] = review.pop("coverage")
    assert (coverage["symbol"], coverage["heldSessions"]) == ("NSE:TCS", 3)
    assert review == {"valid": True, "missingFields": [], "errors": [], "warnings": []}


def test_no_steps_miss_every_step(api: Api, alice: User) -> None:
    review = validate(api, alice, {})
    assert (review["valid"], review["missingFields"]) == (False, list(make.steps()))


def test_wrong_steps_are_findings_and_no_refusal(api: Api, alice: User) -> None:
    steps = on_tcs() | {"exitConditions": {"stopLos": {"type": "percentage", "percentage": 1}}}
    steps["basicInfo"] |= {"timeframe": "7m"}
    review = validate(api, alice, steps)
    errors = {error["field"]: error["message"] for error in review["errors"]}
    assert errors.keys() == {
        "basicInfo.timeframe",
        "exitConditions.stopLos",
        "exitConditions.stopLoss",
    }
    assert "stopLoss" in errors["exitConditions.stopLos"]
    assert review["missingFields"] == ["basicInfo", "exitConditions"]
    assert_error(api(alice).post("/api/trading/algorithms", steps), 400, "VALIDATION_ERROR")


def test_the_answer_is_that_of_the_stored_algorithm(api: Api, alice: User) -> None:
    steps = on_tcs()
    steps["riskParameters"] |= {"riskRewardRatio": 3}
    stored = make.algorithm(alice, **steps)
    answer = api(alice).post(f"/api/trading/algorithms/{stored.pk}/validate").json()
    assert answer["warnings"] != []
    assert validate(api, alice, steps) == answer


def test_an_algorithm_may_be_sent_as_it_was_read(api: Api, alice: User) -> None:
    stored = make.algorithm(alice, **on_tcs())
    body = api(alice).get(f"/api/trading/algorithms/{stored.pk}").json()
    assert validate(api, alice, body)["valid"] is True


def test_nothing_is_stored(api: Api, alice: User) -> None:
    records = AuditRecord.objects.count()
    validate(api, alice, {**on_tcs(), "name": "Not stored"})
    assert not Algorithm.objects.exists()
    assert not Version.objects.exists()
    assert AuditRecord.objects.count() == records


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"basicInf": {}}, "basicInf"),
        ({"basicInfo": []}, "basicInfo"),
        ({"name": "x" * 101}, "name"),
    ],
)
def test_a_body_of_no_algorithm_is_refused(
    api: Api, alice: User, body: dict[str, Any], field: str
) -> None:
    assert_error(api(alice).post(PATH, body), 400, "VALIDATION_ERROR", field=field)


def test_other_methods_are_refused(api: Api, alice: User) -> None:
    assert_error(api(alice).get(PATH), 405, "VALIDATION_ERROR", reason="method_not_allowed")
