"""The signed part of an address at which a report can be read without a token."""

from datetime import UTC, datetime, timedelta
from typing import Final

from django.core.signing import BadSignature, Signer

from apps.backtests.models import Backtest, BacktestStatus, ReportLink
from apps.core.errors import NotFound
from apps.core.ids import is_id

LIFETIME: Final = timedelta(hours=24)
_SIGNER: Final = Signer(salt="report of a backtest", sep=".")


def sign(link: ReportLink) -> str:
    """The signature keeps an address secret from whoever learns no more than the link's id."""
    return _SIGNER.sign(link.pk)


def backtest_of(signed: str, *, now: datetime) -> str:
    """Return the id of the completed backtest that the address opens.

    Raises NotFound for an address that is not ours, has expired or was recalled, and when the
    backtest is gone or its owner was switched off: a stranger cannot tell which.
    """
    try:
        content = _SIGNER.unsign(signed)
    except BadSignature:
        raise NotFound from None
    if is_id(content):
        linked = ReportLink.objects.filter(pk=content, expires_at__gt=now)
        backtests = Backtest.objects.filter(report_links__in=linked)
    else:
        backtests = Backtest.objects.filter(pk=_backtest_without_row(content, now=now))
    shared = backtests.filter(status=BacktestStatus.COMPLETED, owner__is_active=True)
    backtest_id = shared.values_list("pk", flat=True).first()
    if backtest_id is None:
        raise NotFound
    return backtest_id


def _backtest_without_row(content: str, *, now: datetime) -> str | None:
    """Links of earlier releases have no row: they name the backtest and the second of their end,
    and keep working until then.
    """
    backtest_id, _, expires = content.partition("-")
    return backtest_id if datetime.fromtimestamp(int(expires), tz=UTC) > now else None
