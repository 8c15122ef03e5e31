"""POST /api/trading/algorithms/<id>/clone"""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.performance import paper_performance
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms"


def clone(api: Api, user: User, algorithm: Algorithm, **body: object) -> Any:
    return api(user).post(f"{PATH}/{algorithm.pk}/clone", body)


def test_a_copy_describes_the_same_and_has_done_nothing(api: Api, alice: User) -> None:
    configs: dict[str, Any] = {"walkForwardConfig": {"windows": 5}, "monteCarloConfig": {"runs": 9}}
    source = make.algorithm(alice, name="Cross", description="text", **configs, **make.steps())
    services.update(
        owner=alice, algorithm_id=source.pk, changes={"position_sizing": {}}, now=make.NOW
    )
    services.update(
        owner=alice,
        algorithm_id=source.pk,
        changes={"position_sizing": make.steps()["positionSizing"]},
        now=make.NOW,
    )
    Algorithm.objects.filter(pk=source.pk).update(
        performance=paper_performance.new() | {"totalTrades": 3},
        walk_forward_results=[{"window": 1}],
        monte_carlo_results={"ruin": 0},
        last_execution={"status": "success"},
        alerts={"winRate": {"threshold": 40, "action": "send_notification"}},
    )
    response = clone(api, alice, source)
    assert response.status_code == 201
    body = response.json()
    assert body | api(alice).get(f"{PATH}/{body['id']}").json() == body
    assert body | {"id": 0, "createdAt": 0, "updatedAt": 0} == {
        "id": 0,
        "createdAt": 0,
        "updatedAt": 0,
        "userId": alice.pk,
        "name": "Cross (copy)",
        "description": "text",
        "status": "stopped",
        "active": False,
        "version": 1,
        **make.steps(),
        "performance": paper_performance.new(),
        **configs,
        "walkForwardResults": [],
        "monteCarloResults": None,
        "isTemplate": False,
        "isPublic": False,
        "clonedFrom": source.pk,
        "lastExecution": None,
        "missingFields": [],
        "errors": [],
        "warnings": [],
    }
    copy = Algorithm.objects.get(pk=body["id"])
    assert copy.alerts == {}
    assert [row.configuration for row in copy.versions.all()] == [make.steps()]


@pytest.mark.parametrize("status", ["active", "paused", "error", "stopped"])
def test_a_copy_of_a_running_or_failed_algorithm_is_stopped(
    api: Api, alice: User, status: str
) -> None:
    source = make.algorithm(alice, **make.steps())
    Algorithm.objects.filter(pk=source.pk).update(status=status, active=status == "active")
    assert clone(api, alice, source).json()["status"] == "stopped"


def test_a_copy_of_a_draft_is_a_draft(api: Api, alice: User) -> None:
    assert clone(api, alice, make.algorithm(alice)).json()["status"] == "draft"


def test_steps_that_rules_have_left_behind_are_copied_into_a_draft(api: Api, alice: User) -> None:
    source = make.algorithm(alice, **make.steps())
    outdated = make.OUTDATED_CONDITIONS
    Algorithm.objects.filter(pk=source.pk).update(entry_conditions=outdated)
    body = clone(api, alice, source).json()
    assert (body["status"], body["entryConditions"]) == ("draft", outdated)


def test_the_original_is_unchanged(api: Api, alice: User) -> None:
    source = make.algorithm(alice, isTemplate=True, isPublic=True, **make.steps())
    before = Algorithm.objects.values().get(pk=source.pk)
    copy = clone(api, alice, source).json()
    api(alice).patch(f"{PATH}/{copy['id']}", {"basicInfo": {}})
    assert Algorithm.objects.values().get(pk=source.pk) == before


def test_a_copy_may_be_named(api: Api, alice: User) -> None:
    source = make.algorithm(alice, name="Cross")
    assert clone(api, alice, source, name="Mine").json()["name"] == "Mine"


def test_a_copy_of_a_copy_and_of_a_long_name_fits(api: Api, alice: User) -> None:
    first = clone(api, alice, make.algorithm(alice, name="x" * 100)).json()
    assert first["name"] == "x" * 93 + " (copy)"
    second = api(alice).post(f"{PATH}/{first['id']}/clone").json()
    assert second["name"] == first["name"]
    assert second["clonedFrom"] == first["id"]


def test_a_number_given_to_a_copy_counts(api: Api, alice: User) -> None:
    clone(api, alice, make.algorithm(alice), name="Algorithm #41")
    assert make.algorithm(alice).name == "Algorithm #42"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"name": 1}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"nmae": "x"}, "nmae"),
        ({"status": "active"}, "status"),
    ],
)
def test_a_wrong_body_is_refused_and_named(
    api: Api, alice: User, body: dict[str, Any], field: str
) -> None:
    response = clone(api, alice, make.algorithm(alice), **body)
    assert_error(response, 400, "VALIDATION_ERROR", field=field)
    assert Algorithm.objects.count() == 1


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "x/y"])
def test_any_content_type_will_do_without_a_body(api: Api, alice: User, kind: str) -> None:
    path = f"{PATH}/{make.algorithm(alice).pk}/clone"
    assert api(alice).post(path, b"", content_type=kind).status_code == 201


def test_a_user_can_copy_a_public_template_of_another(api: Api, alice: User, bob: User) -> None:
    template = make.algorithm(alice, name="Cross", isTemplate=True, isPublic=True, **make.steps())
    body = clone(api, bob, template).json()
    assert (body["userId"], body["name"], body["clonedFrom"]) == (
        bob.pk,
        "Cross (copy)",
        template.pk,
    )
    assert (body["isTemplate"], body["isPublic"]) == (False, False)


@pytest.mark.parametrize("flags", [{}, {"isTemplate": True}])
def test_a_private_algorithm_cannot_be_copied_by_others(
    api: Api, alice: User, bob: User, flags: dict[str, bool]
) -> None:
    private = make.algorithm(alice, **flags)
    assert_error(clone(api, bob, private), 404, "ALGORITHM_NOT_FOUND", algorithmId=private.pk)
    assert clone(api, alice, private).status_code == 201


def test_an_archived_template_is_gone_and_its_copies_stay(api: Api, alice: User, bob: User) -> None:
    template = make.algorithm(alice, isTemplate=True, isPublic=True)
    copy = clone(api, bob, template).json()
    services.archive(owner=alice, algorithm_id=template.pk, now=make.NOW)
    assert_error(clone(api, bob, template), 404, "ALGORITHM_NOT_FOUND")
    assert api(bob).get(f"{PATH}/{copy['id']}").json()["clonedFrom"] == template.pk


def test_a_request_that_is_repeated_copies_once(api: Api, alice: User) -> None:
    path, client = f"{PATH}/{make.algorithm(alice).pk}/clone", api(alice)
    first, again = (client.post(path, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, again.content) == (201, first.content)
    assert Algorithm.objects.count() == 2


@pytest.mark.parametrize("algorithm_id", ["x", "0" * 24, "A" * 24, "%00"])
def test_an_unknown_algorithm_is_not_found(api: Api, alice: User, algorithm_id: str) -> None:
    response = api(alice).post(f"{PATH}/{algorithm_id}/clone")
    assert_error(response, 404, "ALGORITHM_NOT_FOUND")


def test_a_public_template_is_read_nowhere_else(api: Api, alice: User, bob: User) -> None:
    template = make.algorithm(alice, isTemplate=True, isPublic=True, **make.steps())
    client, path = api(bob), f"{PATH}/{template.pk}"
    responses = [
        client.get(path),
        client.put(path, {}),
        client.patch(path, {}),
        client.delete(path),
        client.post(f"{path}/validate"),
        client.get(f"{path}/versions"),
        client.get(f"{path}/history"),
        client.get(f"{path}/performance"),
        client.get(f"/api/algorithms/{template.pk}/performance"),
        client.get(f"/api/algorithms/{template.pk}/performance/alerts"),
        client.put(f"/api/algorithms/{template.pk}/performance/alerts", {"alerts": {}}),
    ]
    for response in responses:
        assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=template.pk)
    assert client.get(PATH).json()["data"] == []


def test_any_copy_takes_the_same_number_of_queries(api: Api, alice: User) -> None:
    source, client = make.algorithm(alice, **make.steps()), api(alice)
    with CaptureQueriesContext(connection) as queries:
        client.post(f"{PATH}/{source.pk}/clone")
    done = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    # The session with its user, the lock and count of the quota, the source, the copy, its version,
    # its history, the record; for the review the rulebook's edition, the symbols with whether a
    # master lists their exchange, and the underlyings without derivatives.
    assert len(done) == 11
