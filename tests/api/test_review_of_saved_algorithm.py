"""POST, PUT and PATCH of an algorithm answer with its missing parts and warnings."""

from datetime import date
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.algorithms import services
from tests import make
from tests.conftest import Api
from tests.symbols.instruments import equity, future

PATH = "/api/trading/algorithms"
FUTURE = "NSE:NIFTY99JANFUT"
RSI_ABOVE_160 = {
    "type": "indicator_value",
    "indicator": {"type": "RSI"},
    "operator": "above",
    "value": 160,
}
TARGET = {"takeProfit": {"type": "percentage", "percentage": 2}}

LACKING = [
    ({"exitConditions": {}}, "exitConditions", "exitConditions", "at least one"),
    ({"exitConditions": TARGET}, "exitConditions", "exitConditions.stopLoss", "needs a stop loss"),
    (
        {"positionSizing": {"method": "risk_based"}},
        "positionSizing",
        "positionSizing.riskPercentage",
        "required",
    ),
]
"""What is sent, the step that is incomplete, the field and what is said of it."""

DOUBTFUL = [
    (
        {
            "positionSizing": {"method": "fixed_quantity", "quantity": 10},
            "basicInfo": {"symbols": [FUTURE]},
        },
        "positionSizing.quantity",
        "lots of 75",
    ),
    ({"executionSettings": {"exchange": "BSE"}}, "executionSettings.exchange", "BSE"),
    ({"executionSettings": {"broker": "zerodhaa"}}, "executionSettings.broker", "zerodhaa"),
    ({"exitConditions": {"squareOffTime": "15:45"}}, "exitConditions.squareOffTime", "closes at"),
    (
        {"entryConditions": {"conditions": [RSI_ABOVE_160]}},
        "entryConditions.conditions[0].value",
        "above 160 is never true",
    ),
    ({"basicInfo": {"timeframe": "1d"}}, "entryConditions.positionType", "sold short in delivery"),
]
"""What is sent, by step and merged into it; the field of the warning and what it says."""
REVIEW = ("missingFields", "errors", "warnings")


@pytest.fixture(autouse=True)
def masters(db: None) -> None:
    equity("NSE:TCS", sample=False)
    future(FUTURE, expiry=date(2099, 1, 29), lot_size=75, sample=False)


def steps_with(changes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return complete steps; a change is merged into its step, another method of sizing replaces
    it.
    """
    steps = make.steps()
    steps["basicInfo"]["symbols"] = ["NSE:TCS"]
    merged = {name: step | changes.get(name, {}) for name, step in steps.items()}
    return merged | {name: step for name, step in changes.items() if "method" in step}


@pytest.mark.parametrize(("step", "missing", "field", "message"), LACKING)
@pytest.mark.parametrize("verb", ["post", "put", "patch"])
def test_a_response_lists_the_missing_fields(
    api: Api,
    alice: User,
    *,
    verb: str,
    step: dict[str, Any],
    missing: str,
    field: str,
    message: str,
) -> None:
    body = save(api, alice, verb, steps_with({}) | step)
    assert (body["status"], body["missingFields"], body["warnings"]) == ("draft", [missing], [])
    messages = {error["field"]: error["message"] for error in body["errors"]}
    assert message in messages[field]


@pytest.mark.parametrize(("changes", "field", "message"), DOUBTFUL)
@pytest.mark.parametrize("verb", ["post", "put", "patch"])
def test_a_response_warns_of_probable_mistakes(
    api: Api, alice: User, *, verb: str, changes: dict[str, Any], field: str, message: str
) -> None:
    body = save(api, alice, verb, steps_with(changes))
    assert (body["status"], body["missingFields"], body["errors"]) == ("stopped", [], [])
    (warning,) = body["warnings"]
    assert warning["field"] == field
    assert message in warning["message"]
    answer = api(alice).post(f"{PATH}/{body['id']}/validate").json()
    assert {key: answer[key] for key in REVIEW} == {key: body[key] for key in REVIEW}


def save(api: Api, owner: User, verb: str, steps: dict[str, Any]) -> dict[str, Any]:
    path = PATH if verb == "post" else f"{PATH}/{make.algorithm(owner).pk}"
    response = getattr(api(owner), verb)(path, steps)
    assert response.status_code == (201 if verb == "post" else 200)
    body: dict[str, Any] = response.json()
    return body


def test_a_copy_is_reviewed_too(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **steps_with({"exitConditions": {"squareOffTime": "15:45"}}))
    body = api(alice).post(f"{PATH}/{algorithm.pk}/clone").json()
    assert [warning["field"] for warning in body["warnings"]] == ["exitConditions.squareOffTime"]


def test_a_response_can_be_sent_back(api: Api, alice: User) -> None:
    body = save(api, alice, "post", steps_with({}))
    assert api(alice).put(f"{PATH}/{body['id']}", body).status_code == 200


def test_the_number_of_queries_does_not_grow_with_the_symbols(api: Api, alice: User) -> None:
    """The features that query the database: a square-off, a fixed quantity, a broker."""
    changes: dict[str, dict[str, Any]] = {
        "positionSizing": {"method": "fixed_quantity", "quantity": 10},
        "exitConditions": {"squareOffTime": "15:00"},
        "executionSettings": {"broker": "zerodha"},
    }
    client = api(alice)
    counts: list[int] = []
    for many in (1, 50):
        symbols = [f"NSE:SHARE{index}" for index in range(many)]
        steps = steps_with({**changes, "basicInfo": {"symbols": symbols}})
        for symbol in symbols[len(counts) :]:
            equity(symbol, sample=False)
        with CaptureQueriesContext(connection) as queries:
            assert client.post(PATH, steps).json()["warnings"] == []
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_review_takes_three_queries_with_unknown_symbols_too(alice: User) -> None:
    """The queries: the edition, the symbols with their masters, and symbols with derivatives."""
    steps = steps_with({"exitConditions": {"squareOffTime": "15:00"}})
    algorithm = make.algorithm(alice, **steps)
    counts = []
    for unknown in ([], ["NSE:UNHEARDOF"]):
        algorithm.basic_info["symbols"] += unknown
        with CaptureQueriesContext(connection) as queries:
            services.review(algorithm=algorithm, now=make.NOW)
        counts.append(len(queries))
    assert counts == [3, 3]
