"""The queue of backtests: which one runs next, and what happens when a worker is lost.

A job of the queue is a dispatch slot, not a backtest. There is one slot for each waiting backtest,
and which backtest runs is decided when a worker takes a slot. So the order can be fair to every
user, and a superfluous slot finds nothing to do.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F

from apps.backtests.models import (
    Backtest,
    BacktestQuerySet,
    BacktestStatus,
    BacktestTransition,
    LastDispatch,
)
from apps.core import jobs
from apps.core.errors import Code
from apps.webhooks import outbox
from apps.webhooks.event_types import EventType

log = logging.getLogger(__name__)

JOB: Final = "backtests.take_turn"
QUEUE: Final = "backtests"

HEARTBEAT_SECONDS: Final = 5.0
# A worker that was silent for so long counts as lost.
HEARTBEAT_TIMEOUT: Final = timedelta(seconds=4 * HEARTBEAT_SECONDS)
# A backtest that has cost so many workers is taken for the cause.
MAX_LOST_WORKERS: Final = 5


def enqueue(slots: int = 1) -> None:
    """Add dispatch slots; they commit with the backtests that need them."""
    jobs.enqueue(JOB, queue=QUEUE, arguments=[{}] * slots)


@transaction.atomic
def begin_next(*, now: datetime) -> Backtest | None:
    """Begin a new attempt at the next backtest; return None when none is queued."""
    while (backtest := Backtest.objects.next_in_queue()) is not None:
        begun = Backtest.objects.attempt(backtest).transition(
            BacktestTransition.BEGIN,
            attempt=backtest.attempt + 1,
            started_at=now,
            heartbeat_at=now,
            progress=0,
        )
        if begun:
            backtest.attempt += 1
            LastDispatch.objects.bulk_create(
                [LastDispatch(owner_id=backtest.owner_id, taken_at=now)],
                update_conflicts=True,
                unique_fields=["owner"],
                update_fields=["taken_at"],
            )
            return backtest
    return None


def shortfall() -> int:
    """Count the slots that queued and running backtests lack: none, unless jobs were lost."""
    unfinished = (BacktestStatus.QUEUED, BacktestStatus.RUNNING)
    return max(
        0, Backtest.objects.filter(status__in=unfinished).count() - jobs.count_unfinished(QUEUE)
    )


def write_end_event(
    backtest: Backtest,
    status: BacktestStatus,
    *,
    error: Mapping[str, str] | None = None,
    now: datetime,
) -> None:
    """Write the event of a completed or failed backtest into the sequence of its algorithm.

    It is the last write of the transaction that ends the backtest.
    """
    is_completed = status is BacktestStatus.COMPLETED
    outbox.write(
        EventType.BACKTEST_COMPLETED if is_completed else EventType.BACKTEST_FAILED,
        owner_id=backtest.owner_id,
        algorithm_id=backtest.algorithm_id,
        backtest_id=backtest.pk,
        data={
            "backtestId": backtest.pk,
            "algorithmId": backtest.algorithm_id,
            "algorithmName": backtest.algorithm.name,
            "status": status,
            "error": error,
        },
        now=now,
    )


# ------------------------------------------------------------------------------------ lost workers


def requeue_stalled(*, now: datetime) -> int:
    """Requeue, or fail, the backtests of lost workers, and replace lost slots.

    Every worker process does this every few seconds, in a thread and not in a job: a job could
    itself be lost. Two at the same moment do no harm, as each change is one conditional UPDATE.
    Returns the number of backtests that changed.
    """
    stalled = list(Backtest.objects.stalled_since(now - HEARTBEAT_TIMEOUT))
    changed = sum(_requeue_or_fail(backtest, now) for backtest in stalled)
    jobs.put_back_lost(QUEUE, silence=HEARTBEAT_TIMEOUT, now=now)
    if lost := shortfall():
        log.warning("%d dispatch slots were lost: adding them again", lost)
        enqueue(lost)
    return changed


@transaction.atomic
def _requeue_or_fail(backtest: Backtest, now: datetime) -> bool:
    """Return False when the worker has reported after all, or another process was first."""
    stalled = Backtest.objects.attempt(backtest).filter(heartbeat_at=backtest.heartbeat_at)
    if backtest.losses + 1 >= MAX_LOST_WORKERS:
        return _fail_stalled(backtest, stalled, now)
    requeued = (
        stalled.transition(
            BacktestTransition.REQUEUE, progress=0, started_at=None, losses=F("losses") + 1
        )
        > 0
    )
    if requeued:
        log.warning("backtest %s: its worker was lost in attempt %d", backtest.pk, backtest.attempt)
        enqueue()
    return requeued


def _fail_stalled(backtest: Backtest, stalled: BacktestQuerySet, now: datetime) -> bool:
    message = f"It was given up: {MAX_LOST_WORKERS} workers were lost while they ran it."
    error = {"code": Code.INTERNAL_SERVER_ERROR.value, "message": message}
    failed = (
        stalled.transition(
            BacktestTransition.FAIL, error=error, completed_at=now, losses=F("losses") + 1
        )
        > 0
    )
    if failed:
        write_end_event(backtest, BacktestStatus.FAILED, error=error, now=now)
        log.error("backtest %s was given up after %d lost workers", backtest.pk, MAX_LOST_WORKERS)
    return failed
