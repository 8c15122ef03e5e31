"""How long ended sessions and keys are kept, for their owner and for operators to look up."""

from datetime import datetime, timedelta
from typing import Final

from django.contrib.sessions.models import Session as BrowserSession
from django.db.models import Q

from apps.accounts.models import ApiKey, LoginSession
from apps.core.retention import delete_in_batches

_KEPT: Final = timedelta(days=30)


def purge(*, now: datetime) -> int:
    """Delete sessions and keys that ended or expired long ago, and Django's expired sessions.

    Returns the number of deleted rows. It may be interrupted at any point and run twice at once.
    """
    before = now - _KEPT
    return sum(
        delete_in_batches(rows)
        for rows in (
            LoginSession.objects.filter(Q(ended_at__lt=before) | Q(expires_at__lt=before)),
            ApiKey.objects.filter(Q(revoked_at__lt=before) | Q(expires_at__lt=before)),
            BrowserSession.objects.filter(expire_date__lt=now),
        )
    )
