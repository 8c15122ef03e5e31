"""Running a backtest: once, by whoever has taken it, and never half recorded."""

import pytest
from django.db import transaction
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts.models import User
from apps.backtests import execution, services, tasks
from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest, BacktestResult
from apps.backtests.services import Submission
from apps.backtests.span import read_span
from tests import make
from tests.backtests.running import never, run_queued
from tests.backtests.waves import waves
from tests.market.bars import hold


def the_range(owner: User) -> Submission:
    return Submission(
        algorithm_id=make.algorithm(owner, **make.steps()).pk,
        span=read_span("2024-02-01", "2024-02-29", now=make.NOW),
        kind="backtest",
        name="",
        overrides={},
    )


@pytest.fixture
def queued(alice: User) -> Backtest:
    hold("NSE:NIFTY", "15m", waves("2024-01-01", 45))
    return services.submit(owner=alice, submission=the_range(alice), seed=7, now=make.NOW)


def test_only_one_worker_takes_it(queued: Backtest) -> None:
    taken = execution.begin(backtest_id=queued.pk, now=make.NOW)
    assert taken is not None
    assert (taken.status, taken.attempt) == (Status.RUNNING, 1)
    assert execution.begin(backtest_id=queued.pk, now=make.NOW) is None


def test_a_job_that_comes_twice_does_nothing(queued: Backtest) -> None:
    tasks.perform(queued.pk, "a", stopping=never)
    first = bytes(BacktestResult.objects.get(backtest=queued).trades)
    tasks.perform(queued.pk, "b", stopping=never)
    assert Backtest.objects.get().attempt == 1
    assert bytes(BacktestResult.objects.get(backtest=queued).trades) == first


def test_an_attempt_that_was_given_up_on_writes_nothing(queued: Backtest) -> None:
    old = execution.begin(backtest_id=queued.pk, now=make.NOW)
    assert old is not None
    result = execution.run(old, stopping=never)
    Backtest.objects.update(attempt=2)  # somebody else runs it now
    with pytest.raises(execution.Superseded):
        execution.complete(backtest=old, result=result, now=make.NOW)
    with pytest.raises(execution.Superseded):
        execution.run(old, stopping=never)
    execution.fail(backtest=old, code=services.InsufficientData.code, message="x", now=make.NOW)
    assert Backtest.objects.get().status == Status.RUNNING
    assert not BacktestResult.objects.exists()


def test_a_worker_that_stops_gives_it_back_to_be_begun_anew(queued: Backtest) -> None:
    tasks.perform(queued.pk, "a", stopping=lambda: True)
    given_back = Backtest.objects.get()
    assert (given_back.status, given_back.progress) == (Status.QUEUED, 0)
    assert ProcrastinateJob.objects.count() == 2  # the one that was taken, and a new one
    run_queued()
    done = Backtest.objects.get()
    assert (done.status, done.attempt) == (Status.COMPLETED, 2)


def test_what_nobody_foresaw_fails_it_and_is_raised(
    queued: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(backtest: Backtest, *, stopping: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(execution, "run", broken)
    with pytest.raises(ZeroDivisionError):
        tasks.perform(queued.pk, "quoted", stopping=never)
    failed = Backtest.objects.get()
    assert (failed.status, failed.error["code"]) == (Status.FAILED, "INTERNAL_SERVER_ERROR")
    assert "quoted" in failed.error["message"]


@pytest.mark.django_db
def test_a_job_exists_only_with_its_backtest(queued: Backtest, alice: User) -> None:
    jobs = ProcrastinateJob.objects.count()

    def submit_and_break() -> None:
        with transaction.atomic():
            services.submit(owner=alice, submission=the_range(alice), seed=7, now=make.NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        submit_and_break()
    assert jobs == ProcrastinateJob.objects.count() == Backtest.objects.count() == 1
