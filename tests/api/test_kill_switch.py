"""/api/trading/kill-switch"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.core import audit
from apps.core.models import AuditRecord
from apps.trading import services
from apps.trading.models import KillSwitch, Run
from apps.webhooks.models import Event
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.algorithm_states import algorithm_in, hold, start, stop, stopped_algorithm

PATH = "/api/trading/kill-switch"
ALGORITHMS = "/api/trading/algorithms"
OFF = {"active": False, "since": None, "reason": None}
OLGA = audit.Actor(audit.ActorKind.OPERATOR, "0" * 24)


def on(api: Api, user: User, body: object = None) -> Any:
    return api(user).post(PATH, body)


def test_the_switch_is_off_at_first(api: Api, alice: User) -> None:
    assert api(alice).get(PATH).json() == OFF
    assert not KillSwitch.objects.exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, None),
        ({}, None),
        ({"reason": None}, None),
        ({"reason": ""}, None),
        ({"reason": "bad news"}, "bad news"),
    ],
)
def test_the_switch_gives_its_time_and_reason(
    api: Api, alice: User, body: object, reason: str | None
) -> None:
    response = on(api, alice, body)
    assert response.status_code == 200
    answer = response.json()
    assert answer == {"active": True, "since": answer["since"], "reason": reason}
    since = datetime.fromisoformat(answer["since"])
    assert abs(since - timezone.now()) < timedelta(minutes=1)
    assert api(alice).get(PATH).json() == answer


def test_the_switch_pauses_exactly_the_active_algorithms(api: Api, alice: User, bob: User) -> None:
    of_alice = {
        status: algorithm_in(alice, status) for status in ("draft", "active", "stopped", "error")
    }
    other, of_bob = algorithm_in(alice, "active"), algorithm_in(bob, "active")
    on(api, alice, {"reason": "bad news"})
    assert status_of(of_alice["active"]) == status_of(other) == "paused"
    for status in ("draft", "stopped", "error"):
        assert status_of(of_alice[status]) == status
    assert status_of(of_bob) == "active"
    change = other.status_changes.latest("id")
    assert (change.before, change.after, change.actor) == ("active", "paused", alice.pk)
    assert change.reason == "kill switch"
    events = Event.objects.filter(type="algorithm.paused").values_list("algorithm_id", "sequence")
    assert sorted(events) == sorted([(of_alice["active"].pk, 2), (other.pk, 2)])


def status_of(algorithm: Algorithm) -> str:
    return Algorithm.objects.get(pk=algorithm.pk).status


def test_while_the_switch_is_on_nothing_starts_or_resumes(api: Api, alice: User, bob: User) -> None:
    stopped, paused = algorithm_in(alice, "stopped"), algorithm_in(alice, "paused")
    since = on(api, alice).json()["since"]
    for algorithm, verb in ((stopped, "start"), (paused, "resume")):
        response = api(alice).post(f"{ALGORITHMS}/{algorithm.pk}/{verb}")
        assert_error(response, 403, "FORBIDDEN", reason="kill_switch", since=since)
    assert api(bob).post(f"{ALGORITHMS}/{stopped_algorithm(bob).pk}/start").status_code == 200
    assert api(alice).post(f"{ALGORITHMS}/{paused.pk}/stop").status_code == 200


def test_turning_it_on_again_changes_nothing(api: Api, alice: User) -> None:
    first, again = on(api, alice, {"reason": "first"}), on(api, alice, {"reason": "second"})
    assert again.status_code == 200
    assert again.json() == first.json()


def test_turning_it_off_allows_starts_and_resumes_nothing(api: Api, alice: User) -> None:
    algorithm, client = algorithm_in(alice, "active"), api(alice)
    on(api, alice)
    response = client.delete(PATH)
    assert (response.status_code, response.content) == (204, b"")
    assert client.get(PATH).json() == OFF
    assert status_of(algorithm) == "paused"
    assert client.post(f"{ALGORITHMS}/{algorithm.pk}/resume").status_code == 200


def test_turning_it_off_twice_is_allowed(api: Api, alice: User) -> None:
    assert api(alice).delete(PATH).status_code == 204
    assert not AuditRecord.objects.filter(action="kill_switch_off").exists()


@pytest.mark.parametrize("close", [True, False, None])
def test_positions_are_closed_on_request(
    api: Api, alice: User, bob: User, close: bool | None
) -> None:
    active, left = stopped_algorithm(alice), stopped_algorithm(alice)
    hold(start(active))
    hold(start(left))
    stop(left, close_positions=False)
    hold(start(stopped_algorithm(bob)))
    on(api, alice, {} if close is None else {"closePositions": close})
    asked = Run.objects.exclude(close_requested_at=None)
    assert {run.algorithm for run in asked} == ({active, left} if close else set())


def test_a_second_request_can_close_the_positions(api: Api, alice: User) -> None:
    hold(start(stopped_algorithm(alice)))
    first = on(api, alice)
    assert on(api, alice, {"closePositions": True}).json() == first.json()
    assert Run.objects.get().close_requested_at is not None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reason": "x" * 201}, "reason"),
        ({"reason": 1}, "reason"),
        ({"reason": "a\nb"}, "reason"),
        ({"closePositions": "true"}, "closePositions"),
        ({"active": False}, "active"),
    ],
)
def test_a_wrong_body_is_refused(api: Api, alice: User, body: object, field: str) -> None:
    assert_error(on(api, alice, body), 400, "VALIDATION_ERROR", field=field)
    assert not KillSwitch.objects.exists()


def test_each_use_of_the_switch_is_on_record(api: Api, alice: User) -> None:
    on(api, alice, {"reason": "bad news"})
    api(alice).delete(PATH)
    turned = AuditRecord.objects.filter(object_type="killswitch").order_by("id")
    assert [(row.action, row.actor, row.object_id) for row in turned] == [
        ("kill_switch_on", alice.pk, alice.pk),
        ("kill_switch_off", alice.pk, alice.pk),
    ]
    assert turned[0].details == {"reason": "bad news", "closePositions": False}


def test_every_use_is_on_record(api: Api, alice: User) -> None:
    on(api, alice, {"reason": "first"})
    on(api, alice, {"reason": "second", "closePositions": True})
    uses = AuditRecord.objects.filter(action="kill_switch_on").order_by("id")
    assert [use.details for use in uses] == [
        {"reason": "first", "closePositions": False},
        {"reason": "second", "closePositions": True},
    ]
    assert {use.actor for use in uses} == {alice.pk}


# The operators' switch


def test_the_global_kill_switch_refuses_all_starts_and_changes_no_status(
    api: Api, alice: User, bob: User
) -> None:
    active, stopped, paused = (
        algorithm_in(alice, "active"),
        algorithm_in(alice, "stopped"),
        algorithm_in(bob, "paused"),
    )
    services.engage_global_switch(operator=OLGA, reason="bad data", now=make.NOW)
    for owner, algorithm, verb in ((alice, stopped, "start"), (bob, paused, "resume")):
        response = api(owner).post(f"{ALGORITHMS}/{algorithm.pk}/{verb}")
        error = assert_error(
            response, 503, "SERVICE_UNAVAILABLE", reason="global_kill_switch", retryAfter=60
        )
        assert error["retryAfter"] == 60
        assert response["Retry-After"] == "60"
        assert "bad data" not in error["message"]
    assert status_of(active) == "active"
    assert api(alice).get(PATH).json() == OFF
    services.release_global_switch(operator=OLGA, reason="over", now=make.NOW)
    assert api(alice).post(f"{ALGORITHMS}/{stopped.pk}/start").status_code == 200
