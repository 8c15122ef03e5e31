"""Workers that are lost cost time, never a backtest."""

from datetime import timedelta

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.backtests import execution, recovery, turns
from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest, BacktestResult
from tests import make
from tests.backtests.running import never, run_queued, turns_waiting
from tests.backtests.submissions import submit

pytestmark = pytest.mark.usefixtures("history")

LATER = make.NOW + recovery.SILENCE + timedelta(seconds=1)


@pytest.fixture
def running(history: None, alice: User) -> Backtest:
    submit(alice)
    return begun()


def begun() -> Backtest:
    backtest = turns.take(now=make.NOW)
    assert backtest is not None
    return backtest


def use_up_turns() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")


def test_one_that_was_heard_of_is_left_alone(running: Backtest) -> None:
    assert recovery.sweep(now=make.NOW + recovery.SILENCE) == 0
    assert Backtest.objects.get().status == Status.RUNNING


def test_a_silent_one_is_queued_again_with_a_turn(running: Backtest) -> None:
    use_up_turns()
    assert recovery.sweep(now=LATER) == 1
    again = Backtest.objects.get()
    assert (again.status, again.progress, again.losses) == (Status.QUEUED, 0, 1)
    assert turns_waiting() == 1
    run_queued()
    assert Backtest.objects.get().status == Status.COMPLETED


def test_the_worker_that_was_only_slow_writes_nothing_any_more(running: Backtest) -> None:
    outcome = execution.run(running, stopping=never, superseded=never)
    recovery.sweep(now=LATER)
    other = begun()
    with pytest.raises(execution.Superseded):
        execution.complete(backtest=running, outcome=outcome, now=LATER)
    execution.complete(backtest=other, outcome=outcome, now=LATER)
    assert BacktestResult.objects.count() == 1


def test_of_two_sweeps_one_deals_with_it(running: Backtest) -> None:
    silent = Backtest.objects.get()
    assert recovery.sweep(now=LATER) == 1
    assert not recovery._recover(silent, LATER)
    assert Backtest.objects.get().losses == 1


def test_one_that_beats_after_the_sweep_has_looked_is_left_alone(running: Backtest) -> None:
    silent = Backtest.objects.get()
    Backtest.objects.update(beat_at=LATER)
    assert not recovery._recover(silent, LATER)
    assert Backtest.objects.get().status == Status.RUNNING


def test_what_costs_worker_after_worker_is_given_up_with_the_reason(running: Backtest) -> None:
    Backtest.objects.update(losses=recovery.MOST_LOSSES - 1)
    assert recovery.sweep(now=LATER) == 1
    failed = Backtest.objects.get()
    assert (failed.status, failed.losses) == (Status.FAILED, recovery.MOST_LOSSES)
    assert failed.error["code"] == "INTERNAL_SERVER_ERROR"
    assert "5 workers were lost" in failed.error["message"]
    assert failed.completed_at == LATER


def test_a_backtest_without_a_turn_is_granted_one(alice: User) -> None:
    submit(alice)
    use_up_turns()
    recovery.sweep(now=make.NOW)
    assert turns_waiting() == 1


def test_the_turn_of_a_lost_worker_is_put_back(running: Backtest) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = 'doing'")  # by nobody, any more
    recovery.sweep(now=make.NOW)
    assert turns_waiting() == 1
