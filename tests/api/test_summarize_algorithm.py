"""GET /api/trading/algorithms/<id>/summary and /versions/<n>/summary"""

from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.algorithms import services
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms"


def test_an_algorithm_is_summarized_step_by_step(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    body = api(alice).get(f"{PATH}/{algorithm.pk}/summary").json()
    assert (body["algorithmId"], body["version"]) == (algorithm.pk, 1)
    assert [step["step"] for step in body["steps"]] == list(make.steps())
    assert all(step["isComplete"] for step in body["steps"])
    fields = {sentence["field"] for step in body["steps"] for sentence in step["sentences"]}
    assert "exitConditions.stopLoss" in fields


def test_a_draft_is_summarized_too(api: Api, alice: User) -> None:
    created = api(alice).post(PATH, {}).json()
    body = api(alice).get(f"{PATH}/{created['id']}/summary").json()
    assert not any(step["isComplete"] for step in body["steps"])
    assert all(step["sentences"] for step in body["steps"])


def test_a_version_lists_its_changes_since_another_one(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    services.update(
        owner=alice,
        algorithm_id=algorithm.pk,
        changes={"position_sizing": {"method": "fixed_quantity", "quantity": 7}},
        now=make.NOW + timedelta(hours=1),
    )
    client, path = api(alice), f"{PATH}/{algorithm.pk}/versions"
    plain = client.get(f"{path}/2/summary").json()
    assert (plain["version"], plain["since"], plain["changes"]) == (2, None, [])
    since = client.get(f"{path}/2/summary?since=1").json()
    assert since["steps"] == plain["steps"]
    [change] = since["changes"]
    assert change["field"] == "positionSizing.method"
    assert change["after"] == ["Each entry is 7 units, in whole lots."]
    back = client.get(f"{path}/1/summary?since=2").json()
    assert back["changes"] == [
        {"field": change["field"], "before": change["after"], "after": change["before"]}
    ]
    assert client.get(f"{path}/2/summary?since=2").json()["changes"] == []


@pytest.mark.parametrize("number", [0, 2, 10**30])
def test_an_unknown_version_is_not_found(api: Api, alice: User, number: int) -> None:
    algorithm = make.algorithm(alice)
    path = f"{PATH}/{algorithm.pk}/versions/{number}/summary"
    assert_error(api(alice).get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize("since", ["2", "0", "x", "9" * 30])
def test_a_comparison_with_no_version_is_refused(api: Api, alice: User, since: str) -> None:
    algorithm = make.algorithm(alice)
    response = api(alice).get(f"{PATH}/{algorithm.pk}/versions/1/summary?since={since}")
    assert_error(response, 400, "VALIDATION_ERROR", field="since")
