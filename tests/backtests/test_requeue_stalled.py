"""Workers that are lost cost time, never a backtest."""

from datetime import timedelta

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.backtests import execution, queue
from apps.backtests.models import Backtest, BacktestResult, BacktestStatus
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import count_slots, never, run_queued

pytestmark = pytest.mark.usefixtures("history")

LATER = make.NOW + queue.HEARTBEAT_TIMEOUT + timedelta(seconds=1)


@pytest.fixture
def running(history: None, alice: User) -> Backtest:
    submit(alice)
    return begun()


def begun() -> Backtest:
    backtest = queue.begin_next(now=make.NOW)
    assert backtest is not None
    return backtest


def use_up_turns() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")


def test_one_that_was_heard_of_is_left_alone(running: Backtest) -> None:
    assert queue.requeue_stalled(now=make.NOW + queue.HEARTBEAT_TIMEOUT) == 0
    assert Backtest.objects.get().status == BacktestStatus.RUNNING


def test_a_silent_one_is_queued_again_with_a_turn(running: Backtest) -> None:
    use_up_turns()
    assert queue.requeue_stalled(now=LATER) == 1
    again = Backtest.objects.get()
    assert (again.status, again.progress, again.losses) == (BacktestStatus.QUEUED, 0, 1)
    assert count_slots() == 1
    run_queued()
    assert Backtest.objects.get().status == BacktestStatus.COMPLETED


def test_the_worker_that_was_only_slow_writes_nothing_any_more(running: Backtest) -> None:
    output = execution.run(running, is_stopping=never, is_stale=never)
    queue.requeue_stalled(now=LATER)
    other = begun()
    with pytest.raises(execution.StaleAttempt):
        execution.complete(backtest=running, output=output, now=LATER)
    execution.complete(backtest=other, output=output, now=LATER)
    assert BacktestResult.objects.count() == 1


def test_of_two_sweeps_one_deals_with_it(running: Backtest) -> None:
    silent = Backtest.objects.get()
    assert queue.requeue_stalled(now=LATER) == 1
    assert not queue._requeue_or_fail(silent, LATER)
    assert Backtest.objects.get().losses == 1


def test_one_that_beats_after_the_sweep_has_looked_is_left_alone(running: Backtest) -> None:
    silent = Backtest.objects.get()
    Backtest.objects.update(heartbeat_at=LATER)
    assert not queue._requeue_or_fail(silent, LATER)
    assert Backtest.objects.get().status == BacktestStatus.RUNNING


def test_what_costs_worker_after_worker_is_given_up_with_the_reason(running: Backtest) -> None:
    Backtest.objects.update(losses=queue.MAX_LOST_WORKERS - 1)
    assert queue.requeue_stalled(now=LATER) == 1
    failed = Backtest.objects.get()
    assert (failed.status, failed.losses) == (BacktestStatus.FAILED, queue.MAX_LOST_WORKERS)
    assert failed.error["code"] == "INTERNAL_SERVER_ERROR"
    assert "5 workers were lost" in failed.error["message"]
    assert failed.completed_at == LATER


def test_a_backtest_without_a_turn_is_granted_one(alice: User) -> None:
    submit(alice)
    use_up_turns()
    queue.requeue_stalled(now=make.NOW)
    assert count_slots() == 1


def test_the_turn_of_a_lost_worker_is_put_back(running: Backtest) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = 'doing'")  # by nobody, any more
    queue.requeue_stalled(now=make.NOW)
    assert count_slots() == 1
