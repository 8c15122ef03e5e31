"""Reports of backtests: reading one, giving out links to it, and recalling them."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.backtests import results
from apps.backtests.models import Backtest, BacktestNotFound, ReportLink
from apps.backtests.report import links, pages
from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import NotFound


def read(*, owner: User, backtest_id: str, now: datetime) -> bytes:
    """Return the page. Raises BacktestNotFound, NotCompleted."""
    return pages.read(results.fetch_completed(owner=owner, backtest_id=backtest_id).pk, now=now)


def read_shared(*, signed: str, now: datetime) -> bytes:
    """Return the page that a link opens. Raises NotFound."""
    try:
        return pages.read(links.backtest_of(signed, now=now), now=now)
    except BacktestNotFound:
        raise NotFound from None


@transaction.atomic
def share(*, owner: User, backtest_id: str, now: datetime) -> ReportLink:
    """Make a link that lasts a day. Raises BacktestNotFound, NotCompleted."""
    backtest = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    link = ReportLink(backtest=backtest, expires_at=(now + links.LIFETIME).replace(microsecond=0))
    link.save(force_insert=True)
    details = {"link": link.pk, "expiresAt": link.expires_at}
    audit.record(Action.REPORT_SHARED, backtest, actor=audit.user(owner), now=now, **details)
    return link


def links_of(*, owner: User, backtest_id: str, now: datetime) -> QuerySet[ReportLink]:
    """Return the links that still open its report, the newest first. Raises BacktestNotFound."""
    backtest = Backtest.objects.owned_by(owner).fetch(backtest_id)
    return ReportLink.objects.filter(backtest=backtest, expires_at__gt=now).order_by(
        "-expires_at", "-pk"
    )


@transaction.atomic
def recall(*, owner: User, backtest_id: str, link_id: str, now: datetime) -> None:
    """End a link at once. Raises BacktestNotFound; NotFound when it has ended already."""
    rows = links_of(owner=owner, backtest_id=backtest_id, now=now)
    link = (
        rows.select_for_update(of=("self",)).select_related("backtest").filter(pk=link_id).first()
    )
    if link is None:
        raise NotFound
    details = {"link": link.pk, "expiresAt": link.expires_at}
    actor = audit.user(owner)
    audit.record(Action.REPORT_LINK_RECALLED, link.backtest, actor=actor, now=now, **details)
    link.delete()
