"""How long what nobody needs any more is kept: links to reports, until they open nothing."""

from datetime import datetime

from apps.backtests.models import ReportLink
from apps.core.retention import delete_in_batches


def purge(*, now: datetime) -> int:
    """Delete expired links to reports; return how many. It can be stopped at any point and run
    twice at once.
    """
    return delete_in_batches(ReportLink.objects.filter(expires_at__lte=now))
