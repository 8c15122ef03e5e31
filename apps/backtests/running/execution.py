"""One attempt at a backtest in a worker: its heartbeat, its progress, and its end.

`simulating` computes the result between them, without an open transaction, and `shards` the parts
of a study. Every write names its attempt, so a worker that was presumed lost cannot overwrite the
work of the next one.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from django.db import InterfaceError, OperationalError, connection, transaction

from apps.algorithms.services import keep_monte_carlo, keep_walk_forward
from apps.backtests.models import (
    Backtest,
    BacktestKind,
    BacktestStatus,
    BacktestTransition,
    ShardState,
    StudyShard,
)
from apps.backtests.running import queue, results, trial_ledger
from apps.backtests.running.queue import HEARTBEAT_SECONDS, Work
from apps.backtests.running.range_coverage import add_coverage
from apps.backtests.running.receipts import FirstReceipt
from apps.backtests.running.simulating import BacktestOutput
from apps.core import database
from apps.core.errors import Code
from apps.core.times import wire_time
from apps.engine import ENGINE_VERSION
from apps.engine.results import Trades

log = logging.getLogger(__name__)

# Studies whose results are also stored with the algorithm.
_SAVE_WITH_ALGORITHM: Final[Mapping[BacktestKind, Callable[..., None]]] = {
    BacktestKind.WALK_FORWARD: keep_walk_forward,
    BacktestKind.MONTE_CARLO: keep_monte_carlo,
}
REPORT_SECONDS: Final = 0.5


class StaleAttempt(Exception):
    """The attempt was cancelled, or another worker has taken over."""


class WorkerStopping(Exception):
    """The worker is about to stop before the simulation is done."""


@contextmanager
def heartbeat(work: Work) -> Iterator[Callable[[], bool]]:
    """Update the heartbeat every few seconds from a separate thread.

    Yield a function that returns whether the attempt, or the try, is stale.
    """
    done, stale = threading.Event(), threading.Event()

    def beat() -> None:
        while not done.wait(HEARTBEAT_SECONDS):
            try:
                if not work.update_running(heartbeat_at=database.now()):
                    stale.set()
                    break
            except (OperationalError, InterfaceError) as error:
                log.warning("%s has no heartbeat: %s", work.pk, error)
                connection.close()
        connection.close()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield stale.is_set
    finally:
        done.set()
        thread.join()


def progress_reporter(
    work: Work,
    *,
    is_stopping: Callable[[], bool],
    is_stale: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> Callable[[float], None]:
    """Return a function that takes the fraction done and writes it every half second.

    For a shard it writes only a heartbeat, because the progress of a study is that of all its
    shards. It raises WorkerStopping or StaleAttempt soon after `is_stopping` or `is_stale` returns
    True.
    """
    reported_at = clock()

    def report(done: float) -> None:
        nonlocal reported_at
        if is_stopping():
            raise WorkerStopping
        if is_stale():
            raise StaleAttempt
        if clock() - reported_at >= REPORT_SECONDS:
            reported_at = clock()
            changes: dict[str, object] = {"heartbeat_at": database.now()}
            if isinstance(work, Backtest):
                changes["progress"] = min(99, int(done * 100))
            if not work.update_running(**changes):
                raise StaleAttempt

    return report


@transaction.atomic
def complete(*, backtest: Backtest, output: BacktestOutput, now: datetime) -> None:
    """Record performance, trades, curve and study results in one transaction.

    Raises StaleAttempt.
    """
    result = output.result
    completed = Backtest.objects.attempt(backtest).transition(
        BacktestTransition.COMPLETE,
        performance=result.performance,
        study_results=output.study_results,
        receipt=_receipt(output, backtest),
        progress=100,
        completed_at=now,
    )
    if not completed:
        raise StaleAttempt
    backtest.shards.all().delete()
    trades = Trades(result.trades, result.excursions, result.fills)
    results.save_result(
        backtest,
        trades=trades,
        curve=result.curve,
        candle_series=[series._asdict() for series in result.candle_series],
        study_chart=output.chart,
    )
    _save_with_algorithm(backtest, output.study_results, now)
    trial_ledger.record_trials(backtest, output, now=now)
    queue.write_end_event(backtest, BacktestStatus.COMPLETED, now=now)


def _save_with_algorithm(
    backtest: Backtest, computed: Mapping[str, object] | None, now: datetime
) -> None:
    """Store the results of a walk-forward or Monte Carlo with the algorithm, with their origin.

    A reproduction does not overwrite stored results, which may be of a later study.
    """
    save = _SAVE_WITH_ALGORITHM.get(BacktestKind(backtest.kind))
    if save is not None and backtest.reproduces_id is None:
        origin = {
            "backtestId": backtest.pk,
            "algorithmVersion": backtest.algorithm_version,
            "engineVersion": ENGINE_VERSION,
            "startDate": backtest.start_date,
            "endDate": backtest.end_date,
            "completedAt": wire_time(now),
        }
        save(algorithm_id=backtest.algorithm_id, results={**origin, **(computed or {})}, now=now)


def _receipt(output: BacktestOutput, backtest: Backtest) -> FirstReceipt:
    """Return the inputs behind the result, and the hash that identifies equal results.

    `coverage` is the stored share of the range; a warning of low coverage leads the notes.
    `synthetic` names the symbols with generated bars: such a result shows how the service works,
    not how a market behaves.
    """
    return {
        **add_coverage(output.result.receipt, output.coverage),
        **output.hashes(backtest.study),
        "synthetic": sorted(
            coverage.symbol for coverage in output.coverage if coverage.generated_until is not None
        ),
    }


@transaction.atomic
def requeue(*, work: Work) -> None:
    """Queue the backtest or the shard again, with a new dispatch slot. Raises StaleAttempt."""
    if isinstance(work, StudyShard):
        requeued = StudyShard.objects.held(work).update(state=ShardState.WAITING)
    else:
        requeued = Backtest.objects.attempt(work).transition(
            BacktestTransition.REQUEUE, progress=0, started_at=None
        )
    if not requeued:
        raise StaleAttempt
    queue.enqueue()


@transaction.atomic
def fail(*, backtest: Backtest, code: Code, message: str, now: datetime) -> None:
    """Record the reason of a failure. Raises StaleAttempt."""
    error = {"code": code.value, "message": message}
    failed = Backtest.objects.attempt(backtest).transition(
        BacktestTransition.FAIL, error=error, completed_at=now
    )
    if not failed:
        raise StaleAttempt
    backtest.shards.all().delete()
    queue.write_end_event(backtest, BacktestStatus.FAILED, error=error, now=now)
