"""A worker runs a backtest and records the whole result."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any, cast

import pytest
from django.db import OperationalError, transaction

from apps.accounts.models import User
from apps.backtests import services, tasks
from apps.backtests.models import Backtest, BacktestResult, BacktestStatus, TradeBlock
from apps.backtests.running import execution, queue, simulating, sufficient_history
from apps.backtests.running.simulating import BacktestOutput
from apps.core.requests import request_id
from apps.engine.simulation.simulations import ignore_progress
from apps.market.candles import corporate_actions
from apps.market.candles.corporate_actions import ActionRow
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import begin, count_slots, never, run_queued


@pytest.fixture
def queued(history: None, alice: User) -> Backtest:
    return submit(alice)


def run(backtest: Backtest) -> BacktestOutput:
    return simulating.run_backtest(backtest, ignore_progress)


def test_only_one_worker_begins_a_backtest(queued: Backtest) -> None:
    backtest = begin()
    backtest.refresh_from_db()
    assert (backtest.status, backtest.attempt) == (BacktestStatus.RUNNING, 1)
    assert queue.begin_next(now=make.NOW) is None


def test_a_superfluous_slot_does_nothing(queued: Backtest) -> None:
    queue.enqueue(2)
    assert run_queued() == 3
    assert Backtest.objects.get().attempt == 1
    assert BacktestResult.objects.count() == 1


def test_a_stale_attempt_writes_nothing(queued: Backtest) -> None:
    old = begin()
    output = run(old)
    Backtest.objects.update(attempt=2)  # somebody else runs it now
    with pytest.raises(execution.StaleAttempt):
        execution.complete(backtest=old, output=output, now=make.NOW)
    with pytest.raises(execution.StaleAttempt):
        execution.fail(
            backtest=old,
            code=sufficient_history.InsufficientHistory.code,
            message="x",
            now=make.NOW,
        )
    with pytest.raises(execution.StaleAttempt):
        execution.requeue(work=old)
    assert Backtest.objects.get().status == BacktestStatus.RUNNING
    assert not BacktestResult.objects.exists()


def test_a_result_is_written_once(queued: Backtest) -> None:
    backtest = begin()
    output = run(backtest)
    execution.complete(backtest=backtest, output=output, now=make.NOW)
    with pytest.raises(execution.StaleAttempt):
        execution.complete(backtest=backtest, output=output, now=make.NOW)
    assert BacktestResult.objects.count() == 1
    assert TradeBlock.objects.count() == 1


def test_prices_are_adjusted_and_the_receipt_names_the_actions(queued: Backtest) -> None:
    backtest = begin()
    raw = run(backtest).result
    row = ActionRow("NSE:NIFTY", date(2024, 2, 15), "bonus", 1, 2, "a test")
    later = replace(row, ex_date=date(2024, 3, 15))
    corporate_actions.store_actions(rows=[row, later], now=make.NOW)
    adjusted = run(backtest).result
    message = "Prices of NSE:NIFTY are adjusted for: bonus 1:1 of 2024-02-15."
    notes = cast("list[object]", adjusted.receipt["notes"])
    assert {"code": "adjusted_prices", "message": message} in notes
    assert "adjusted_prices" not in str(raw.receipt["notes"])
    assert adjusted.receipt["candles"] != raw.receipt["candles"]


def test_a_demerger_of_unknown_size_is_noted(queued: Backtest) -> None:
    row = ActionRow("NSE:NIFTY", date(2024, 2, 15), "demerger", 1, 1, "a test")
    corporate_actions.store_actions(rows=[row], now=make.NOW)
    notes = cast("list[dict[str, str]]", run(begin()).result.receipt["notes"])
    [message] = [note["message"] for note in notes if note["code"] == "unadjusted_action"]
    assert message.startswith("Prices of NSE:NIFTY are not adjusted for: demerger of 2024-02-15.")


def half_seconds() -> Callable[[], float]:
    """Return a clock that advances half a second at each reading."""
    moments = iter(range(10**6))
    return lambda: next(moments) / 2


def test_progress_is_reported_and_counts_as_a_heartbeat(queued: Backtest) -> None:
    backtest = begin()
    reported: list[int] = []

    def record_progress() -> bool:
        reported.append(Backtest.objects.get().progress)
        return False

    report = execution.progress_reporter(
        backtest, is_stopping=record_progress, is_stale=never, clock=half_seconds()
    )
    simulating.run_backtest(backtest, report)
    assert set(reported) == {0, 30}  # nothing yet, and read
    now = Backtest.objects.get()
    assert now.progress == 99
    assert now.heartbeat_at is not None
    assert now.heartbeat_at > make.NOW


def test_a_cancelled_backtest_stops_at_its_next_report(queued: Backtest, alice: User) -> None:
    backtest = begin()
    services.cancel(owner=alice, backtest_id=queued.pk, now=make.NOW)
    options: list[dict[str, Callable[[], Any]]] = [
        {"is_stale": never, "clock": half_seconds()},
        {"is_stale": lambda: True},
    ]
    for option in options:
        report = execution.progress_reporter(backtest, is_stopping=never, **option)
        with pytest.raises(execution.StaleAttempt):
            simulating.run_backtest(backtest, report)


@pytest.mark.django_db(transaction=True)
def test_a_busy_worker_has_a_heartbeat_and_learns_that_its_attempt_is_stale(
    queued: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    backtest = begin()
    begun = Backtest.objects.get().heartbeat_at
    with execution.heartbeat(backtest) as is_stale:
        while Backtest.objects.get().heartbeat_at == begun:
            assert not is_stale()
        Backtest.objects.update(attempt=2)
        while not is_stale():
            pass


def test_a_worker_that_stops_requeues_its_backtest(queued: Backtest) -> None:
    tasks.run_next(is_stopping=lambda: True)
    requeued = Backtest.objects.get()
    assert (requeued.status, requeued.progress) == (BacktestStatus.QUEUED, 0)
    assert requeued.losses == 0
    assert count_slots() == 2  # the used slot, and a new one
    run_queued()
    done = Backtest.objects.get()
    assert (done.status, done.attempt) == (BacktestStatus.COMPLETED, 2)


def test_a_backtest_cancelled_while_its_worker_stops_stays_cancelled(
    queued: Backtest, alice: User
) -> None:
    def cancel_and_stop() -> bool:
        services.cancel(owner=alice, backtest_id=queued.pk, now=make.NOW)
        return True

    tasks.run_next(is_stopping=cancel_and_stop)
    assert Backtest.objects.get().status == BacktestStatus.CANCELLED
    assert count_slots() == 1  # only the used slot


def broken_by(error: Exception) -> Callable[..., BacktestOutput]:
    def broken(backtest: Backtest, report: object) -> BacktestOutput:
        raise error

    return broken


def test_an_unexpected_error_fails_the_backtest_and_is_raised(
    history: None, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_id.begin_request_id("quoted")
    submit(alice)
    request_id.begin_request_id(None)
    monkeypatch.setattr(simulating, "run_backtest", broken_by(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        tasks.run_next(is_stopping=never)
    failed = Backtest.objects.get()
    assert failed.error is not None
    assert (failed.status, failed.error["code"]) == (BacktestStatus.FAILED, "INTERNAL_SERVER_ERROR")
    assert "quoted" in failed.error["message"]


def test_a_lost_database_does_not_fail_the_backtest(
    queued: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        simulating, "run_backtest", broken_by(OperationalError("the connection is lost"))
    )
    with pytest.raises(OperationalError):
        tasks.run_next(is_stopping=never)
    assert (
        Backtest.objects.get().status == BacktestStatus.RUNNING
    )  # until the reaper finds it stalled


def test_too_many_trades_fail_the_backtest(
    queued: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.engine.errors.MOST_TRADES", 2)
    run_queued()
    failed = Backtest.objects.get()
    assert failed.error is not None
    assert (failed.status, failed.error["code"]) == (BacktestStatus.FAILED, "UNPROCESSABLE_ENTITY")
    assert "more than 2 trades" in failed.error["message"]


def test_too_little_memory_fails_the_backtest_with_advice(
    queued: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulating, "run_backtest", broken_by(MemoryError()))
    run_queued()
    failed = Backtest.objects.get()
    assert failed.error is not None
    assert (failed.status, failed.error["code"]) == (BacktestStatus.FAILED, "UNPROCESSABLE_ENTITY")
    assert "Shorten the range" in failed.error["message"]


def test_a_slot_exists_only_with_its_backtest(queued: Backtest, alice: User) -> None:
    def submit_and_break() -> None:
        with transaction.atomic():
            submit(alice)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        submit_and_break()
    assert count_slots() == Backtest.objects.count() == 1
