"""POST /api/trading/algorithms/<id>/pause"""

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
    return api(algorithm.owner).post(f"{PATH}/{algorithm.pk}/pause", body)


def test_a_paused_algorithm_keeps_its_run_its_capital_and_its_positions(
    api: Api, alice: User
) -> None:
    algorithm = stopped_algorithm(alice)
    hold(start(algorithm))
    response = post(api, algorithm)
    assert response.status_code == 200
    assert (response.json()["status"], response.json()["active"]) == ("paused", False)
    run = Run.objects.live().get()
    assert run.close_requested_at is None
    assert run.positions.open().count() == 1
    assert Account.objects.get().reserved == run.capital


def test_a_pause_is_in_the_history_and_emits_an_event(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    post(api, algorithm)
    change = algorithm.status_changes.latest("id")
    assert (change.before, change.after, change.actor) == ("active", "paused", alice.pk)
    event = Event.objects.get(sequence=2)
    assert (event.type, event.data["previousStatus"]) == ("algorithm.paused", "active")


@pytest.mark.parametrize("status", ["draft", "paused", "stopped", "error"])
def test_only_an_active_algorithm_can_be_paused(api: Api, alice: User, status: str) -> None:
    response = post(api, algorithm_in(alice, status))
    assert_error(
        response, 422, "UNPROCESSABLE_ENTITY", currentStatus=status, requiredStatus="active"
    )


def test_a_body_with_fields_is_refused(api: Api, alice: User) -> None:
    response = post(api, algorithm_in(alice, "active"), {"for": "an hour"})
    assert_error(response, 400, "VALIDATION_ERROR", field="for")
