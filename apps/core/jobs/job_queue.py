"""Jobs of the queue, read and written on the transaction's own connection.

Inside a worker procrastinate has connections of its own, and a job deferred on one of those is
seen by others before the transaction that asked for it commits, or without it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from django.db import connection, transaction
from django.db.models import Count, Q
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from procrastinate.tasks import configure_task
from procrastinate.types import JSONValue


class JobState(Enum):
    """Where a job stands, as operators say it; those that went well are not kept."""

    WAITING = Status.TODO.value
    RUNNING = Status.DOING.value
    FAILED = Status.FAILED.value


_manager: Final = JobManager(DjangoConnector())

PURGE: Final = """
    DELETE FROM procrastinate_jobs WHERE id IN (
        SELECT id FROM procrastinate_jobs
        WHERE status NOT IN ('todo', 'doing') AND NOT EXISTS (
            SELECT FROM procrastinate_events
            WHERE job_id = procrastinate_jobs.id AND at >= %s
        ) ORDER BY id LIMIT %s
    )
"""


def enqueue(
    name: str,
    *,
    queue: str,
    arguments: Sequence[Mapping[str, JSONValue]],
    at: datetime | None = None,
) -> None:
    """One job for each set of arguments; they commit, or not, with what else is written.

    They are begun at once, or not before `at`.
    """
    jobs = configure_task(name=name, job_manager=_manager, queue=queue, schedule_at=at)
    jobs.batch_defer(*(dict(job) for job in arguments))


def enqueue_once(
    name: str, *, queue: str, lock: str, arguments: Mapping[str, JSONValue], priority: int = 0
) -> None:
    """A job, unless one with this lock waits to be begun already; of a higher `priority`, it is
    begun before those of lower ones.
    """
    job = configure_task(
        name=name, job_manager=_manager, queue=queue, queueing_lock=lock, priority=priority
    )
    with suppress(AlreadyEnqueued), transaction.atomic():
        job.defer(**arguments)


def count_unfinished(queue: str) -> int:
    """How many wait or are being done, as far as the queue knows."""
    states = [Status.TODO.value, Status.DOING.value]
    return ProcrastinateJob.objects.filter(queue_name=queue, status__in=states).count()


def waiting(queue: str, *, name: str | None = None) -> bool:
    """Whether any job waits to be begun, or any of this name."""
    jobs = ProcrastinateJob.objects.filter(queue_name=queue, status=Status.TODO.value)
    return jobs.filter(**({"task_name": name} if name else {})).exists()


def counts() -> dict[tuple[str, str], int]:
    """How many jobs there are of each queue and status."""
    rows = ProcrastinateJob.objects.values_list("queue_name", "status").order_by()
    return {(queue, status): number for queue, status, number in rows.annotate(Count("id"))}


def put_back_lost(queue: str, *, silence: timedelta, now: datetime) -> int:
    """Let others do what workers were doing that have not been heard of for `silence`.

    procrastinate itself leaves such jobs as they are. Returns how many there were.
    """
    silent = Q(worker=None) | Q(worker__last_heartbeat__lt=now - silence)
    lost = ProcrastinateJob.objects.filter(silent, queue_name=queue, status=Status.DOING.value)
    ids = list(lost.values_list("id", flat=True))
    for job_id in ids:
        _manager.retry_job_by_id(job_id, retry_at=now)
    return len(ids)


def purge_finished(*, before: datetime, most: int) -> int:
    """Delete up to `most` that ended before then, however they ended; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(PURGE, [before, most])
        return int(cursor.rowcount)
