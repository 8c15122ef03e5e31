"""POST /api/trading/algorithms/<id>/stop"""

from decimal import Decimal
from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.trading.models import Account, Run
from apps.webhooks.models import Event
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.algorithm_states import algorithm_in, hold, start, stopped_algorithm

PATH = "/api/trading/algorithms"


def post(api: Api, algorithm: Algorithm, body: object = None) -> Any:
    return api(algorithm.owner).post(f"{PATH}/{algorithm.pk}/stop", body)


@pytest.mark.parametrize("status", ["active", "paused", "error"])
def test_an_algorithm_stops_at_once(api: Api, alice: User, status: str) -> None:
    algorithm = algorithm_in(alice, status)
    response = post(api, algorithm)
    assert response.status_code == 200
    assert (response.json()["status"], response.json()["active"]) == ("stopped", False)
    shown = api(alice).get(f"{PATH}/{algorithm.pk}")
    assert (shown.json(), shown["ETag"]) == (response.json(), response["ETag"])


def test_a_stop_is_in_the_history_and_emits_an_event(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    post(api, algorithm)
    change = algorithm.status_changes.latest("id")
    assert (change.before, change.after, change.actor) == ("active", "stopped", alice.pk)
    event = Event.objects.get(sequence=2)
    assert event.type == "algorithm.stopped"
    assert event.data == {
        "algorithmId": algorithm.pk,
        "algorithmName": algorithm.name,
        "runId": Run.objects.get().pk,
        "status": "stopped",
        "previousStatus": "active",
        "reason": "stopped",
    }


def test_an_algorithm_without_positions_returns_its_capital(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    post(api, algorithm)
    assert Account.objects.get().reserved == 0
    run = Run.objects.get()
    assert run.ended_at == run.released_at is not None
    assert run.end_reason == "stopped"
    assert api(alice).post(f"{PATH}/{algorithm.pk}/start").status_code == 200


@pytest.mark.parametrize(
    ("body", "closes"),
    [
        (None, True),
        ({}, True),
        ({"closePositions": True}, True),
        ({"closePositions": False}, False),
    ],
)
def test_an_algorithm_with_positions_keeps_its_capital_until_they_are_closed(
    api: Api, alice: User, body: object, closes: bool
) -> None:
    algorithm = stopped_algorithm(alice)
    run = start(algorithm)
    hold(run)
    assert post(api, algorithm, body).json()["status"] == "stopped"
    run.refresh_from_db()
    assert run.ended_at is not None
    assert (run.released_at, run.close_requested_at is not None) == (None, closes)
    assert Account.objects.get().reserved == Decimal(1_000_000)
    again = api(alice).post(f"{PATH}/{algorithm.pk}/start")
    assert_error(again, 422, "UNPROCESSABLE_ENTITY", openPositions=1)


def test_stopping_a_failed_algorithm_with_positions_requests_their_closing(
    api: Api, alice: User
) -> None:
    algorithm = stopped_algorithm(alice)
    run = start(algorithm)
    hold(run)
    Algorithm.objects.filter(pk=algorithm.pk).update(status="error", active=False)
    Run.objects.update(ended_at=run.started_at, end_reason="error")
    post(api, algorithm)
    run.refresh_from_db()
    assert (run.end_reason, run.released_at) == ("error", None)
    assert run.close_requested_at is not None


@pytest.mark.parametrize("status", ["draft", "stopped"])
def test_an_algorithm_that_does_not_run_cannot_be_stopped(
    api: Api, alice: User, status: str
) -> None:
    response = post(api, algorithm_in(alice, status))
    assert_error(
        response, 422, "UNPROCESSABLE_ENTITY", currentStatus=status, requiredStatus="active"
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"closePositions": 0}, "closePositions"),
        ({"closePositions": None}, "closePositions"),
        ({"closePosition": False}, "closePosition"),
    ],
)
def test_a_wrong_body_is_refused(api: Api, alice: User, body: object, field: str) -> None:
    algorithm = algorithm_in(alice, "active")
    assert_error(post(api, algorithm, body), 400, "VALIDATION_ERROR", field=field)
    assert Algorithm.objects.get().status == "active"


def test_an_empty_body_may_be_of_any_type(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    path = f"{PATH}/{algorithm.pk}/stop"
    assert api(alice).generic("POST", path, "", content_type="text/plain").status_code == 200


def test_a_repeated_stop_happens_once(api: Api, alice: User) -> None:
    algorithm, client = algorithm_in(alice, "active"), api(alice)
    headers = {"Idempotency-Key": "k"}
    first, again = (client.post(f"{PATH}/{algorithm.pk}/stop", headers=headers) for _ in "12")
    assert first.content == again.content
    assert Event.objects.filter(type="algorithm.stopped").count() == 1
