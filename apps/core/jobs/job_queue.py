"""Jobs of the queue, read and written on the transaction's own connection.

Inside a worker procrastinate uses connections of its own: a job deferred there becomes visible
before the caller's transaction commits, and even if it rolls back.
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
    """The state of a job in operators' words; successful jobs are deleted."""

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
    """Enqueue a job for each set of arguments, in the caller's transaction, to start at once or at
    `at`.
    """
    jobs = configure_task(name=name, job_manager=_manager, queue=queue, schedule_at=at)
    jobs.batch_defer(*(dict(job) for job in arguments))


def enqueue_once(
    name: str, *, queue: str, lock: str, arguments: Mapping[str, JSONValue], priority: int = 0
) -> None:
    """Enqueue a job, unless a job with this lock is waiting.

    Jobs of a higher `priority` start first.
    """
    job = configure_task(
        name=name, job_manager=_manager, queue=queue, queueing_lock=lock, priority=priority
    )
    with suppress(AlreadyEnqueued), transaction.atomic():
        job.defer(**arguments)


def count_unfinished(queue: str) -> int:
    """Return how many jobs wait or run."""
    states = [Status.TODO.value, Status.DOING.value]
    return ProcrastinateJob.objects.filter(queue_name=queue, status__in=states).count()


def waiting(queue: str, *, name: str | None = None) -> bool:
    """Return whether any job is waiting, or any job of this name."""
    jobs = ProcrastinateJob.objects.filter(queue_name=queue, status=Status.TODO.value)
    return jobs.filter(**({"task_name": name} if name else {})).exists()


def counts() -> dict[tuple[str, str], int]:
    """Return the number of jobs, keyed by queue and status."""
    rows = ProcrastinateJob.objects.values_list("queue_name", "status").order_by()
    return {(queue, status): number for queue, status, number in rows.annotate(Count("id"))}


def put_back_lost(queue: str, *, silence: timedelta, now: datetime) -> int:
    """Requeue the jobs of workers without a heartbeat for `silence`; procrastinate itself does not.

    Return their number.
    """
    silent = Q(worker=None) | Q(worker__last_heartbeat__lt=now - silence)
    lost = ProcrastinateJob.objects.filter(silent, queue_name=queue, status=Status.DOING.value)
    ids = list(lost.values_list("id", flat=True))
    for job_id in ids:
        _manager.retry_job_by_id(job_id, retry_at=now)
    return len(ids)


def purge_finished(*, before: datetime, most: int) -> int:
    """Delete up to `most` jobs that ended before then, with any outcome; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(PURGE, [before, most])
        return int(cursor.rowcount)
