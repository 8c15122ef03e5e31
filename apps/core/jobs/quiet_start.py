"""The quiet start of a restored copy: it does not trade or send until an operator ends it.

The service that was backed up may still run, and both would do the same work. A restore writes the
row of the quiet start in the transaction that loads the data, so the two appear together. Code that
trades or sends checks it in the same statement or transaction.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone
from procrastinate.types import JSONValue

from apps.core import audit
from apps.core.errors import Code, ServiceError
from apps.core.jobs import job_queue
from apps.core.models import QuietStart

# A condition of SQL.
IS_QUIET: Final = f"EXISTS (SELECT FROM {QuietStart._meta.db_table} WHERE ended_at IS NULL)"
# How often a mail looks whether it may be sent.
POSTPONED_FOR: Final = timedelta(minutes=1)


class NoQuietStart(ServiceError):
    code = Code.UNPROCESSABLE_ENTITY
    message = "There is no quiet start to end: trading and webhooks are already running."


def is_quiet() -> bool:
    return QuietStart.objects.filter(ended_at=None).exists()


def postpones(job: str, *, queue: str, arguments: Mapping[str, JSONValue]) -> bool:
    """Return whether the quiet start holds a job back; the job is then enqueued again for later."""
    if not is_quiet():
        return False
    job_queue.enqueue(job, queue=queue, arguments=[arguments], at=timezone.now() + POSTPONED_FOR)
    return True


@transaction.atomic
def end_quiet_start(*, operator: audit.Actor, reason: str, now: datetime) -> None:
    """Let trading, webhooks and mails continue. Raises NoQuietStart."""
    rows = list(QuietStart.objects.select_for_update().filter(ended_at=None))
    if not rows:
        raise NoQuietStart
    for row in rows:
        row.ended_at = now
        row.save(update_fields=["ended_at"])
        audit.record(audit.Action.QUIET_START_ENDED, row, actor=operator, now=now, reason=reason)
