"""Database constraints, and the end of a failed run."""

from typing import Any

import pytest
from django.db import DatabaseError

from apps.accounts.models import User
from apps.algorithms.services import WrongStatus
from apps.core.models import AuditRecord
from apps.trading import services
from apps.trading.models import Account, GlobalSwitch, KillSwitch, Run
from apps.webhooks.models import Event
from tests import make
from tests.trading.algorithm_states import LATER, NOW, algorithm_in, hold, start, stopped_algorithm


def test_a_failed_algorithm_releases_its_capital_and_can_start_again(alice: User) -> None:
    algorithm = algorithm_in(alice, "error")
    run = Run.objects.get()
    assert (run.end_reason, run.ended_at, run.released_at) == ("error", NOW, NOW)
    assert Account.objects.get().reserved == 0
    assert start(algorithm) != run


def test_a_failure_is_in_the_history_and_emits_an_event(alice: User) -> None:
    algorithm = algorithm_in(alice, "error")
    change = algorithm.status_changes.latest("id")
    assert (change.after, change.actor, change.reason) == ("error", "system", "no bars for an hour")
    event = Event.objects.get(sequence=2)
    assert (event.type, event.data["reason"]) == ("algorithm.error", "no bars for an hour")
    assert event.data["advice"].startswith("Start a live feed or a replay")
    assert AuditRecord.objects.get(action="algorithm_failed").actor_kind == "system"


def test_a_failed_algorithm_with_positions_keeps_its_capital(alice: User) -> None:
    algorithm = stopped_algorithm(alice)
    run = start(algorithm)
    hold(run)
    services.fail(algorithm=algorithm, reason="ruined", now=LATER)
    run.refresh_from_db()
    assert (run.ended_at, run.released_at, run.close_requested_at) == (LATER, None, None)
    assert Account.objects.get().reserved == run.capital


@pytest.mark.parametrize("status", ["draft", "stopped", "error"])
def test_a_stopped_algorithm_cannot_fail(alice: User, status: str) -> None:
    algorithm = algorithm_in(alice, status)
    with pytest.raises(WrongStatus):
        services.fail(algorithm=algorithm, reason="", now=LATER)


def test_an_algorithm_has_one_run_that_holds_capital(alice: User) -> None:
    run = start(stopped_algorithm(alice))
    run.pk = None
    with pytest.raises(DatabaseError, match="one_run_of_an_algorithm_holds_capital"):
        Run.objects.create(
            algorithm=run.algorithm,
            account=run.account,
            algorithm_version=1,
            configuration={},
            mode="paper",
            capital=1,
            started_at=NOW,
        )


@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"end_reason": "stopped"}, "an_ended_run_says_why"),
        ({"ended_at": NOW}, "an_ended_run_says_why"),
        ({"released_at": NOW}, "a_run_keeps_its_capital_until_it_ends"),
        ({"capital": -1}, "run_owes_nothing"),
    ],
)
def test_the_database_refuses_an_incomplete_end_of_a_run(
    alice: User, changes: dict[str, Any], constraint: str
) -> None:
    start(stopped_algorithm(alice))
    with pytest.raises(DatabaseError, match=constraint):
        Run.objects.update(**changes)


def test_a_symbol_has_one_open_position_in_a_run(alice: User) -> None:
    run = start(stopped_algorithm(alice))
    hold(run, closed_at=LATER)
    hold(run)
    with pytest.raises(DatabaseError, match="one_open_position_of_a_symbol_in_a_run"):
        hold(run)


def test_a_position_is_of_something(alice: User) -> None:
    with pytest.raises(DatabaseError, match="position_is_of_something"):
        hold(start(stopped_algorithm(alice)), quantity=0)


def test_a_switch_that_is_on_says_since_when(alice: User) -> None:
    with pytest.raises(DatabaseError, match="kill_switch_says_since_when"):
        KillSwitch.objects.create(owner=alice, active=True)


@pytest.mark.django_db
def test_there_is_one_global_switch() -> None:
    with pytest.raises(DatabaseError, match="there_is_one_global_switch"):
        GlobalSwitch.objects.create(id=2)


def test_rows_of_a_user_are_deleted_with_the_user(alice: User) -> None:
    hold(start(stopped_algorithm(alice)))
    services.engage_kill_switch(owner=alice, reason="", close_positions=False, now=make.NOW)
    alice.delete()
    for model in (Account, Run, KillSwitch, Event):
        assert not model._default_manager.exists()
