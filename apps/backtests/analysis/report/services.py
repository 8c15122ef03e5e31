"""Reports of backtests: read one, share it by a link, and recall the link."""

from datetime import datetime, timedelta
from typing import Final

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.backtests.analysis.report import page_cache
from apps.backtests.analysis.report.page import ResultPage, standalone_page
from apps.backtests.models import Backtest, BacktestNotFound, BacktestStatus, ReportLink
from apps.backtests.running import results
from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import NotFound

LINK_LIFETIME: Final = timedelta(hours=24)
SIGNER: Final = Signer(salt="report of a backtest", sep=".")


def read_result_page(*, owner: User, backtest_id: str, now: datetime) -> ResultPage:
    """Return the parts of the page. Raises BacktestNotFound, NotCompleted."""
    backtest = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    return page_cache.read(backtest.pk, now=now)


def read(*, owner: User, backtest_id: str, now: datetime) -> bytes:
    """Return the page as a file. Raises BacktestNotFound, NotCompleted."""
    return standalone_page(read_result_page(owner=owner, backtest_id=backtest_id, now=now))


def read_shared(*, signed: str, now: datetime) -> bytes:
    """Return the page of a link, as a file. Raises NotFound."""
    try:
        return standalone_page(page_cache.read(open_link(signed, now=now), now=now))
    except BacktestNotFound:
        raise NotFound from None


@transaction.atomic
def share_report(*, owner: User, backtest_id: str, now: datetime) -> ReportLink:
    """Make a link that lasts a day. Raises BacktestNotFound, NotCompleted."""
    backtest = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    link = ReportLink(backtest=backtest, expires_at=(now + LINK_LIFETIME).replace(microsecond=0))
    link.save(force_insert=True)
    details = {"link": link.pk, "expiresAt": link.expires_at}
    audit.record(Action.REPORT_SHARED, backtest, actor=audit.user(owner), now=now, **details)
    return link


def links_of(*, owner: User, backtest_id: str, now: datetime) -> QuerySet[ReportLink]:
    """Return the valid links to its report, the newest first. Raises BacktestNotFound."""
    backtest = Backtest.objects.owned_by(owner).fetch(backtest_id)
    return ReportLink.objects.filter(backtest=backtest, expires_at__gt=now).order_by(
        "-expires_at", "-pk"
    )


@transaction.atomic
def recall_link(*, owner: User, backtest_id: str, link_id: str, now: datetime) -> None:
    """End a link at once. Raises BacktestNotFound; NotFound if it has ended already."""
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


def sign_link(link: ReportLink) -> str:
    """Return the signed part of a link's address: its id alone does not reveal the address."""
    return SIGNER.sign(link.pk)


def open_link(signed: str, *, now: datetime) -> str:
    """Return the id of the completed backtest that the address opens.

    Raises NotFound for a forged, expired or recalled address, and if the backtest is deleted or its
    owner deactivated: a stranger cannot tell these apart.
    """
    try:
        link_id = SIGNER.unsign(signed)
    except BadSignature:
        raise NotFound from None
    linked = ReportLink.objects.filter(pk=link_id, expires_at__gt=now)
    backtests = Backtest.objects.filter(report_links__in=linked)
    shared = backtests.filter(status=BacktestStatus.COMPLETED, owner__is_active=True)
    backtest_id = shared.values_list("pk", flat=True).first()
    if backtest_id is None:
        raise NotFound
    return backtest_id
