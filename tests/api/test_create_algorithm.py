"""POST /api/trading/algorithms"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms"
Post = Callable[..., Any]


@pytest.fixture
def post(api: Api, alice: User) -> Post:
    client = api(alice)
    return lambda **body: client.post(PATH, body)


def test_an_empty_body_makes_a_draft_with_a_number(post: Post, alice: User) -> None:
    response = post()
    assert response.status_code == 201
    body = response.json()
    assert len(body.pop("id")) == 24
    assert body.pop("createdAt") == body.pop("updatedAt")
    assert body.pop("missingFields") == list(make.steps())
    assert "basicInfo.timeframe" in [error["field"] for error in body.pop("errors")]
    assert body.pop("warnings") == []
    zero = {
        "totalTrades": 0,
        "winningTrades": 0,
        "losingTrades": 0,
        "totalProfit": 0,
        "totalLoss": 0,
        "winRate": 0,
        "profitFactor": 0,
        "sharpeRatio": 0,
        "maxDrawdown": 0,
        "averageWin": 0,
        "averageLoss": 0,
        "netProfit": 0,
        "roi": 0,
        "maxDrawdownAmount": 0,
        "expectancy": 0,
        "riskRewardRatio": 0,
    }
    assert body == {
        "userId": alice.pk,
        "name": "Algorithm #1",
        "description": "",
        "status": "draft",
        "active": False,
        "version": 1,
        "basicInfo": {},
        "positionSizing": {},
        "entryConditions": {},
        "exitConditions": {},
        "riskParameters": {},
        "executionSettings": {},
        "performance": zero,
        "walkForwardConfig": None,
        "walkForwardResults": [],
        "monteCarloConfig": None,
        "monteCarloResults": None,
        "isTemplate": False,
        "isPublic": False,
        "clonedFrom": None,
        "lastExecution": None,
    }


def test_complete_steps_make_a_stopped_algorithm_and_return_as_sent(post: Post) -> None:
    body = post(name="Cross", description="two\nlines", **make.steps()).json()
    assert (body["status"], body["active"], body["version"]) == ("stopped", False, 1)
    assert {name: body[name] for name in make.steps()} == make.steps()
    assert (body["name"], body["description"]) == ("Cross", "two\nlines")


@pytest.mark.parametrize("step", list(make.steps()))
def test_a_missing_step_makes_a_draft(post: Post, step: str) -> None:
    assert post(**make.steps(**{step: {}})).json()["status"] == "draft"


@pytest.mark.parametrize(
    "steps",
    [
        {"basicInfo": {"timeframe": "5m"}},
        {"basicInfo": {"strategyType": "swing", "timeframe": "1d", "symbols": []}},
        {"entryConditions": {"positionType": "long", "conditions": []}},
        {"positionSizing": {}},
    ],
)
def test_a_draft_may_be_partial(post: Post, steps: dict[str, Any]) -> None:
    response = post(**make.steps(**steps))
    assert response.status_code == 201
    assert response.json()["status"] == "draft"


def test_a_step_that_needs_a_stop_loss_is_incomplete_without_one(post: Post) -> None:
    exits = {"maxHoldingCandles": 10}
    assert post(**make.steps(exitConditions=exits)).json()["status"] == "draft"
    risk = make.steps()["riskParameters"] | {"stopLoss": 1}
    steps = make.steps(exitConditions=exits, riskParameters=risk)
    assert post(**steps).json()["status"] == "stopped"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "   "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": 1}, "name"),
        ({"name": True}, "name"),
        ({"name": None}, "name"),
        ({"name": []}, "name"),
        ({"name": "a\r\nb"}, "name"),
        ({"name": "\u202eevil"}, "name"),
        ({"description": "x" * 2001}, "description"),
        ({"description": 5}, "description"),
        ({"isTemplate": "true"}, "isTemplate"),
        ({"isTemplate": 1}, "isTemplate"),
        ({"isPublic": True}, "isPublic"),
        ({"walkForwardConfig": []}, "walkForwardConfig"),
        ({"monteCarloConfig": {"a": "x" * 20_000}}, "monteCarloConfig"),
        ({"basicInfo": []}, "basicInfo"),
        ({"basicInfo": "x"}, "basicInfo"),
        ({"basicInfo": None}, "basicInfo"),
        ({"basicInfo": {"symbols": "NSE:TCS"}}, "basicInfo.symbols"),
        ({"basicInfo": {"symbols": ["NSE:TCS", 1]}}, "basicInfo.symbols[1]"),
        ({"basicInfo": {"symbols": ["nse:TCS"]}}, "basicInfo.symbols[0]"),
        ({"basicInfo": {"symbols": ["NSE:TCS", "NSE:TCS"]}}, "basicInfo.symbols"),
        ({"basicInfo": {"timeframe": "2h"}}, "basicInfo.timeframe"),
        ({"basicInfo": {"symbol": ["NSE:TCS"]}}, "basicInfo.symbol"),
        ({"riskParameters": {"maxOpenPositions": 0}}, "riskParameters.maxOpenPositions"),
        ({"riskParameters": {"maxDailyLoss": "5"}}, "riskParameters.maxDailyLoss"),
        (
            {"exitConditions": {"stopLoss": {"type": "percentage", "percentage": 0}}},
            "exitConditions.stopLoss.percentage",
        ),
        ({"executionSettings": {"mode": "yolo"}}, "executionSettings.mode"),
        ({"captial": 5}, "captial"),
    ],
)
def test_a_wrong_value_is_refused_and_named(post: Post, body: dict[str, Any], field: str) -> None:
    assert_error(post(**body), 400, "VALIDATION_ERROR", field=field)
    assert not Algorithm.objects.exists()


def test_an_error_lists_the_allowed_values(post: Post) -> None:
    error = assert_error(post(basicInfo={"strategyType": "hodl"}), 400, "VALIDATION_ERROR")
    assert error["details"]["value"] == "hodl"
    assert "momentum" in error["details"]["allowedValues"]


def test_a_null_inside_a_step_is_shown_as_sent(post: Post) -> None:
    error = assert_error(post(basicInfo={"timeframe": None}), 400, "VALIDATION_ERROR")
    assert error["details"]["value"] is None
    assert error["details"]["allowedValues"]


def test_several_errors_are_returned_at_once(post: Post) -> None:
    conditions = [{"type": "indicator_value", "indicator": {"type": "RSI", "period": "14"}}]
    steps = {
        "entryConditions": {"positionType": "sideways", "conditions": conditions},
        "executionSettings": {"slippage": 6},
    }
    error = assert_error(post(**steps), 400, "VALIDATION_ERROR")
    assert {fault["field"] for fault in error["details"]["errors"]} == {
        "entryConditions.positionType",
        "entryConditions.conditions[0].indicator.period",
        "executionSettings.slippage",
    }


def test_a_mistyped_key_in_a_step_is_refused_with_a_suggestion(post: Post) -> None:
    response = post(exitConditions={"stoploss": {"type": "percentage", "percentage": 1}})
    error = assert_error(response, 400, "VALIDATION_ERROR", field="exitConditions.stoploss")
    assert "did you mean stopLoss?" in error["message"]


@pytest.mark.parametrize(
    ("key", "meant"), [("entryCondition", "entryConditions"), ("descripton", "description")]
)
def test_a_mistyped_key_at_the_top_is_refused_with_a_suggestion(
    post: Post, key: str, meant: str
) -> None:
    error = assert_error(post(**{key: {}}), 400, "VALIDATION_ERROR", field=key)
    assert f"did you mean {meant}?" in error["message"]
    assert meant in error["details"]["allowedValues"]


def test_the_longest_allowed_text_is_accepted(post: Post) -> None:
    basic = make.steps()["basicInfo"] | {"symbols": [f"NSE:A{n}" for n in range(50)]}
    body = post(name="x" * 100, description="x" * 2000, basicInfo=basic).json()
    assert (len(body["name"]), len(body["description"])) == (100, 2000)
    assert body["basicInfo"] == basic


def test_more_than_fifty_symbols_are_refused(post: Post) -> None:
    basic = make.steps()["basicInfo"] | {"symbols": [f"NSE:A{n}" for n in range(51)]}
    assert_error(post(basicInfo=basic), 400, "VALIDATION_ERROR", field="basicInfo.symbols")


def test_ten_thousand_unknown_keys_are_refused_in_a_short_answer(post: Post) -> None:
    keys = {f"key{n}": n for n in range(10_000)}
    for response in (post(exitConditions=keys), post(**keys)):
        error = assert_error(response, 400, "VALIDATION_ERROR")
        assert len(error["details"]["errors"]) == 100


@pytest.mark.parametrize("step", [None, "basicInfo", "exitConditions"])
def test_a_very_long_key_is_shown_by_its_beginning(post: Post, step: str | None) -> None:
    wrong = {"k" * 50_000: 1}
    response = post(**({step: wrong} if step else wrong))
    error = assert_error(response, 400, "VALIDATION_ERROR", value=1)
    assert error["details"]["field"].startswith(f"{step}.kkk" if step else "kkk")
    assert error["details"]["field"].endswith("k…")
    assert len(response.content) < 2_000


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("x" * 5_000, "x" * 100 + "…"),
        ([0] * 5_000, "list of 5000"),
        ({f"key{n}": n for n in range(5_000)}, "dict of 5000"),
    ],
)
def test_a_large_value_is_shortened_in_the_error(post: Post, sent: object, message: object) -> None:
    field = "riskParameters.maxDailyLoss"
    response = post(riskParameters={"maxDailyLoss": sent})
    assert_error(response, 400, "VALIDATION_ERROR", field=field, value=message)


def test_fields_owned_by_the_service_are_ignored(post: Post, bob: User) -> None:
    first = post(name="Mine", **make.steps()).json()
    assert first["status"] == "stopped"
    again = post(**first | {"userId": bob.pk, "status": "active", "active": True, "version": 9})
    assert again.status_code == 201
    second = again.json()
    assert second["id"] != first["id"]
    for name in ("userId", "status", "active", "version", "performance"):
        assert second[name] == first[name]


def test_null_for_an_optional_field_is_absent(post: Post) -> None:
    body = post(description=None, walkForwardConfig=None, monteCarloConfig=None).json()
    assert (body["description"], body["walkForwardConfig"]) == ("", None)


def test_free_objects_keep_any_keys(post: Post) -> None:
    config = {"windows": 5, "anything": {"at": ["all"]}}
    assert post(walkForwardConfig=config).json()["walkForwardConfig"] == config


def test_a_name_is_returned_in_its_normal_form(post: Post) -> None:
    for name in ("<script>alert(1)</script>", "Robert'); DROP TABLE x;--", "%s%n{0}", "🚀" * 100):
        assert post(name=name).json()["name"] == name
    assert post(name="e\u0301").json()["name"] == "é"


def test_numbers_continue_after_the_highest_ever(api: Api, alice: User, bob: User) -> None:
    client = api(alice)
    names = [client.post(PATH, {}).json()["name"] for _ in range(2)]
    assert names == ["Algorithm #1", "Algorithm #2"]
    client.post(PATH, {"name": "Algorithm #7"})
    eighth = client.post(PATH, {}).json()
    assert eighth["name"] == "Algorithm #8"
    client.patch(f"{PATH}/{eighth['id']}", {"name": "Renamed"})
    client.delete(f"{PATH}/{eighth['id']}")
    assert client.post(PATH, {}).json()["name"] == "Algorithm #9"
    assert api(bob).post(PATH, {}).json()["name"] == "Algorithm #1"


def test_a_repeated_request_makes_one_algorithm(api: Api, alice: User) -> None:
    client = api(alice)
    first, again = (client.post(PATH, {}, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, again.content) == (201, first.content)
    assert Algorithm.objects.count() == 1


def test_an_anonymous_caller_is_refused(api: Api) -> None:
    assert_error(api().post(PATH, {}), 401, "UNAUTHORIZED")


@pytest.mark.django_db(transaction=True)
def test_concurrent_drafts_get_numbers_of_their_own() -> None:
    owner = make.user()

    def create(_: int) -> str:
        try:
            return services.create(owner=owner, changes={}, now=make.NOW).name
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(create, range(24)))
    assert names == {f"Algorithm #{n}" for n in range(1, 25)}


def test_a_client_that_does_not_accept_json_gets_an_error(api: Api, alice: User) -> None:
    client: APIClient = api(alice)
    response = client.post(PATH, "name=x", content_type="application/x-www-form-urlencoded")
    assert_error(response, 415, "VALIDATION_ERROR")
