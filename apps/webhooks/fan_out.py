"""Events become deliveries, and notices by e-mail, in their own transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db import connection

from apps.accounts.models import User
from apps.core import jobs
from apps.core.ids import NEW_ID
from apps.webhooks import turns
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import EndpointStatus, Queue, Status
from apps.webhooks.models import Endpoint, Event

MAIL_JOB: Final = "webhooks.mail"
MAIL_QUEUE: Final = "small"


def _making(condition: str) -> str:
    """The beginning of a statement: new events of users who may sign in, and the deliveries
    that are made of them.
    """
    return f"""
        WITH event (id, owner_id, type, at) AS (
            SELECT new.id, owner_id, type, %s::timestamptz
            FROM unnest(%s::text[], %s::text[], %s::text[]) AS new (id, owner_id, type)
                JOIN {User._meta.db_table} AS owner ON owner.id = owner_id AND owner.is_active
        ), made AS (
            INSERT INTO webhooks_delivery
                (id, event_id, endpoint_id, status, queue, due_at, attempts, failures, created_at)
            SELECT {NEW_ID}, event.id, endpoint.id, '{Status.WAITING}',
                CASE WHEN endpoint.slow THEN '{Queue.PATIENT}' ELSE '{Queue.PROMPT}' END,
                event.at, 0, 0, event.at
            FROM event JOIN webhooks_endpoint AS endpoint ON endpoint.owner_id = event.owner_id
                AND endpoint.status = '{EndpointStatus.ENABLED}' AND {condition}
            RETURNING id
        )
    """


TO_ALL: Final = f"""
    {_making("endpoint.events @> to_jsonb(event.type)")}
    SELECT (SELECT count(*) FROM made),
        EXISTS (SELECT FROM procrastinate_jobs
            WHERE queue_name = '{turns.QUEUE}' AND status = 'todo'),
        ARRAY(SELECT event.id FROM event JOIN webhooks_emailnotices AS notices
            ON notices.owner_id = event.owner_id AND notices.events @> to_jsonb(event.type))
"""
"""One trip for all that a request has to wait for."""
TO_ONE: Final = f"{_making('endpoint.id = %s')} SELECT id FROM made"
MISSED: Final = f"""
    INSERT INTO webhooks_delivery
        (id, event_id, endpoint_id, status, queue, due_at, attempts, failures, created_at)
    SELECT {NEW_ID}, id, %(endpoint)s, '{Status.FAILED}', '{Queue.PATIENT}', %(now)s, 0, 0,
        created_at
    FROM webhooks_event
    WHERE owner_id = %(owner)s AND created_at >= %(since)s AND type = ANY(%(types)s)
        AND type <> '{EventType.WEBHOOK_TEST}'
        AND NOT EXISTS (SELECT FROM webhooks_delivery
            WHERE event_id = webhooks_event.id AND endpoint_id = %(endpoint)s)
    ORDER BY created_at, id LIMIT %(most)s
"""


class _Made(NamedTuple):
    """How many deliveries, whether a turn waits already, and which events are told by mail."""

    deliveries: int
    turn_waits: bool
    mailed: Sequence[str]


def to_all(events: Sequence[Event], *, now: datetime) -> None:
    """A delivery of each to every endpoint of its owner's that wants its type, and a turn to send
    them.

    A turn that waits already serves: it looks for as long after it began as a transaction that saw
    it wait may take to commit (`dispatch.LINGER_SECONDS`).
    """
    with connection.cursor() as cursor:
        cursor.execute(TO_ALL, _values(events, now))
        made = _Made(*cursor.fetchone())
    if made.mailed:
        mails = [{"event_id": event_id} for event_id in made.mailed]
        jobs.enqueue(MAIL_JOB, queue=MAIL_QUEUE, arguments=mails)
    if made.deliveries and not made.turn_waits:
        turns.grant()


def to_one(event: Event, endpoint: Endpoint, *, now: datetime) -> str:
    """The id of the delivery to an endpoint that is on and locked."""
    values = [*_values([event], now), endpoint.pk]
    with connection.cursor() as cursor:
        cursor.execute(TO_ONE, values)
        (made,) = cursor.fetchone()
    turns.grant_if_none_waits()
    return str(made)


def note_missed(endpoint: Endpoint, *, since: datetime, most: int, now: datetime) -> None:
    """What happened since then while the endpoint was off becomes deliveries that have failed."""
    places = {
        "endpoint": endpoint.pk,
        "owner": endpoint.owner_id,
        "types": endpoint.events,
        "since": max(since, endpoint.created_at),
        "most": most,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(MISSED, places)


def _values(events: Sequence[Event], now: datetime) -> list[Any]:
    """The arguments of both queries. Any: columns of many types."""
    return [
        now,
        [event.pk for event in events],
        [event.owner_id for event in events],
        [str(event.type) for event in events],
    ]
