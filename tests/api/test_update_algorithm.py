"""PUT and PATCH /api/trading/algorithms/<id>"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.configuration import STEPS
from apps.algorithms.models import Algorithm
from apps.algorithms.performance import paper_performance
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms/"
VERBS = pytest.mark.parametrize("verb", ["put", "patch"])


def send(api: Api, owner: User, algorithm: Algorithm, verb: str = "patch", **body: object) -> Any:
    return getattr(api(owner), verb)(PATH + algorithm.pk, body)


@VERBS
def test_sent_steps_are_replaced_and_absent_steps_stay(api: Api, alice: User, verb: str) -> None:
    algorithm = make.algorithm(alice, name="Old", description="kept", **make.steps())
    sizing = {"method": "fixed_quantity", "quantity": 10}
    response = send(api, alice, algorithm, verb, name="New", positionSizing=sizing)
    assert response.status_code == 200
    body = response.json()
    assert (body["name"], body["description"]) == ("New", "kept")
    assert {name: body[name] for name in make.steps()} == make.steps(positionSizing=sizing)
    assert body | api(alice).get(PATH + algorithm.pk).json() == body


def test_the_version_counts_only_changes_of_the_steps(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    changes: list[tuple[dict[str, Any], int]] = [
        ({"name": "Other", "description": "text"}, 1),
        ({"walkForwardConfig": {"windows": 5}}, 1),
        (make.steps(), 1),
        ({"positionSizing": {"method": "risk_based", "riskPercentage": 0.50}}, 1),
        ({"positionSizing": {"method": "risk_based", "riskPercentage": 2}}, 2),
        (make.steps(), 3),
        (make.steps(positionSizing={}, riskParameters={}), 4),
    ]
    for body, version in changes:
        assert send(api, alice, algorithm, **body).json()["version"] == version, body


def test_the_status_follows_the_configuration(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice)
    steps = make.steps()
    last = {"executionSettings": steps.pop("executionSettings")}
    assert send(api, alice, algorithm, **steps).json()["status"] == "draft"
    assert send(api, alice, algorithm, **last).json()["status"] == "stopped"
    assert send(api, alice, algorithm, name="Same").json()["status"] == "stopped"
    assert send(api, alice, algorithm, entryConditions={}).json()["status"] == "draft"


def test_a_failed_algorithm_keeps_its_status(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    Algorithm.objects.filter(pk=algorithm.pk).update(status="error")
    assert send(api, alice, algorithm, **make.steps()).json()["status"] == "error"


@VERBS
@pytest.mark.parametrize("status", ["active", "paused"])
def test_a_running_algorithm_cannot_be_updated(
    api: Api, alice: User, verb: str, status: str
) -> None:
    algorithm = make.algorithm(alice, name="Old", **make.steps())
    Algorithm.objects.filter(pk=algorithm.pk).update(status=status, active=status == "active")
    response = send(api, alice, algorithm, verb, name="New")
    error = assert_error(response, 403, "FORBIDDEN", algorithmId=algorithm.pk, status=status)
    assert status in error["message"]
    algorithm.refresh_from_db()
    assert algorithm.name == "Old"


@VERBS
def test_a_refused_update_changes_nothing(api: Api, alice: User, verb: str) -> None:
    algorithm = make.algorithm(alice, name="Old", **make.steps())
    before = api(alice).get(PATH + algorithm.pk).json()
    exits = {"stopLoss": {"type": "percentage", "percentage": -5}}
    response = send(api, alice, algorithm, verb, name="New", exitConditions=exits)
    field = "exitConditions.stopLoss.percentage"
    assert_error(response, 400, "VALIDATION_ERROR", field=field, value=-5)
    assert api(alice).get(PATH + algorithm.pk).json() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"descripton": "x"}, "descripton"),
        ({"entryConditions": None}, "entryConditions"),
        ({"isPublic": True}, "isPublic"),
        ({"isTemplate": None}, "isTemplate"),
    ],
)
def test_a_wrong_value_is_refused_and_named(
    api: Api, alice: User, body: dict[str, Any], field: str
) -> None:
    response = send(api, alice, make.algorithm(alice), **body)
    assert_error(response, 400, "VALIDATION_ERROR", field=field)


@VERBS
@pytest.mark.parametrize("complete", [False, True])
def test_sending_back_a_response_changes_nothing(
    api: Api, alice: User, verb: str, complete: bool
) -> None:
    steps = make.steps() if complete else make.steps(entryConditions={})
    source = make.algorithm(alice, description="text", isTemplate=True, **steps)
    copy = api(alice).post(f"{PATH}{source.pk}/clone").json()
    rows = Algorithm.objects.filter(pk=copy["id"])
    rows.update(
        performance=paper_performance.new() | {"totalTrades": 3, "profitFactor": None},
        last_execution={"timestamp": "2026-11-02T04:00:00.000Z", "status": "success"},
        walk_forward_config={"windows": 5},
        walk_forward_results=[make.kept_walk_forward()],
        monte_carlo_results=make.kept_monte_carlo(),
    )
    read = api(alice).get(PATH + copy["id"]).json()
    response = send(api, alice, rows.get(), verb, **read)
    assert response.status_code == 200
    again = response.json()
    assert (again["version"], again["status"]) == (1, "stopped" if complete else "draft")
    assert again | read | {"updatedAt": again["updatedAt"]} == again
    assert again | api(alice).get(PATH + copy["id"]).json() == again
    assert rows.get().versions.count() == rows.get().status_changes.count() == 1


@pytest.mark.parametrize("performance", [1, {"aRatioOfAnotherRelease": 2}])
def test_fields_owned_by_the_service_are_ignored(
    api: Api, alice: User, bob: User, performance: object
) -> None:
    algorithm = make.algorithm(alice, name="Mine")
    owned = {"status": "active", "active": True, "version": 99, "userId": bob.pk}
    body = send(api, alice, algorithm, **owned, performance=performance).json()
    assert (body["status"], body["active"], body["version"]) == ("draft", False, 1)
    assert body["userId"] == alice.pk


def test_a_template_may_be_public_and_no_longer_be_a_template_alone(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice)
    body = send(api, alice, algorithm, isTemplate=True, isPublic=True).json()
    assert (body["isTemplate"], body["isPublic"]) == (True, True)
    response = send(api, alice, algorithm, isTemplate=False)
    assert_error(response, 400, "VALIDATION_ERROR", field="isPublic")
    body = send(api, alice, algorithm, isTemplate=False, isPublic=False).json()
    assert (body["isTemplate"], body["isPublic"]) == (False, False)


def test_an_outdated_stored_step_does_not_refuse_a_change_of_another(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    Algorithm.objects.filter(pk=algorithm.pk).update(entry_conditions=make.OUTDATED_CONDITIONS)
    response = send(api, alice, algorithm, riskParameters=make.steps()["riskParameters"])
    assert (response.status_code, response.json()["status"]) == (200, "draft")


@pytest.mark.django_db(transaction=True)
def test_concurrent_updates_of_different_steps_all_hold() -> None:
    owner = make.user()
    algorithm = make.algorithm(owner)
    columns = STEPS

    def update(item: tuple[str, Any]) -> None:
        wire, step = item
        changes: Any = {columns[wire]: step}
        try:
            services.update(owner=owner, algorithm_id=algorithm.pk, changes=changes, now=make.NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(update, make.steps().items()))
    algorithm.refresh_from_db()
    assert algorithm.configuration == make.steps()
    assert (algorithm.status, algorithm.version, algorithm.rev) == ("stopped", 7, 7)
