"""Jobs of the queue, read and written on the transaction's own connection.

Inside a worker procrastinate has connections of its own, and a job deferred on one of those is
seen by others before the transaction that asked for it commits, or without it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from procrastinate.tasks import configure_task
from procrastinate.types import JSONValue

_manager: Final = JobManager(DjangoConnector())


def enqueue(name: str, *, queue: str, arguments: Sequence[Mapping[str, JSONValue]]) -> None:
    """One job for each set of arguments; they commit, or not, with what else is written."""
    jobs = configure_task(name=name, job_manager=_manager, queue=queue)
    jobs.batch_defer(*(dict(one) for one in arguments))


def unfinished(queue: str) -> int:
    """How many wait or are being done, as far as the queue knows."""
    states = [Status.TODO.value, Status.DOING.value]
    return ProcrastinateJob.objects.filter(queue_name=queue, status__in=states).count()


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
