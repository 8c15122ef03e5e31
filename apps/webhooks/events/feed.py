"""The events of a user in the order of their commits, each at a position that never changes.

A number taken before the commit does not give the order in which others see events: a reader that
has seen 8 may see 7 later. So a reader numbers events after their commit: one reader at a time
numbers the events without a position, and commits. Writers do not wait for each other, and events
that nobody reads stay unnumbered.
"""

from collections.abc import Collection, Sequence
from typing import Final

from django.db import connection, transaction

from apps.webhooks.event_types import EventType
from apps.webhooks.events import queries
from apps.webhooks.models import Event, EventCounter

# A trigger notifies this channel of the owner of new events (migration 0006).
EVENTS_CHANNEL: Final = "events_written"


def last_position(owner_id: str) -> int:
    """Return the position of the user's last committed event; 0 before the first."""
    number_events(owner_id)
    return EventCounter.objects.filter(pk=owner_id).values_list("last", flat=True).first() or 0


def events_after(owner_id: str, position: int, *, most: int) -> Sequence[Event]:
    """Return the user's first `most` events beyond a position, in the order of their commits."""
    number_events(owner_id)
    rows = Event.objects.filter(owner_id=owner_id, position__gt=position)
    return list(rows.order_by("position")[:most])


def latest_events(
    owner_id: str,
    types: Collection[EventType],
    *,
    algorithm_id: str | None = None,
    within: int,
    most: int,
) -> list[Event]:
    """Return the newest `most` events of these types among the user's last `within`, the newest
    first; only those of an algorithm if one is given.
    """
    last = last_position(owner_id)
    rows = Event.objects.filter(owner_id=owner_id, type__in=types, position__gt=last - within)
    if algorithm_id:
        rows = rows.filter(algorithm_id=algorithm_id)
    return list(rows.order_by("-position")[:most])


def number_events(owner_id: str) -> None:
    """Give positions to the committed events of the user that have none."""
    if not Event.objects.filter(owner_id=owner_id, position=None).exists():
        return
    EventCounter.objects.bulk_create([EventCounter(owner_id=owner_id)], ignore_conflicts=True)
    with transaction.atomic():
        # This statement, after the lock, sees the numbers that others committed before releasing
        # it.
        counter = EventCounter.objects.select_for_update(no_key=True).get(pk=owner_id)
        with connection.cursor() as cursor:
            cursor.execute(queries.NUMBER_EVENTS, {"owner": owner_id, "last": counter.last})
