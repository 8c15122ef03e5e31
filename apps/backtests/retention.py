"""How long backtests and links to their reports are kept.

A week before a backtest is BACKTEST_KEEP_DAYS old it gets a date and its owner a mail; then it is
deleted, unless its owner keeps it. The ledger of trials stays.
"""

import logging
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction

from apps.accounts import services
from apps.accounts.models import User
from apps.accounts.services import MailKind
from apps.backtests.models import Backtest, BacktestQuerySet, ReportLink
from apps.core import audit
from apps.core.database import delete_in_batches
from apps.core.times import indian_time

# From the warning to the deletion.
WARNED_BEFORE: Final = timedelta(days=7)

log = logging.getLogger(__name__)


def purge(*, now: datetime) -> int:
    """Delete expired links to reports and expired backtests, and warn of backtests that expire
    next; return the number of deleted rows. It can be stopped at any point, and two runs may
    overlap.
    """
    return delete_in_batches(ReportLink.objects.filter(expires_at__lte=now)) + _expire(now)


def _expire(now: datetime) -> int:
    days = settings.BACKTEST_KEEP_DAYS
    warned_after = max(timedelta(0), timedelta(days=days) - WARNED_BEFORE)
    old = Backtest.objects.ended().filter(is_kept=False, completed_at__lt=now - warned_after)
    if not days:
        old = old.none()
    Backtest.objects.exclude(expires_at=None).exclude(pk__in=old).update(expires_at=None)
    owner_ids = list(old.order_by().values_list("owner", flat=True).distinct())
    return sum(_expire_backtests_of(owner_id, old, now) for owner_id in owner_ids)


@transaction.atomic
def _expire_backtests_of(owner_id: str, old: BacktestQuerySet, now: datetime) -> int:
    owner = User.objects.locked(owner_id)
    if owner is None:
        return 0
    backtests = old.filter(owner=owner)
    deleted = _delete(backtests.filter(expires_at__lte=now), now)
    expires_at = now + WARNED_BEFORE
    if warned := backtests.filter(expires_at=None).update(expires_at=expires_at):
        facts = {"number": str(warned), "expires_at": indian_time(expires_at)}
        services.notify_by_mail(owner, MailKind.BACKTESTS_EXPIRE, now=now, **facts)
    return deleted


def _delete(backtests: BacktestQuerySet, now: datetime) -> int:
    """Delete backtests with all their rows, each with an audit record; return the number
    of rows.
    """
    for backtest in backtests.only("pk", "name"):
        audit.record(
            audit.Action.BACKTEST_DELETED,
            backtest,
            actor=audit.SYSTEM,
            now=now,
            name=backtest.name,
            reason="retention",
        )
    return delete_in_batches(backtests)
