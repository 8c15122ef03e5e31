"""How long ended sessions and keys are kept, for their owner and for operators."""

from datetime import datetime, timedelta
from typing import Final

from django.contrib.sessions.models import Session as BrowserSession
from django.db.models import Q

from apps.accounts.models import ApiKey, DataExport, EmailLink, LoginNetwork, LoginSession
from apps.accounts.own_data import closing
from apps.core.database import delete_in_batches

_KEPT: Final = timedelta(days=30)


def purge(*, now: datetime) -> int:
    """Erase closed accounts that are due, and delete sessions, keys and the like that ended long
    ago.

    Return the number of deleted rows. It can be stopped at any point, and two runs may overlap.
    """
    before = now - _KEPT
    return closing.erase_due(now=now) + sum(
        delete_in_batches(rows)
        for rows in (
            LoginSession.objects.filter(Q(ended_at__lt=before) | Q(expires_at__lt=before)),
            ApiKey.objects.filter(Q(revoked_at__lt=before) | Q(expires_at__lt=before)),
            LoginNetwork.objects.filter(last_login_at__lt=before),
            EmailLink.objects.filter(expires_at__lt=before),
            DataExport.objects.filter(expires_at__lt=now),
            BrowserSession.objects.filter(expire_date__lt=now),
        )
    )
