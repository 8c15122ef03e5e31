"""How long what no longer lets anybody in is kept, for its owner and for operators to look up."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.sessions.models import Session as BrowserSession
from django.db.models import Q, QuerySet

from apps.accounts.models import ApiKey, Session

KEPT: Final = timedelta(days=30)
BATCH: Final = 1000
"""Rows that one statement deletes, so that none holds its locks for long."""


def purge(*, now: datetime) -> int:
    """Delete sessions and keys that ended or expired long ago, and Django's expired sessions.

    Returns how many rows went. It can be stopped at any point and run twice at once.
    """
    before = now - KEPT
    return sum(
        _delete(rows)
        for rows in (
            Session.objects.filter(Q(ended_at__lt=before) | Q(expires_at__lt=before)),
            ApiKey.objects.filter(Q(revoked_at__lt=before) | Q(expires_at__lt=before)),
            BrowserSession.objects.filter(expire_date__lt=now),
        )
    )


def _delete(rows: QuerySet[Any]) -> int:
    """Any: tables of three kinds."""
    total = 0
    while deleted := rows.model.objects.filter(pk__in=rows.values("pk")[:BATCH]).delete()[0]:
        total += deleted
    return total
