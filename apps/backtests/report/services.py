"""Links to a report: giving one out, and opening it."""

from datetime import datetime

from django.db import transaction

from apps.accounts.models import User
from apps.backtests import results
from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest
from apps.backtests.report import links
from apps.backtests.report.links import Link
from apps.core import audit
from apps.core.errors import NotFound


@transaction.atomic
def share(*, owner: User, backtest_id: str, now: datetime) -> Link:
    """An address for whoever is to see the report. Raises BacktestNotFound, NotCompleted."""
    backtest = results.completed(owner=owner, backtest_id=backtest_id)
    link = links.sign(backtest.pk, now=now)
    audit.record(
        audit.Action.REPORT_SHARED,
        actor=audit.user(owner),
        subject=backtest,
        details={"expiresAt": link.expires_at},
        now=now,
    )
    return link


def shared(*, signed: str, now: datetime) -> Backtest:
    """The backtest that a link opens; one of a user who was switched off is not shown any more.

    Raises NotFound.
    """
    found = Backtest.objects.filter(
        pk=links.opened(signed, now=now), status=Status.COMPLETED, owner__is_active=True
    ).first()
    if found is None:
        raise NotFound
    return found
