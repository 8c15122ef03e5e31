"""Reading a report: by its owner, and by whoever was sent a link."""

from datetime import datetime

from django.db import transaction

from apps.accounts.models import User
from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest
from apps.backtests.report import links
from apps.backtests.report.links import Link
from apps.core import audit
from apps.core.errors import Code, NotFound, ServiceError


class NotCompleted(ServiceError):
    """There is no result to report on."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The backtest is {currentStatus}; only one that is completed has a report."


def completed(*, owner: User, backtest_id: str) -> Backtest:
    """One that has a result. Raises BacktestNotFound, NotCompleted."""
    backtest = Backtest.objects.owned_by(owner).fetch(backtest_id)
    if backtest.status != Status.COMPLETED:
        raise NotCompleted(
            backtestId=backtest.pk,
            currentStatus=backtest.status,
            requiredStatus=Status.COMPLETED.value,
        )
    return backtest


@transaction.atomic
def share(*, owner: User, backtest_id: str, now: datetime) -> Link:
    """An address for whoever is to see the report. Raises BacktestNotFound, NotCompleted."""
    backtest = completed(owner=owner, backtest_id=backtest_id)
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
