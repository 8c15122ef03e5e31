"""How long what belongs to requests and to the queue is kept."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import QuerySet

from apps.core import audit, jobs
from apps.core.models import Counter, IdempotencyKey

JOBS_KEPT: Final = timedelta(days=30)
"""Those that failed, for operators to look up; a worker deletes at once what went well."""
BATCH: Final = 1000
"""Rows that one statement deletes, so that none holds its locks for long."""


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


def delete_in_batches(rows: QuerySet[Any]) -> int:
    """How many went."""
    total = 0
    while deleted := rows.model.objects.filter(pk__in=rows.values("pk")[:BATCH]).delete()[0]:
        total += deleted
    return total


def _purge_jobs(*, before: datetime) -> int:
    total = 0
    while deleted := jobs.purge_finished(before=before, most=BATCH):
        total += deleted
    return total
