"""Which runner works on which lanes.

A runner takes some lanes for a few seconds at a time. Taking one raises its token; whoever writes
for a lane names the token that it took, so that one that was given up on writes nothing any more.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from apps.trading.models import Lane

LEASE: Final = timedelta(seconds=15)
"""How long a lane is its taker's without a sign of life."""
MOST: Final = 64
"""Lanes that are taken at once."""
SHARE: Final = 3
"""Of those that wait one in so many is taken: other runners find some too."""
FEWEST: Final = 8
"""So many are taken in any case: what a turn costs by itself is as much as what they cost."""
PATIENCE: Final = timedelta(seconds=5)
"""A lane that has waited so long is taken by whoever comes."""

_LANE: Final = Lane._meta.db_table
_WAITS: Final = "wake_at <= %(now)s AND (leased_until IS NULL OR leased_until <= %(now)s)"
# Who is lost while it works leaves the lanes to be looked at when their lease is over.
_TAKE: Final = f"""
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
    SELECT mine.* FROM {_LANE} AS lane
    JOIN unnest(%s::int8[], %s::int8[], %s::timestamptz[], %s::timestamptz[])
        AS mine (id, token, taken, next) ON lane.id = mine.id AND lane.lease_token = mine.token
    ORDER BY lane.id FOR NO KEY UPDATE OF lane
"""
_HOLD: Final = f"""
    UPDATE {_LANE} AS lane SET leased_until = mine.next
    FROM ({_MINE}) AS mine WHERE lane.id = mine.id RETURNING lane.id
"""
# An earlier wake than the one that taking the lane has left came meanwhile, and stands.
_LET_GO: Final = f"""
    UPDATE {_LANE} AS lane SET leased_until = NULL,
        wake_at = LEAST(NULLIF(wake_at, mine.taken), mine.next)
    FROM ({_MINE}) AS mine WHERE lane.id = mine.id
"""


def take(*, had: Iterable[Lane], now: datetime) -> list[Lane]:
    """A share of the lanes that wait to be looked at, for as long as LEASE: first those that wait
    for long, then those that nobody else has taken since the caller `had` them.
    """
    before = list(had)
    names = {
        "now": now, "until": now + LEASE, "late": now - PATIENCE, "share": SHARE,
        "fewest": FEWEST, "most": MOST * SHARE, "ids": [lane.pk for lane in before],
        "tokens": [lane.lease_token for lane in before],
    }  # fmt: skip
    return sorted(Lane.objects.raw(_TAKE, names), key=lambda lane: lane.pk)


def hold(taken: Collection[Lane], *, now: datetime) -> frozenset[int]:
    """Lock the lanes for the transaction, by their ids, and keep them for another LEASE; the ids of
    those that nobody else has taken meanwhile. For the others nothing may be written.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, _columns(dict.fromkeys(taken, now + LEASE)))
        return frozenset(pk for (pk,) in cursor.fetchall())


def let_go(next_looks: Mapping[Lane, datetime | None]) -> None:
    """Let others take them, each when it is woken or at its next look."""
    with connection.cursor() as cursor:
        cursor.execute(_LET_GO, _columns(next_looks))


def _columns(moments: Mapping[Lane, datetime | None]) -> list[list[object]]:
    return [
        [lane.pk for lane in moments],
        [lane.lease_token for lane in moments],
        [lane.wake_at for lane in moments],
        list(moments.values()),
    ]
