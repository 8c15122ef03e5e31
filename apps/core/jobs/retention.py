"""How long what belongs to requests and to the queue is kept."""

from datetime import datetime, timedelta
from typing import Final

from apps.core import audit
from apps.core.database import batches
from apps.core.database.batches import delete_in_batches
from apps.core.jobs import job_queue
from apps.core.models import Counter, IdempotencyKey

JOBS_KEPT: Final = timedelta(days=30)
"""Those that failed, for operators to look up; a worker deletes at once what went well."""


def purge(*, now: datetime) -> int:
    """Delete expired counters and remembered answers, old audit records, and jobs that ended long
    ago.

    Returns how many rows went. It can be stopped at any point and run twice at once.
    """
    return (
        delete_in_batches(Counter.objects.filter(expires_at__lt=now))
        + delete_in_batches(IdempotencyKey.objects.filter(expires_at__lte=now))
        + _purge_jobs(before=now - JOBS_KEPT)
        + audit.purge()
    )


def _purge_jobs(*, before: datetime) -> int:
    total = 0
    while deleted := job_queue.purge_finished(before=before, most=batches.BATCH):
        total += deleted
    return total
