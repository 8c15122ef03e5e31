"""Which runner works on which streams.

A runner takes some streams for a few seconds at a time. Taking one raises its token; whoever writes
for a stream names the token that it took, so that one that was given up on writes nothing any more.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from apps.trading.models import BarStream

LEASE: Final = timedelta(seconds=15)
"""How long a stream is its taker's without a sign of life."""
MOST: Final = 64
"""Lanes that are taken at once."""
SHARE: Final = 3
"""Of those that wait one in so many is taken: other runners find some too."""
FEWEST: Final = 8
"""So many are taken in any case: what a turn costs by itself is as much as what they cost."""
PATIENCE: Final = timedelta(seconds=5)
"""A stream that has waited so long is taken by whoever comes."""

_LANE: Final = BarStream._meta.db_table
_WAITS: Final = "wake_at <= %(now)s AND (leased_until IS NULL OR leased_until <= %(now)s)"
# Who is lost while it works leaves the streams to be looked at when their lease is over.
_ACQUIRE: Final = f"""
    UPDATE {_LANE} SET lease_token = lease_token + 1, leased_until = %(until)s, wake_at = %(until)s
    WHERE id = ANY(ARRAY(
        SELECT id FROM {_LANE} WHERE {_WAITS}
        ORDER BY wake_at > %(late)s, (id, lease_token) IN (
            SELECT * FROM unnest(%(ids)s::int8[], %(tokens)s::int8[])
        ) DESC, wake_at, id
        LIMIT (
            SELECT greatest(ceil(count(*) / %(share)s::float8), %(fewest)s)
            FROM (SELECT FROM {_LANE} WHERE {_WAITS} LIMIT %(most)s) AS waiting
        )
        FOR NO KEY UPDATE SKIP LOCKED
    )) RETURNING *
"""
_MINE: Final = f"""
    SELECT mine.* FROM {_LANE} AS stream
    JOIN unnest(%s::int8[], %s::int8[], %s::timestamptz[], %s::timestamptz[])
        AS mine (id, token, taken, next) ON stream.id = mine.id AND stream.lease_token = mine.token
    ORDER BY stream.id FOR NO KEY UPDATE OF stream
"""
_RENEW: Final = f"""
    UPDATE {_LANE} AS stream SET leased_until = mine.next
    FROM ({_MINE}) AS mine WHERE stream.id = mine.id RETURNING stream.id
"""
# An earlier wake than the one that taking the stream has left came meanwhile, and stands.
_RELEASE: Final = f"""
    UPDATE {_LANE} AS stream SET leased_until = NULL,
        wake_at = LEAST(NULLIF(wake_at, mine.taken), mine.next)
    FROM ({_MINE}) AS mine WHERE stream.id = mine.id
"""


def acquire(*, had: Iterable[BarStream], now: datetime) -> list[BarStream]:
    """A share of the streams that wait to be looked at, for as long as LEASE: first those that wait
    for long, then those that nobody else has taken since the caller `had` them.
    """
    before = list(had)
    names = {
        "now": now, "until": now + LEASE, "late": now - PATIENCE, "share": SHARE,
        "fewest": FEWEST, "most": MOST * SHARE, "ids": [stream.pk for stream in before],
        "tokens": [stream.lease_token for stream in before],
    }  # fmt: skip
    return sorted(BarStream.objects.raw(_ACQUIRE, names), key=lambda stream: stream.pk)


def renew(taken: Collection[BarStream], *, now: datetime) -> frozenset[int]:
    """Lock the streams for the transaction and extend their leases; return the ids of those that
    the caller still holds. For the others nothing may be written.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RENEW, _columns(dict.fromkeys(taken, now + LEASE)))
        return frozenset(pk for (pk,) in cursor.fetchall())


def release(next_looks: Mapping[BarStream, datetime | None]) -> None:
    """Let others take them, each when it is woken or at its next look."""
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE, _columns(next_looks))


def _columns(moments: Mapping[BarStream, datetime | None]) -> list[list[object]]:
    return [
        [stream.pk for stream in moments],
        [stream.lease_token for stream in moments],
        [stream.wake_at for stream in moments],
        list(moments.values()),
    ]
