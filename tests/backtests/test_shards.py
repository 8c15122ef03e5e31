"""A divided study gives the same bytes with any workers, and delays nobody for long."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.backtests import services, tasks
from apps.backtests.models import (
    Backtest,
    BacktestKind,
    BacktestStatus,
    LastDispatch,
    ShardState,
    StudyShard,
    TradeBlock,
)
from apps.backtests.running import execution, queue, shards
from apps.core.errors import Code
from apps.core.jobs import job_queue
from apps.core.machine.process import process_name
from apps.engine.simulation.simulations import ignore_progress
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import begin, count_slots, never, run_queued
from tests.conftest import Api

pytestmark = pytest.mark.usefixtures("history")

SEARCH: dict[str, object] = {
    "objective": "netProfit",
    "parameters": [
        {"path": "exitConditions.stopLoss.percentage", "from": 0.25, "to": 5, "step": 0.25}
    ],
}
STUDIES: dict[BacktestKind, dict[str, dict[str, object]]] = {
    BacktestKind.OPTIMIZATION: {"optimizationConfig": SEARCH},
    BacktestKind.WALK_FORWARD: {"walkForwardConfig": {**SEARCH, "windows": 3}},
    BacktestKind.MONTE_CARLO: {"monteCarloConfig": {"runs": 200}},
}
LATER = make.NOW + queue.HEARTBEAT_TIMEOUT + timedelta(seconds=1)


def submit_study(owner: User, kind: BacktestKind = BacktestKind.OPTIMIZATION) -> Backtest:
    return submit(owner, kind=kind, configs=STUDIES[kind])


@pytest.fixture
def study(divided: None, alice: User) -> Backtest:
    """Return a running study in nine shards, with the first done."""
    submit_study(alice)
    running = begin()
    shards.run_study(running, ignore_progress)
    return running


def begin_shard(**options: Any) -> StudyShard:
    shard = queue.begin_next(now=make.NOW, **options)
    assert isinstance(shard, StudyShard)
    return shard


def result_of(backtest: Backtest) -> tuple[object, ...]:
    backtest.refresh_from_db()
    assert backtest.status == BacktestStatus.COMPLETED, backtest.error
    blocks = TradeBlock.objects.filter(result_id=backtest.pk).order_by("first")
    trades = [bytes(block.data) for block in blocks]
    return backtest.performance, backtest.study_results, backtest.receipt, trades


@pytest.mark.parametrize("kind", STUDIES)
def test_a_divided_study_has_the_result_of_a_whole_one(
    alice: User, kind: BacktestKind, request: pytest.FixtureRequest
) -> None:
    whole = submit_study(alice, kind)
    run_queued()
    assert not StudyShard.objects.exists()
    request.getfixturevalue("divided")
    parts = submit_study(alice, kind)
    running = begin()
    assert shards.run_study(running, ignore_progress) is not None
    assert StudyShard.objects.count() == 1 + shards.LEAST_SHARDS
    while Backtest.objects.filter(status=BacktestStatus.RUNNING).exists():
        # A separate worker for each shard, which loads the study again.
        assert tasks.run_attempt(begin_shard(), None, is_stopping=never) or result_of(parts)
    assert result_of(parts) == result_of(whole)
    assert not StudyShard.objects.exists()


def test_one_worker_continues_with_the_shards_of_a_study(study: Backtest, alice: User) -> None:
    tasks.run_next(is_stopping=never)
    assert result_of(study)[0]
    run_queued()  # the slots that are left find nothing
    assert Backtest.objects.get().attempt == 1


def test_progress_is_that_of_the_shards(study: Backtest) -> None:
    shown = []
    for _ in range(shards.LEAST_SHARDS):
        tasks.run_attempt(begin_shard(), None, is_stopping=never)
        shown.append(Backtest.objects.get().progress)
    assert shown == sorted(shown)
    assert len(set(shown)) == len(shown)
    assert shown[-1] == 93


def test_a_study_estimates_the_time_of_one_worker(study: Backtest, alice: User, api: Api) -> None:
    body = api(alice).get(f"/api/backtests/{study.pk}").json()
    assert body["estimatedSeconds"] == Backtest.objects.get().estimated_seconds is not None


def test_a_study_over_the_budget_fails_with_the_size_that_fits(
    divided: None, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "MAX_STUDY_SECONDS", 0)  # the remaining items take more
    submit_study(alice)
    run_queued()
    failed = Backtest.objects.get()
    assert failed.error is not None
    assert failed.error["code"] == Code.UNPROCESSABLE_ENTITY
    assert "of one worker" in failed.error["message"]
    assert not StudyShard.objects.exists()


def test_the_size_that_fits_is_a_number_of_sets() -> None:
    error = shards.TooLong(seconds=7500, budget=3600, fitting=480_000)
    assert str(error) == (
        "It would take about 2:05:00 (h:mm:ss) of one worker, and a study may take 1:00:00;"
        " about 480,000 sets or paths would fit."
    )


# The order of work.


def test_a_shard_goes_before_a_queued_study_of_its_user(study: Backtest, alice: User) -> None:
    submit_study(alice)
    assert begin_shard().number == 1


def test_a_plain_backtest_goes_before_shards_of_its_user(study: Backtest, alice: User) -> None:
    plain = submit(alice)
    assert begin().pk == plain.pk


def test_a_user_who_has_used_fewer_seconds_is_served_first(
    study: Backtest, alice: User, bob: User
) -> None:
    queue.charge(alice.pk, 5.0)
    plain = submit(bob)
    assert begin().pk == plain.pk
    queue.charge(bob.pk, 50.0)
    Backtest.objects.filter(pk=plain.pk).update(status=BacktestStatus.CANCELLED)
    submit(bob)
    assert begin_shard().backtest.owner == alice  # bob has used ten times as much


def begin_and_end(seconds: int) -> queue.Work:
    """Begin and end the next work with one worker."""
    work = queue.begin_next(now=make.NOW + timedelta(seconds=seconds))
    if isinstance(work, Backtest):
        Backtest.objects.filter(pk=work.pk).update(status=BacktestStatus.CANCELLED)
    assert work is not None
    StudyShard.objects.filter(state=ShardState.RUNNING).update(state=ShardState.DONE, result=b"")
    return work


def test_a_plain_backtest_waits_for_two_shards_at_most(study: Backtest, bob: User) -> None:
    """The backtest waits even though its user has used far more of the workers."""
    submit(bob)
    begin_and_end(0)
    queue.charge(bob.pk, 1000.0)
    submit(bob, now=make.NOW + timedelta(seconds=1))
    begun = [type(begin_and_end(seconds)) for seconds in range(2, 6)]
    assert begun == [StudyShard, StudyShard, Backtest, StudyShard]


def test_a_user_with_many_plain_backtests_does_not_stop_a_study(
    study: Backtest, alice: User, bob: User
) -> None:
    for _ in range(6):
        submit(bob)
    owners = []
    for seconds in range(8):
        owner_id = queue.backtest_of(begin_and_end(seconds)).owner_id
        queue.charge(owner_id, 10.0 if owner_id == bob.pk else 1.0)
        owners.append(owner_id)
    assert owners.count(alice.pk) >= owners.count(bob.pk) > 1


def test_workers_are_shared_by_two_studies(study: Backtest, alice: User, bob: User) -> None:
    submit_study(bob)
    shards.run_study(begin(), ignore_progress)
    owners = [begin_shard().backtest.owner_id for _ in range(6)]
    assert owners.count(alice.pk) == owners.count(bob.pk) == 3


def test_used_seconds_are_forgotten(study: Backtest, alice: User) -> None:
    queue.charge(alice.pk, 64.0)
    LastDispatch.objects.update(used_at=timezone.now() - timedelta(minutes=3))
    queue.charge(alice.pk, 1.0)
    assert LastDispatch.objects.get().seconds_used == pytest.approx(9, rel=0.01)


def test_a_worker_continues_only_with_the_next_shard(study: Backtest, bob: User) -> None:
    assert begin_shard(study=study).number == 1
    submit(bob)
    assert queue.begin_next(now=make.NOW, study=study) is None
    assert Backtest.objects.filter(status=BacktestStatus.QUEUED).count() == 1


def test_a_worker_runs_evidence_between_the_shards_of_a_study(study: Backtest) -> None:
    job_queue.enqueue_once(
        queue.EVIDENCE_JOB,
        queue=queue.QUEUE,
        lock="evidence",
        arguments={"backtest_id": study.pk},
        priority=1,
    )
    tasks.run_next(is_stopping=never)
    assert StudyShard.objects.filter(state=ShardState.DONE).count() == 2


# Lost workers.


def test_a_divided_study_is_not_stalled_while_its_shards_wait(study: Backtest) -> None:
    assert queue.requeue_stalled(now=LATER + timedelta(hours=1)) == 0
    assert Backtest.objects.get().status == BacktestStatus.RUNNING


def test_a_lost_worker_costs_only_its_shard(study: Backtest) -> None:
    lost = begin_shard()
    begin_shard()
    StudyShard.objects.filter(number=2).update(heartbeat_at=LATER)
    slots = count_slots()
    assert queue.requeue_stalled(now=LATER) == 1
    assert count_slots() == slots + 1
    again = begin_shard()
    assert (again.pk, again.tries, again.losses) == (lost.pk, 2, 1)
    assert Backtest.objects.get().attempt == 1


def test_a_worker_that_was_only_slow_writes_no_shard(study: Backtest) -> None:
    slow = begin_shard()
    queue.requeue_stalled(now=LATER)
    with pytest.raises(execution.StaleAttempt):
        tasks.run_attempt(slow, None, is_stopping=never)
    tasks.run_attempt(begin_shard(), None, is_stopping=never)
    with pytest.raises(execution.StaleAttempt):
        tasks.run_attempt(slow, None, is_stopping=never)
    assert StudyShard.objects.filter(state=ShardState.DONE).count() == 2


def test_of_two_workers_that_finish_a_study_one_writes(study: Backtest) -> None:
    for _ in range(shards.LEAST_SHARDS):
        tasks.run_attempt(begin_shard(), None, is_stopping=never)
    slow = begin_shard()
    assert slow.count == 0
    queue.requeue_stalled(now=LATER)
    other = begin_shard()
    with pytest.raises(execution.StaleAttempt):
        tasks.run_attempt(slow, None, is_stopping=never)
    tasks.run_attempt(other, None, is_stopping=never)
    assert result_of(study)[0]


def test_a_shard_that_loses_worker_after_worker_fails_the_study(study: Backtest) -> None:
    begin_shard()
    StudyShard.objects.update(losses=queue.MAX_LOST_WORKERS - 1)
    assert queue.requeue_stalled(now=LATER) == 1
    study.refresh_from_db()
    assert study.status == BacktestStatus.FAILED
    assert "5 workers were lost" in str(study.error)
    assert not StudyShard.objects.exists()


def test_a_shard_of_a_killed_worker_is_free_at_once(study: Backtest) -> None:
    shard = begin_shard()
    assert queue.give_up_killed(process_name(), for_memory=True, now=make.NOW) == 1
    shard.refresh_from_db()
    assert (shard.state, shard.losses) == (ShardState.WAITING, 1)
    begin_shard()
    assert queue.give_up_killed(process_name(), for_memory=True, now=make.NOW) == 1
    study.refresh_from_db()
    assert study.status == BacktestStatus.FAILED
    assert "sets or paths, take a worker about" in str(study.error)
    assert not StudyShard.objects.exists()


def test_a_worker_that_stops_gives_its_shard_back(study: Backtest) -> None:
    tasks.run_next(is_stopping=lambda: True)
    shard = StudyShard.objects.get(number=1)
    assert (shard.state, shard.losses) == (ShardState.WAITING, 0)
    run_queued()
    assert result_of(study)[0]


def test_a_cancelled_study_has_no_shards_and_its_workers_write_nothing(
    study: Backtest, alice: User
) -> None:
    shard = begin_shard()
    services.cancel(owner=alice, backtest_id=study.pk, now=make.NOW)
    assert not StudyShard.objects.exists()
    with pytest.raises(execution.StaleAttempt):
        tasks.run_attempt(shard, None, is_stopping=never)
    run_queued()
    assert Backtest.objects.get().status == BacktestStatus.CANCELLED


def test_an_error_in_a_shard_fails_the_study(
    study: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.engine.errors.MOST_TRADES", 2)
    tasks.run_next(is_stopping=never)
    study.refresh_from_db()
    assert study.error is not None
    assert study.error["code"] == Code.UNPROCESSABLE_ENTITY
    assert not StudyShard.objects.exists()


def test_a_study_of_a_stale_attempt_is_not_divided(divided: None, alice: User) -> None:
    submit_study(alice)
    running = begin()
    Backtest.objects.update(attempt=2)
    with pytest.raises(execution.StaleAttempt):
        shards.run_study(running, ignore_progress)
    assert not StudyShard.objects.exists()


def test_each_shard_has_one_slot(study: Backtest) -> None:
    assert queue.shortfall() == 0
    assert count_slots() == 1 + shards.LEAST_SHARDS  # and the unused slot of the study
