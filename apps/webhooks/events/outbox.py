"""The outbox: events commit with the change that they report, and with their deliveries.

`write_event` and `write_events` run in the caller's transaction. They store events, a delivery to
every endpoint that subscribes to the type, a job that dispatches the deliveries, and jobs for
e-mail notices. A delivery is a row; the job only wakes a worker. So a superfluous job does nothing,
and the reaper replaces a lost one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from apps.core import jobs
from apps.webhooks import event_types
from apps.webhooks.event_types import EventType
from apps.webhooks.events import queries
from apps.webhooks.models import Endpoint, Event

DISPATCH_JOB: Final = "webhooks.dispatch"
DISPATCH_QUEUE: Final = "webhooks"
MAIL_JOB: Final = "webhooks.mail"
MAIL_QUEUE: Final = "small"


@dataclass(frozen=True, slots=True)
class EventPayload:
    """An event to write: its type, its owner, its algorithm and its data."""

    type: EventType
    owner_id: str
    algorithm_id: str
    data: Mapping[str, object]
    backtest_id: str = ""


def write_event(
    type: EventType,
    *,
    owner_id: str,
    algorithm_id: str,
    data: Mapping[str, object],
    now: datetime,
    backtest_id: str = "",
) -> Event:
    """Write one event, as `write_events` does."""
    return write_events([EventPayload(type, owner_id, algorithm_id, data, backtest_id)], now=now)[0]


@transaction.atomic(savepoint=False)
def write_events(payloads: Sequence[EventPayload], *, now: datetime) -> list[Event]:
    """Write events in the transaction of the changes that they report; call it last, and once.

    From here to the commit nobody else writes an event of these algorithms. So sequence numbers
    have neither gaps nor duplicates, and an event is never visible before its predecessor. The
    events of one algorithm are numbered in the order of `payloads`. Raises ValueError when the data
    does not match the schema of its type.
    """
    events = insert(payloads, now=now)
    with connection.cursor() as cursor:
        cursor.execute(queries.DELIVER_TO_SUBSCRIBERS, [*_columns(events, now), DISPATCH_QUEUE])
        deliveries, dispatch_waits, mailed = cursor.fetchone()
    if mailed:
        arguments = [{"event_id": event_id} for event_id in mailed]
        jobs.enqueue(MAIL_JOB, queue=MAIL_QUEUE, arguments=arguments)
    # A waiting job is enough: it looks for deliveries for as long after its start as a transaction
    # that saw it wait may take to commit (dispatch.LINGER_SECONDS).
    if deliveries and not dispatch_waits:
        enqueue_dispatch()
    return events


def insert(payloads: Sequence[EventPayload], *, now: datetime) -> list[Event]:
    """Store events without any delivery."""
    added = Counter(payload.algorithm_id for payload in payloads)
    with connection.cursor() as cursor:
        cursor.execute(queries.COUNT_EVENTS, [list(added), list(added.values())])
        sequences = {algorithm: last - added[algorithm] + 1 for algorithm, last in cursor}
    events = []
    for payload in payloads:
        event_types.validate_data(payload.type, payload.data)
        events.append(
            Event(
                type=payload.type,
                owner_id=payload.owner_id,
                algorithm_id=payload.algorithm_id,
                backtest_id=payload.backtest_id,
                sequence=sequences[payload.algorithm_id],
                created_at=now,
                data=dict(payload.data),
            )
        )
        sequences[payload.algorithm_id] += 1
    return Event.objects.bulk_create(events)


def deliver_to(endpoint: Endpoint, event: Event, *, now: datetime) -> str:
    """Create a delivery to an enabled, locked endpoint, and return its id."""
    with connection.cursor() as cursor:
        cursor.execute(queries.DELIVER_TO_ENDPOINT, [*_columns([event], now), endpoint.pk])
        (delivery_id,) = cursor.fetchone()
    ensure_dispatch()
    return str(delivery_id)


def insert_missed(endpoint: Endpoint, *, since: datetime, most: int, now: datetime) -> None:
    """Store a failed delivery of every event since then that the endpoint missed while disabled."""
    values = {
        "endpoint": endpoint.pk,
        "owner": endpoint.owner_id,
        "types": endpoint.events,
        "since": max(since, endpoint.created_at),
        "most": most,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(queries.INSERT_MISSED, values)


def enqueue_dispatch() -> None:
    """Enqueue a job that dispatches due deliveries; it commits with the deliveries."""
    jobs.enqueue(DISPATCH_JOB, queue=DISPATCH_QUEUE, arguments=[{}])


def ensure_dispatch() -> None:
    """Enqueue a job that dispatches due deliveries, unless one is waiting."""
    if not jobs.waiting(DISPATCH_QUEUE):
        enqueue_dispatch()


def _columns(events: Sequence[Event], now: datetime) -> list[Any]:
    """Return the first parameters of the statements that deliver."""
    return [
        now,
        [event.pk for event in events],
        [event.owner_id for event in events],
        [str(event.type) for event in events],
    ]
