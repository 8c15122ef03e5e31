"""The statements that write events with their deliveries, and that number events."""

from typing import Final

from apps.accounts.models import User
from apps.core.database import NEW_ID
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import DeliveryQueue, DeliveryStatus, EndpointStatus

COUNT_EVENTS: Final = """
    INSERT INTO webhooks_sequence AS counted (algorithm_id, last)
    SELECT algorithm_id, added
    FROM unnest(%s::text[], %s::bigint[]) AS new (algorithm_id, added) ORDER BY algorithm_id
    ON CONFLICT (algorithm_id) DO UPDATE SET last = counted.last + excluded.last
    RETURNING algorithm_id, last
"""


def _insert_deliveries(condition: str) -> str:
    """Return the start of a statement: the new events of active users, and their deliveries."""
    return f"""
        WITH event (id, owner_id, type, at) AS (
            SELECT new.id, owner_id, type, %s::timestamptz
            FROM unnest(%s::text[], %s::text[], %s::text[]) AS new (id, owner_id, type)
                JOIN {User._meta.db_table} AS owner ON owner.id = owner_id AND owner.is_active
        ), made AS (
            INSERT INTO webhooks_delivery
                (id, event_id, endpoint_id, status, queue, due_at, attempts, failures, created_at)
            SELECT {NEW_ID}, event.id, endpoint.id, '{DeliveryStatus.WAITING}',
                CASE WHEN endpoint.slow THEN '{DeliveryQueue.RETRY}'
                    ELSE '{DeliveryQueue.FIRST_ATTEMPT}' END,
                event.at, 0, 0, event.at
            FROM event JOIN webhooks_endpoint AS endpoint ON endpoint.owner_id = event.owner_id
                AND endpoint.status = '{EndpointStatus.ENABLED}' AND {condition}
            RETURNING id
        )
    """


# One round trip for everything that a request has to wait for.
DELIVER_TO_SUBSCRIBERS: Final = f"""
    {_insert_deliveries("endpoint.events @> to_jsonb(event.type)")}
    SELECT (SELECT count(*) FROM made),
        EXISTS (SELECT FROM procrastinate_jobs
            WHERE queue_name = %s AND status = 'todo'),
        ARRAY(SELECT event.id FROM event JOIN webhooks_emailnotices AS notices
            ON notices.owner_id = event.owner_id AND notices.events @> to_jsonb(event.type))
"""
DELIVER_TO_ENDPOINT: Final = f"{_insert_deliveries('endpoint.id = %s')} SELECT id FROM made"
INSERT_MISSED: Final = f"""
    INSERT INTO webhooks_delivery
        (id, event_id, endpoint_id, status, queue, due_at, attempts, failures, created_at)
    SELECT {NEW_ID}, id, %(endpoint)s::text, '{DeliveryStatus.FAILED}', '{DeliveryQueue.RETRY}',
        %(now)s, 0, 0, created_at
    FROM webhooks_event
    WHERE owner_id = %(owner)s AND created_at >= %(since)s AND type = ANY(%(types)s)
        AND type <> '{EventType.WEBHOOK_TEST}'
        AND NOT EXISTS (SELECT FROM webhooks_delivery
            WHERE event_id = webhooks_event.id AND endpoint_id = %(endpoint)s)
    ORDER BY created_at, id LIMIT %(most)s
"""

# Number the events of one algorithm in the order of their sequence, whatever the clocks show.
NUMBER_EVENTS: Final = """
    WITH unnumbered AS (
        SELECT id, algorithm_id, sequence, max(created_at) OVER (
            PARTITION BY algorithm_id ORDER BY sequence) AS reached
        FROM webhooks_event WHERE owner_id = %(owner)s AND position IS NULL
    ), numbered AS (
        SELECT id, row_number() OVER (ORDER BY reached, algorithm_id, sequence) AS rank
        FROM unnumbered
    ), placed AS (
        UPDATE webhooks_event AS event SET position = %(last)s + numbered.rank
        FROM numbered WHERE event.id = numbered.id
        RETURNING event.id
    )
    UPDATE webhooks_eventcounter SET last = last + (SELECT count(*) FROM placed)
    WHERE owner_id = %(owner)s
    RETURNING last
"""
