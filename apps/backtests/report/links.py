"""Addresses of a report that open without a token: signed, and good for a day."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.core.signing import BadSignature, Signer

from apps.core.errors import NotFound
from apps.core.ids import is_id

LIFETIME: Final = timedelta(hours=24)
_SIGNER: Final = Signer(salt="report of a backtest", sep=".")


@dataclass(frozen=True, slots=True)
class Link:
    """`signed` stands in the address; it holds which backtest it opens, and until when."""

    signed: str
    expires_at: datetime


def sign(backtest_id: str, *, now: datetime) -> Link:
    """In whole seconds, as the address holds them."""
    expires_at = (now + LIFETIME).replace(microsecond=0)
    return Link(_SIGNER.sign(f"{backtest_id}-{int(expires_at.timestamp())}"), expires_at)


def opened(signed: str, *, now: datetime) -> str:
    """The backtest that it opens.

    Raises NotFound when it is not one of ours, or was changed, or is too old: which of them is
    nobody's business.
    """
    try:
        backtest_id, _, expires = _SIGNER.unsign(signed).partition("-")
    except BadSignature:
        raise NotFound from None
    if not is_id(backtest_id) or datetime.fromtimestamp(int(expires), tz=UTC) <= now:
        raise NotFound
    return backtest_id
