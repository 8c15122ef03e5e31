"""POST /api/trading/algorithms/<id>/resume"""

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.core import audit
from apps.symbols.models import Type
from apps.trading import services
from apps.trading.models import Account, Run
from apps.webhooks.models import Event
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.symbols.instruments import equity
from tests.trading.algorithm_states import algorithm_in, hold, lose, start, stopped_algorithm

PATH = "/api/trading/algorithms"
OLGA = audit.Actor(audit.ActorKind.OPERATOR, "0" * 24)


def post(api: Api, algorithm: Algorithm) -> Any:
    return api(algorithm.owner).post(f"{PATH}/{algorithm.pk}/resume")


def test_a_resumed_algorithm_continues_in_the_same_run(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "paused")
    response = post(api, algorithm)
    assert response.status_code == 200
    [warning] = response.json()["warnings"]
    assert response.json()["status"] == "active"
    assert warning["message"].startswith("No feed brings prices now.")
    run = Run.objects.get()
    assert run.ended_at is None
    assert Account.objects.get().reserved == run.capital


def test_a_resume_is_in_the_history_and_emits_a_start_event(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "paused")
    post(api, algorithm)
    change = algorithm.status_changes.latest("id")
    assert (change.before, change.after, change.reason) == ("paused", "active", "resumed")
    event = Event.objects.get(sequence=3)
    assert (event.type, event.data["previousStatus"]) == ("algorithm.started", "paused")


@pytest.mark.parametrize("status", ["draft", "active", "stopped", "error"])
def test_only_a_paused_algorithm_can_be_resumed(api: Api, alice: User, status: str) -> None:
    response = post(api, algorithm_in(alice, status))
    assert_error(
        response, 422, "UNPROCESSABLE_ENTITY", currentStatus=status, requiredStatus="paused"
    )


def test_open_positions_do_not_prevent_a_resume(api: Api, alice: User) -> None:
    algorithm = stopped_algorithm(alice)
    run = start(algorithm)
    for n in range(3):
        hold(run, f"NSE:A{n}")
    services.pause(owner=alice, algorithm_id=algorithm.pk, now=make.NOW)
    assert post(api, algorithm).status_code == 200


def test_resuming_uses_the_capital_that_the_run_reserved(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "paused", initialCapital=10_000_000)
    assert post(api, algorithm).status_code == 200
    assert Account.objects.get().available == 0


def test_errors_follow_the_order_of_the_checks(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "paused")
    row = equity("NSE:NIFTY", enabled=False)
    lost = lose(algorithm, 10_000, now=timezone.now())
    services.engage_kill_switch(owner=alice, reason="", close_positions=False, now=make.NOW)
    services.engage_global_switch(operator=OLGA, reason="", now=make.NOW)
    assert_error(post(api, algorithm), 403, "FORBIDDEN", reason="kill_switch")
    services.release_kill_switch(owner=alice, now=make.NOW)
    assert_error(post(api, algorithm), 503, "SERVICE_UNAVAILABLE")
    services.release_global_switch(operator=OLGA, reason="", now=make.NOW)
    assert_error(post(api, algorithm), 400, "INVALID_SYMBOL", symbol="NSE:NIFTY")
    row.enabled, row.type = True, Type.INDEX
    row.save()
    assert_error(post(api, algorithm), 403, "DAILY_LOSS_LIMIT", dailyLoss=10_000, limit=10_000)
    lost.delete()
    answer = post(api, algorithm)
    assert answer.status_code == 200
    assert len(answer.json()["warnings"]) == 2


def test_a_request_to_close_positions_is_taken_back(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    services.engage_kill_switch(owner=alice, reason="", close_positions=True, now=make.NOW)
    services.release_kill_switch(owner=alice, now=make.NOW)
    assert Run.objects.get().close_requested_at == make.NOW
    post(api, algorithm)
    assert Run.objects.get().close_requested_at is None
