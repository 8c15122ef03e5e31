"""The queue of backtests: the choice of the next one, and recovery from lost workers.

A job of the queue is a dispatch slot, not a backtest. There is one slot for each waiting backtest,
and for each waiting shard of a study; the work is chosen when a worker takes a slot. So the order
can be fair to every user, and a superfluous slot finds nothing to do.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from django.db import connection, transaction
from django.db.models import Exists, F

from apps.backtests.models import (
    Backtest,
    BacktestQuerySet,
    BacktestStatus,
    BacktestTransition,
    LastDispatch,
    ShardQuerySet,
    ShardState,
    StudyShard,
)
from apps.backtests.running import estimates, queries
from apps.core import jobs
from apps.core.errors import Code
from apps.core.machine import process_name
from apps.webhooks.events import EventType, write_event

log = logging.getLogger(__name__)

JOB: Final = "backtests.run_next"
QUEUE: Final = "backtests"
# The job that makes the evidence on a backtest; it holds no slot.
EVIDENCE_JOB: Final = "backtests.make_evidence"

HEARTBEAT_SECONDS: Final = 5.0
# A worker that was silent for so long counts as lost.
HEARTBEAT_TIMEOUT: Final = timedelta(seconds=4 * HEARTBEAT_SECONDS)
# A backtest that has cost this many workers is assumed to be the cause.
MAX_LOST_WORKERS: Final = 5


# The next work for a slot.
Work: TypeAlias = Backtest | StudyShard


def enqueue(slots: int = 1) -> None:
    """Add dispatch slots; they commit with the backtests that need them."""
    jobs.enqueue(JOB, queue=QUEUE, arguments=[{}] * slots)


def backtest_of(work: Work) -> Backtest:
    """Return the backtest of the work, which may be a shard of it."""
    return work if isinstance(work, Backtest) else work.backtest


@transaction.atomic
def begin_next(*, now: datetime, study: Backtest | None = None) -> Work | None:
    """Begin a new attempt at the next backtest, or a new try at the next shard.

    Return None if nothing waits or, with a `study`, if the next work is not a shard of this attempt
    at it.
    """
    while (backtest := next_in_queue()) is not None:
        if study is not None and not _is_shard_of(backtest, study):
            return None
        shard_id = backtest.shard_in_queue
        work = _begin(backtest, now) if shard_id is None else _begin_shard(backtest, shard_id, now)
        if work is not None:
            LastDispatch.objects.bulk_create(
                [LastDispatch(owner_id=backtest.owner_id, taken_at=now)],
                update_conflicts=True,
                unique_fields=["owner"],
                update_fields=["taken_at"],
            )
            return work
    return None


def next_in_queue() -> Backtest | None:
    """Return the next work for a free worker; `shard_in_queue` is the shard if it is one.

    It belongs to the user with the fewest workers at work and, among equals, the fewest recent
    seconds of workers. Of a user the order is: plain backtests, shards of running studies,
    queued studies. A plain backtest that two shards have overtaken since its user was last
    served comes first of all.
    """
    return next(iter(Backtest.objects.raw(queries.NEXT_IN_QUEUE)), None)


def _is_shard_of(backtest: Backtest, study: Backtest) -> bool:
    is_shard = backtest.shard_in_queue is not None
    return is_shard and (backtest.pk, backtest.attempt) == (study.pk, study.attempt)


def _begin(backtest: Backtest, now: datetime) -> Backtest | None:
    begun = Backtest.objects.attempt(backtest).transition(
        BacktestTransition.BEGIN,
        attempt=backtest.attempt + 1,
        started_at=now,
        heartbeat_at=now,
        worker=process_name(),
        progress=0,
    )
    if not begun:
        return None
    backtest.attempt += 1
    return backtest


def _begin_shard(study: Backtest, shard_id: int, now: datetime) -> StudyShard | None:
    waiting = StudyShard.objects.filter(pk=shard_id, state=ShardState.WAITING)
    begun = waiting.update(
        state=ShardState.RUNNING,
        tries=F("tries") + 1,
        started_at=now,
        heartbeat_at=now,
        worker=process_name(),
    )
    if not begun:
        return None
    shard = StudyShard.objects.defer("result").get(pk=shard_id)
    shard.backtest = study
    return shard


def charge(owner_id: str, seconds: float) -> None:
    """Add the seconds that a worker spent on work of a user."""
    with connection.cursor() as cursor:
        cursor.execute(queries.CHARGE, [seconds, owner_id])


def shortfall() -> int:
    """Return the number of missing slots of unfinished backtests and shards: 0 unless jobs were
    lost.
    """
    statuses = (BacktestStatus.QUEUED, BacktestStatus.RUNNING)
    whole = Backtest.objects.filter(status__in=statuses).undivided().count()
    shards = StudyShard.objects.unfinished().count()
    return max(0, whole + shards - jobs.count_unfinished(QUEUE))


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
    write_event(
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


class Cause(NamedTuple):
    """The cause of losing workers, and the number of workers a backtest may cost before it
    fails.
    """

    word: str
    code: Code
    most: int


LOST: Final = Cause("lost", Code.INTERNAL_SERVER_ERROR, MAX_LOST_WORKERS)
KILLED: Final = Cause("killed or lost", Code.INTERNAL_SERVER_ERROR, MAX_LOST_WORKERS)
# The first time it may have been the fault of another process.
OUT_OF_MEMORY: Final = Cause("killed for lack of memory, or lost,", Code.UNPROCESSABLE_ENTITY, 2)


def requeue_stalled(*, now: datetime) -> int:
    """Requeue, or fail, the backtests and shards of lost workers, and replace lost slots.

    Every worker process calls it every few seconds, from a thread, because a job could itself be
    lost. Concurrent calls do no harm: each change is one conditional UPDATE. Return the number of
    changed backtests and shards.
    """
    moment = now - HEARTBEAT_TIMEOUT
    changed = _give_up(
        Backtest.objects.stalled_since(moment), StudyShard.objects.stalled_since(moment), LOST, now
    )
    jobs.put_back_lost(QUEUE, silence=HEARTBEAT_TIMEOUT, now=now)
    if lost := shortfall():
        log.warning("%d dispatch slots were lost: adding them again", lost)
        enqueue(lost)
    return changed


def give_up_killed(worker: str, *, for_memory: bool, now: datetime) -> int:
    """Requeue, or fail, the work of a killed worker; return the number of changes."""
    cause = OUT_OF_MEMORY if for_memory else KILLED
    return _give_up(
        Backtest.objects.held_by(worker), StudyShard.objects.held_by(worker), cause, now
    )


def _give_up(
    backtests: BacktestQuerySet, shards: ShardQuerySet, cause: Cause, now: datetime
) -> int:
    changed = sum(_requeue_or_fail(backtest, cause, now) for backtest in backtests)
    shards = shards.defer("result").select_related("backtest")
    return changed + sum(_requeue_shard_or_fail(shard, cause, now) for shard in shards)


@transaction.atomic
def _requeue_or_fail(backtest: Backtest, cause: Cause, now: datetime) -> bool:
    """Return False if the worker has reported after all, or another process was first."""
    stalled = Backtest.objects.attempt(backtest).filter(heartbeat_at=backtest.heartbeat_at)
    losses = backtest.losses + 1
    if losses >= cause.most:
        return _fail_stalled(backtest, stalled, cause, losses, now)
    requeued = (
        stalled.transition(
            BacktestTransition.REQUEUE, progress=0, started_at=None, losses=F("losses") + 1
        )
        > 0
    )
    if requeued:
        log.warning(
            "backtest %s: its worker was %s in attempt %d",
            backtest.pk,
            cause.word,
            backtest.attempt,
        )
        enqueue()
    return requeued


@transaction.atomic
def _requeue_shard_or_fail(shard: StudyShard, cause: Cause, now: datetime) -> bool:
    """Give up the shard or, if it has cost too many workers, the whole study."""
    losses = shard.losses + 1
    if losses >= cause.most:
        study = Backtest.objects.attempt(shard.backtest).filter(
            Exists(StudyShard.objects.held(shard).filter(heartbeat_at=shard.heartbeat_at))
        )
        return _fail_stalled(shard.backtest, study, cause, losses, now)
    stalled = StudyShard.objects.held(shard).filter(heartbeat_at=shard.heartbeat_at)
    requeued = stalled.update(state=ShardState.WAITING, losses=F("losses") + 1) > 0
    if requeued:
        log.warning("%s: its worker was %s in try %d", shard, cause.word, shard.tries)
        enqueue()
    return requeued


def _fail_stalled(
    backtest: Backtest, stalled: BacktestQuerySet, cause: Cause, losses: int, now: datetime
) -> bool:
    memory = estimates.describe_memory(backtest, was_too_much=cause is OUT_OF_MEMORY)
    message = f"It was given up: {losses} workers were {cause.word} while they ran it. {memory}"
    error = {"code": cause.code.value, "message": message}
    failed = (
        stalled.transition(
            BacktestTransition.FAIL, error=error, completed_at=now, losses=F("losses") + 1
        )
        > 0
    )
    if failed:
        backtest.shards.all().delete()
        write_end_event(backtest, BacktestStatus.FAILED, error=error, now=now)
        log.error("gave up backtest %s after %d lost workers", backtest.pk, losses)
    return failed
