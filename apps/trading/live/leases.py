"""Leases: the assignment of bar streams to runners.

A runner leases some streams for a few seconds at a time. Leasing a stream raises its token, and
every write for a stream names the token of its lease. So a runner that has lost its lease can write
nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from apps.trading.models import BarStream, queries

# How long a lease holds without being renewed.
LEASE: Final = timedelta(seconds=8)
# A runner leases one in SHARE of the due streams, so that other runners find some too, but at least
# FEWEST_STREAMS (a pass costs as much as so many streams) and at most MOST_STREAMS.
SHARE: Final = 3
FEWEST_STREAMS: Final = 8
MOST_STREAMS: Final = 64
# A stream that has been due for this long is leased by any runner, even if another had it before.
OVERDUE: Final = timedelta(seconds=5)


def acquire(*, known: Iterable[BarStream], now: datetime) -> list[BarStream]:
    """Lease a share of the due streams, until LEASE from now.

    Overdue streams come first, then streams with an unchanged lease since the caller had them as
    `known`.
    """
    streams = list(known)
    parameters = {
        "now": now,
        "until": now + LEASE,
        "overdue": now - OVERDUE,
        "share": SHARE,
        "fewest": FEWEST_STREAMS,
        "most": MOST_STREAMS * SHARE,
        "ids": [stream.pk for stream in streams],
        "tokens": [stream.lease_token for stream in streams],
    }
    leased = BarStream.objects.raw(queries.ACQUIRE_LEASES, parameters)
    return sorted(leased, key=lambda stream: stream.pk)


def renew(streams: Collection[BarStream], *, now: datetime) -> frozenset[int]:
    """Lock the streams for the transaction and renew their leases; return the ids that the caller
    still holds. The caller must not write for the others.
    """
    with connection.cursor() as cursor:
        cursor.execute(queries.RENEW_LEASES, _columns(dict.fromkeys(streams, now + LEASE)))
        return frozenset(pk for (pk,) in cursor.fetchall())


def release(next_polls: Mapping[BarStream, datetime | None]) -> None:
    """End the leases; each stream is due again when it is woken, or at its next poll."""
    with connection.cursor() as cursor:
        cursor.execute(queries.RELEASE_LEASES, _columns(next_polls))


def _columns(moments: Mapping[BarStream, datetime | None]) -> list[list[object]]:
    return [
        [stream.pk for stream in moments],
        [stream.lease_token for stream in moments],
        [stream.wake_at for stream in moments],
        list(moments.values()),
    ]
