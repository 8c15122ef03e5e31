"""How long data of requests and of the queue is kept."""

from datetime import datetime, timedelta
from typing import Final

from apps.core import audit
from apps.core.database import batches
from apps.core.database.batches import delete_in_batches
from apps.core.jobs import job_queue
from apps.core.models import Counter, IdempotencyKey

JOBS_KEPT: Final = timedelta(days=30)
"""Failed jobs are kept for operators; a worker deletes successful jobs at once."""


def purge(*, now: datetime) -> int:
    """Delete expired counters and remembered answers, old audit records, and jobs that ended long
    ago. Return the number of deleted rows. It can be stopped at any point, and two runs may
    overlap.
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
