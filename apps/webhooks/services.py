"""Writing down what has happened."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection, transaction

from apps.webhooks import fan_out, payloads
from apps.webhooks.event_types import EventType
from apps.webhooks.models import Event

NEXT: Final = """
    INSERT INTO webhooks_sequence AS counted (algorithm_id, last)
    SELECT algorithm_id, added
    FROM unnest(%s::text[], %s::bigint[]) AS new (algorithm_id, added) ORDER BY algorithm_id
    ON CONFLICT (algorithm_id) DO UPDATE SET last = counted.last + excluded.last
    RETURNING algorithm_id, last
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that is to be written."""

    type: EventType
    owner_id: str
    algorithm_id: str
    data: Mapping[str, object]
    backtest_id: str = ""


def write(
    type: EventType,
    *,
    owner_id: str,
    algorithm_id: str,
    data: Mapping[str, object],
    now: datetime,
    backtest_id: str = "",
) -> Event:
    """One event, as of `write_all`."""
    return write_all([Draft(type, owner_id, algorithm_id, data, backtest_id)], now=now)[0]


@transaction.atomic(savepoint=False)
def write_all(drafts: Sequence[Draft], *, now: datetime) -> list[Event]:
    """Events in the transaction of the changes that they tell of; call it last, and once.

    From here to the commit nobody else writes an event of these algorithms, so its places have
    neither gaps nor doubles, and one that can be seen has none before it that cannot. Those of one
    algorithm get their places in the order in which they stand here. Raises ValueError when data is
    not what `payloads` says of the type.
    """
    events = note(drafts, now=now)
    fan_out.to_all(events, now=now)
    return events


def note(drafts: Sequence[Draft], *, now: datetime) -> list[Event]:
    """Told to nobody yet."""
    places = _next_places(Counter(draft.algorithm_id for draft in drafts))
    events = []
    for draft in drafts:
        payloads.check(draft.type, draft.data)
        events.append(
            Event(
                type=draft.type,
                owner_id=draft.owner_id,
                algorithm_id=draft.algorithm_id,
                backtest_id=draft.backtest_id,
                sequence=places[draft.algorithm_id],
                created_at=now,
                data=dict(draft.data),
            )
        )
        places[draft.algorithm_id] += 1
    return Event.objects.bulk_create(events)


def _next_places(added: Mapping[str, int]) -> dict[str, int]:
    """The first of the places that are taken for each algorithm, whose number is `added`."""
    with connection.cursor() as cursor:
        cursor.execute(NEXT, [list(added), list(added.values())])
        return {algorithm: last - added[algorithm] + 1 for algorithm, last in cursor.fetchall()}
