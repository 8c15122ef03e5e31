"""When an endpoint of a chat takes an event: not in quiet hours, and in digests where asked."""

from datetime import datetime, time, timedelta
from typing import Final

from apps.core.times import INDIA
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import DigestMode
from apps.webhooks.models import Endpoint

_DAILY: Final = time(18)  # after the close of NSE and BSE, India


def held_until(
    endpoint: Endpoint, *, type: str, created_at: datetime, now: datetime
) -> datetime | None:
    """Return when the event may be sent, None for now. A test never waits."""
    if type == EventType.WEBHOOK_TEST:
        return None
    due = max(now, _digest_after(endpoint.digest, created_at))
    local = due.astimezone(INDIA)
    if endpoint.quiet_from is not None and endpoint.quiet_until is not None:
        start, end, clock = endpoint.quiet_from, endpoint.quiet_until, local.time()
        over_midnight = start > end
        is_quiet = clock >= start or clock < end if over_midnight else start <= clock < end
        if is_quiet:
            local = _next(local, end)
    return local.astimezone(now.tzinfo) if local > now else None


def _digest_after(digest: str, created_at: datetime) -> datetime:
    """Return the time of the first digest after an event."""
    local = created_at.astimezone(INDIA)
    match digest:
        case DigestMode.HOURLY:
            return local.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        case DigestMode.DAILY:
            return _next(local, _DAILY)
    return created_at


def _next(local: datetime, clock: time) -> datetime:
    """Return the next moment at which clocks in India show this time."""
    moment = datetime.combine(local.date(), clock, INDIA)
    return moment if moment > local else moment + timedelta(days=1)
