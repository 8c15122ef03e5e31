"""How long backtests and links to their reports are kept.

BACKTEST_KEEP_DAYS, _NUMBER and _MEGABYTES limit each user's backtests that have ended. Those beyond
a limit, the oldest first, get a date and their owner a mail; a week later they are deleted, unless
their owner keeps them, or they are within the limits again. The ledger of trials stays.
"""

import logging
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction

from apps.accounts import services
from apps.accounts.models import User
from apps.accounts.services import MailKind
from apps.backtests.models import ENDED, Backtest, ReportLink
from apps.backtests.services import RESULT_BYTES
from apps.core import audit
from apps.core.database import delete_in_batches
from apps.core.times import indian_time

# From the warning to the deletion.
WARNED_BEFORE: Final = timedelta(days=7)

# Those of a user that are kept come first: they use up the limits and are never beyond them.
BEYOND_LIMITS: Final = f"""
    SELECT id FROM (
        SELECT backtest.id, is_kept, completed_at, row_number() OVER newest AS number,
            sum(coalesce(bytes, 0)) OVER newest AS bytes
        FROM backtests_backtest AS backtest
        LEFT JOIN ({RESULT_BYTES}) AS result ON result.id = backtest.id
        WHERE owner_id = %(owner)s AND status = ANY(%(ended)s)
        WINDOW newest AS (
            ORDER BY is_kept DESC, completed_at DESC, backtest.id DESC ROWS UNBOUNDED PRECEDING
        )
    ) AS backtest
    WHERE NOT is_kept
        AND (completed_at < %(before)s OR number > %(most_number)s OR bytes > %(most_bytes)s)
"""

log = logging.getLogger(__name__)


def purge(*, now: datetime) -> int:
    """Delete expired links to reports and expired backtests, and warn of those that expire next;
    return how many rows were deleted. It can be stopped at any point and run twice at once.
    """
    return delete_in_batches(ReportLink.objects.filter(expires_at__lte=now)) + _expire(now)


def _expire(now: datetime) -> int:
    limits = _limits(now)
    if not limits:
        Backtest.objects.exclude(expires_at=None).update(expires_at=None)
        return 0
    owners = User.objects.filter(pk__in=Backtest.objects.ended().values("owner")).values("pk")
    return sum(_expire_backtests_of(owner["pk"], limits, now) for owner in owners.iterator())


def _limits(now: datetime) -> dict[str, Any]:
    """Return the parameters of BEYOND_LIMITS, None where there is no limit; none if nowhere is."""
    days, number = settings.BACKTEST_KEEP_DAYS, settings.BACKTEST_KEEP_NUMBER
    megabytes = settings.BACKTEST_KEEP_MEGABYTES
    if not (days or number or megabytes):
        return {}
    warned_after = max(timedelta(0), timedelta(days=days) - WARNED_BEFORE)
    return {
        "before": now - warned_after if days else None,
        "most_number": number or None,
        "most_bytes": megabytes * 1024 * 1024 or None,
        "ended": [status.value for status in ENDED],
    }


@transaction.atomic
def _expire_backtests_of(owner_id: str, limits: dict[str, Any], now: datetime) -> int:
    owner = User.objects.locked(owner_id)
    if owner is None:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(BEYOND_LIMITS, {**limits, "owner": owner_id})
        beyond = [backtest_id for (backtest_id,) in cursor.fetchall()]
    backtests = Backtest.objects.filter(owner=owner)
    backtests.exclude(pk__in=beyond).exclude(expires_at=None).update(expires_at=None)
    deleted = _delete(backtests.filter(pk__in=beyond, expires_at__lte=now), now)
    expires_at = now + WARNED_BEFORE
    if warned := backtests.filter(pk__in=beyond, expires_at=None).update(expires_at=expires_at):
        facts = {"number": str(warned), "expires_at": indian_time(expires_at)}
        services.tell_by_mail(owner, MailKind.BACKTESTS_EXPIRE, now=now, **facts)
    return deleted


def _delete(backtests: Any, now: datetime) -> int:
    """Delete backtests with all that belongs to them, each on record; return how many rows."""
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
