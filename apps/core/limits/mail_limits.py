"""Limits on outgoing mails: for each kind, to one address and for one user.

They are counted like requests (`apps.core.limits.rate_limits`), over all accounts and calls.
"""

from typing import Final

from apps.core.limits import rate_limits
from apps.core.limits.rate_limits import RateLimitScope

RATES: Final = ("3/h", "10/d")


def count_mail(kind: str, *, to: str, user_id: str, rates: tuple[str, ...] = RATES) -> None:
    """Count a mail that is about to leave. Raises TooManyRequests."""
    for rate in rates:
        for key in (_mailbox(to), user_id):
            scope = RateLimitScope(f"mail-{kind}-{rate}", rate, key)
            rate_limits.refuse_exceeded(rate_limits.count_request(scope))


def _mailbox(address: str) -> str:
    """Return the address without a tag: mails to name+tag@host usually reach name@host."""
    name, _, host = address.lower().rpartition("@")
    return f"{name.partition('+')[0]}@{host}"
