"""Studies shared by the workers of two machines, and the capacity left for others."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Final

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.backtests import tasks
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus, StudyShard
from apps.backtests.running import shards, simulating
from apps.backtests.running.submissions import read_date_range
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import never
from tests.benchmarks.side_by_side import MEASURED, Row, report
from tests.faults.random_history import FIRST, NOW, store_random_walks
from tests.faults.test_studies import algorithm_of, search, unfinished
from tests.faults.test_worker_memory import peak_megabytes
from tests.faults.workers import Worker, working
from tests.processes import until

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True),
]

ROUNDS: Final = 3
YEAR: Final = read_date_range(FIRST, "2024-12-31", now=NOW)
OF_ANOTHER: Final = 40
TWO: Final = "processor time of 5,000 sets over a year: the busier of two workers against one"
DIVIDED: Final = "the same: one worker that divides it against one process that does not"


def submit_search(owner: User, algorithm_id: str, sets: int = 5_000) -> Backtest:
    return submit(
        owner,
        algorithm_id,
        date_range=YEAR,
        kind=BacktestKind.OPTIMIZATION,
        configs={"optimizationConfig": search(sets)},
        now=timezone.now(),
    )


@pytest.fixture
def searched() -> tuple[User, str]:
    store_random_walks()
    owner = make.user("alice")
    return owner, algorithm_of(owner)


@contextmanager
def on_processors(count: int, folder: Path) -> Iterator[list[Worker]]:
    """Run workers with a separate processor each, as on machines of one core; they have loaded
    everything.
    """
    with working(count, folder) as workers:
        for worker, processor in zip(workers, sorted(os.sched_getaffinity(0)), strict=False):
            assert worker.process is not None
            os.sched_setaffinity(worker.process.pid, {processor})
        yield workers


def seconds_of(study: Backtest) -> float:
    """Return the seconds from a worker's begin of the study to its end."""
    until(lambda: not unfinished(), seconds=300, every=0.05)
    study.refresh_from_db()
    assert study.status == BacktestStatus.COMPLETED, study.error
    assert study.completed_at is not None
    assert study.started_at is not None
    return (study.completed_at - study.started_at).total_seconds()


def processor_seconds(worker: Worker) -> float:
    """Return the processor time of the worker."""
    assert worker.process is not None
    fields = Path(f"/proc/{worker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processor_seconds_of(study: Backtest, workers: list[Worker]) -> float:
    """Return the processor time of the worker that used most for the study, which other load does
    not affect.
    """
    before = [processor_seconds(worker) for worker in workers]
    seconds_of(study)
    after = [processor_seconds(worker) for worker in workers]
    return max(end - begin for begin, end in zip(before, after, strict=True))


def whole_seconds(owner: User, algorithm_id: str) -> float:
    """Return the seconds of this process, on one processor, undivided."""
    processors = os.sched_getaffinity(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "SECONDS_ALONE", 1e9)
        patch.setattr(simulating, "THREADS", 1)
        patch.setattr(simulating, "THREADS_OF_A_SHARD", 1)
        os.sched_setaffinity(0, {min(processors)})
        try:
            study, begun = submit_search(owner, algorithm_id), time.process_time()
            tasks.run_next(is_stopping=never)
            used = time.process_time() - begun
        finally:
            os.sched_setaffinity(0, processors)
    seconds_of(study)
    return used


def test_two_workers_of_one_processor_share_a_search(
    searched: tuple[User, str], tmp_path: Path
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("There is one processor.")
    rounds: dict[int, list[float]] = {}
    for count in (1, 2):
        with on_processors(count, tmp_path) as workers:
            times = [
                processor_seconds_of(submit_search(*searched), workers) for _ in range(2 + ROUNDS)
            ]
            rounds[count] = times[2:]  # the first ones load their code
    whole = [whole_seconds(*searched) for _ in range(1 + ROUNDS)][1:]
    assert report(TWO, rounds[2], rounds[1]) > 0
    assert report(DIVIDED, rounds[1], whole) > 0
    receipts = Backtest.objects.values_list("receipt", flat=True)
    assert len({receipt["result"] for receipt in receipts if receipt}) == 1


def test_another_user_waits_for_a_shard_not_for_a_study(
    searched: tuple[User, str], tmp_path: Path
) -> None:
    """There is one worker. The search is of 10,000 sets, and the worker's memory is printed too."""
    bob = make.user("bob")
    plain = algorithm_of(bob)
    span = read_date_range("2024-11-01", "2024-11-30", now=NOW)
    waits = []
    with on_processors(1, tmp_path) as (worker,):
        for _ in range(OF_ANOTHER):
            if not StudyShard.objects.exists():
                until(lambda: not unfinished(), seconds=300)
                submit_search(*searched, 10_000)
                until(StudyShard.objects.exists, seconds=60)
            backtest = submit(bob, plain, date_range=span, now=timezone.now())
            begun = time.monotonic()
            until(
                lambda pk=backtest.pk: Backtest.objects.get(pk=pk).completed_at,  # type: ignore[misc]  # mypy infers no lambda with a default
                seconds=60,
            )
            waits.append(time.monotonic() - begun)
        until(lambda: not unfinished(), seconds=300)
        peak = peak_megabytes(worker)
    typical, late = (quantiles(waits, n=20)[index] for index in (9, 18))
    print(
        f"\n{OF_ANOTHER} backtests during searches: p50 {typical:.2f} s, p95 {late:.2f} s", end=""
    )
    print(f"; the worker held at most {peak:.0f} MB")
    name = "a backtest while another user's 10,000 sets run, one worker: p50, p95"
    MEASURED.append(Row(name, f"{typical:.2f} s", f"{late:.2f} s"))
    MEASURED.append(Row("that worker's memory at its most", f"{peak:.0f} MB"))
    assert set(Backtest.objects.values_list("status", flat=True)) == {BacktestStatus.COMPLETED}
