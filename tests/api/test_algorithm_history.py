"""GET /api/trading/algorithms/<id>/history"""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.lifecycle import AlgorithmTransition
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms"


def history(api: Api, owner: User, algorithm_id: str, **query: Any) -> list[dict[str, Any]]:
    response = api(owner).get(f"{PATH}/{algorithm_id}/history", query)
    assert response.status_code == 200
    data: list[dict[str, Any]] = response.json()["data"]
    return data


def test_history_gives_the_actor_both_states_the_reason_and_the_time(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    for transition, actor, reason, hour in (
        (AlgorithmTransition.START, alice, "started", 5),
        (AlgorithmTransition.FAIL, None, "no bars", 6),
    ):
        services.change_status(
            algorithm=algorithm,
            transition=transition,
            actor=actor,
            reason=reason,
            now=make.NOW.replace(hour=hour),
        )
    assert api(alice).get(f"{PATH}/{algorithm.pk}/history").json() == {
        "data": [
            {
                "from": "active",
                "to": "error",
                "by": "system",
                "reason": "no bars",
                "at": "2026-11-02T06:00:00.000Z",
            },
            {
                "from": "stopped",
                "to": "active",
                "by": alice.pk,
                "reason": "started",
                "at": "2026-11-02T05:00:00.000Z",
            },
            {
                "from": None,
                "to": "stopped",
                "by": alice.pk,
                "reason": "created",
                "at": "2026-11-02T04:00:00.000Z",
            },
        ],
        "pagination": {"page": 1, "limit": 20, "total": 3, "totalPages": 1},
    }


def test_saves_that_complete_and_reopen_are_in_it_and_others_are_not(api: Api, alice: User) -> None:
    client = api(alice)
    algorithm_id = client.post(PATH, {}).json()["id"]
    body: Any
    for body in (
        {"name": "Other"},
        make.steps(),
        {"description": "text"},
        make.steps(),
        {"entryConditions": {}},
        {"entryConditions": {}},
    ):
        assert client.put(f"{PATH}/{algorithm_id}", body).status_code == 200
    rows = history(api, alice, algorithm_id)
    assert [(row["from"], row["to"], row["reason"]) for row in rows] == [
        ("stopped", "draft", "a step is incomplete"),
        ("draft", "stopped", "all steps are complete"),
        (None, "draft", "created"),
    ]


def test_a_refused_save_is_not_in_the_history(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice)
    body = make.steps(riskParameters={"maxDailyLoss": -1})
    assert api(alice).put(f"{PATH}/{algorithm.pk}", body).status_code == 400
    assert len(history(api, alice, algorithm.pk)) == 1


def test_the_history_of_a_copy_begins_with_its_origin(api: Api, alice: User) -> None:
    source = make.algorithm(alice)
    copy = api(alice).post(f"{PATH}/{source.pk}/clone").json()
    [row] = history(api, alice, copy["id"])
    assert (row["from"], row["to"]) == (None, "draft")
    assert row["reason"] == f"cloned from {source.pk}"


def test_archiving_is_recorded_though_its_owner_no_longer_sees_it(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice)
    assert api(alice).delete(f"{PATH}/{algorithm.pk}").status_code == 204
    last = algorithm.status_changes.latest("id")
    assert (last.before, last.after, last.actor, last.reason) == (
        "draft",
        "archived",
        alice.pk,
        "deleted",
    )
    response = api(alice).get(f"{PATH}/{algorithm.pk}/history")
    assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=algorithm.pk)


def test_the_last_row_gives_the_current_status(api: Api, alice: User) -> None:
    client = api(alice)
    for body in ({}, make.steps()):
        made = client.post(PATH, body).json()
        assert history(api, alice, made["id"])[0]["to"] == made["status"]
        changed = client.patch(f"{PATH}/{made['id']}", make.steps(basicInfo={})).json()
        assert history(api, alice, made["id"])[0]["to"] == changed["status"] == "draft"


def test_pages(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    for transition in (
        AlgorithmTransition.START,
        AlgorithmTransition.PAUSE,
        AlgorithmTransition.RESUME,
        AlgorithmTransition.STOP,
    ):
        services.change_status(
            algorithm=algorithm, transition=transition, actor=alice, reason="", now=make.NOW
        )
    rows = history(api, alice, algorithm.pk, limit=2, page=2)
    assert [(row["from"], row["to"]) for row in rows] == [
        ("active", "paused"),
        ("stopped", "active"),
    ]
    assert history(api, alice, algorithm.pk, page=9) == []


@pytest.mark.parametrize("query", ["page=0", "limit=101", "page=1&page=2"])
def test_a_query_outside_its_set_is_refused(api: Api, alice: User, query: str) -> None:
    response = api(alice).get(f"{PATH}/{make.algorithm(alice).pk}/history?{query}")
    assert_error(response, 400, "VALIDATION_ERROR", field=query.partition("=")[0])


@pytest.mark.parametrize("algorithm_id", ["x", "0" * 24, "A" * 24, "%00", "theirs"])
def test_another_users_algorithm_is_not_found(
    api: Api, alice: User, bob: User, algorithm_id: str
) -> None:
    wanted = make.algorithm(alice).pk if algorithm_id == "theirs" else algorithm_id
    response = api(bob).get(f"{PATH}/{wanted}/history")
    assert_error(response, 404, "ALGORITHM_NOT_FOUND")


def test_a_list_takes_as_many_queries_however_long(api: Api, alice: User) -> None:
    algorithm, client = make.algorithm(alice, **make.steps()), api(alice)
    for transition in (
        AlgorithmTransition.START,
        AlgorithmTransition.PAUSE,
        AlgorithmTransition.RESUME,
    ):
        services.change_status(
            algorithm=algorithm, transition=transition, actor=alice, reason="", now=make.NOW
        )
    with CaptureQueriesContext(connection) as queries:
        client.get(f"{PATH}/{algorithm.pk}/history")
    assert len(queries) == 3  # the session with its user, the algorithm, a page that is not full
    assert Algorithm.objects.get().status == "active"
