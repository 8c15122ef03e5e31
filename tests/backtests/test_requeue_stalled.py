"""A lost worker costs time, never a backtest."""

import re
from datetime import timedelta

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestResult, BacktestStatus
from apps.backtests.running import execution, queue, simulating
from apps.core.machine.process import process_name
from apps.engine.simulation.simulations import ignore_progress
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import begin, count_slots, run_queued

pytestmark = pytest.mark.usefixtures("history")

LATER = make.NOW + queue.HEARTBEAT_TIMEOUT + timedelta(seconds=1)


@pytest.fixture
def running(history: None, alice: User) -> Backtest:
    submit(alice)
    return begin()


def delete_slots() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")


def test_a_backtest_with_a_heartbeat_is_not_requeued(running: Backtest) -> None:
    assert queue.requeue_stalled(now=make.NOW + queue.HEARTBEAT_TIMEOUT) == 0
    assert Backtest.objects.get().status == BacktestStatus.RUNNING


def test_a_stalled_backtest_is_requeued_with_a_slot(running: Backtest) -> None:
    delete_slots()
    assert queue.requeue_stalled(now=LATER) == 1
    requeued = Backtest.objects.get()
    assert (requeued.status, requeued.progress, requeued.losses) == (BacktestStatus.QUEUED, 0, 1)
    assert count_slots() == 1
    run_queued()
    assert Backtest.objects.get().status == BacktestStatus.COMPLETED


def test_a_worker_that_was_only_slow_writes_nothing(running: Backtest) -> None:
    output = simulating.run_backtest(running, ignore_progress)
    queue.requeue_stalled(now=LATER)
    other = begin()
    with pytest.raises(execution.StaleAttempt):
        execution.complete(backtest=running, output=output, now=LATER)
    execution.complete(backtest=other, output=output, now=LATER)
    assert BacktestResult.objects.count() == 1


def test_of_two_reapers_one_requeues_the_backtest(running: Backtest) -> None:
    stalled = Backtest.objects.get()
    assert queue.requeue_stalled(now=LATER) == 1
    assert not queue._requeue_or_fail(stalled, queue.LOST, LATER)
    assert Backtest.objects.get().losses == 1


def test_a_heartbeat_after_the_reaper_has_looked_counts(running: Backtest) -> None:
    stalled = Backtest.objects.get()
    Backtest.objects.update(heartbeat_at=LATER)
    assert not queue._requeue_or_fail(stalled, queue.LOST, LATER)
    assert Backtest.objects.get().status == BacktestStatus.RUNNING


def test_a_backtest_that_loses_worker_after_worker_fails_with_the_reason(running: Backtest) -> None:
    Backtest.objects.update(losses=queue.MAX_LOST_WORKERS - 1)
    assert queue.requeue_stalled(now=LATER) == 1
    failed = Backtest.objects.get()
    assert (failed.status, failed.losses) == (BacktestStatus.FAILED, queue.MAX_LOST_WORKERS)
    assert failed.error is not None
    assert failed.error["code"] == "INTERNAL_SERVER_ERROR"
    assert "5 workers were lost" in failed.error["message"]
    assert failed.completed_at == LATER


def kill(*, for_memory: bool, worker: str = "") -> int:
    """Kill the worker a moment after the backtest began."""
    worker = worker or process_name()
    return queue.give_up_killed(worker, for_memory=for_memory, now=make.NOW)


@pytest.mark.parametrize("for_memory", [True, False])
def test_backtests_of_a_killed_worker_are_requeued_at_once(
    running: Backtest, for_memory: bool
) -> None:
    assert kill(for_memory=for_memory, worker="another") == 0
    assert kill(for_memory=for_memory) == 1
    requeued = Backtest.objects.get()
    assert (requeued.status, requeued.losses) == (BacktestStatus.QUEUED, 1)
    assert kill(for_memory=for_memory) == 0  # nobody holds it


def test_a_second_kill_for_lack_of_memory_fails_the_backtest_with_the_size_that_fits(
    running: Backtest,
) -> None:
    kill(for_memory=True)
    begin()
    assert kill(for_memory=True) == 1
    failed = Backtest.objects.get()
    assert failed.error is not None
    assert (failed.status, failed.error["code"]) == (BacktestStatus.FAILED, "UNPROCESSABLE_ENTITY")
    assert "2 workers were killed for lack of memory" in failed.error["message"]
    [bars, fitting] = re.findall(r"([\d,]+) bars", failed.error["message"])
    assert 0 < int(fitting.replace(",", "")) <= int(bars.replace(",", "")) / 2


def test_a_backtest_without_a_slot_gets_one(alice: User) -> None:
    submit(alice)
    delete_slots()
    queue.requeue_stalled(now=make.NOW)
    assert count_slots() == 1


def test_the_slot_of_a_lost_worker_is_replaced(running: Backtest) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = 'doing'")  # by nobody, any more
    queue.requeue_stalled(now=make.NOW)
    assert count_slots() == 1
