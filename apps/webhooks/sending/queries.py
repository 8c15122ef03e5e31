"""The statements that claim deliveries and find lost ones."""

from typing import Final

from apps.core import jobs
from apps.webhooks.lifecycle import (
    MOST_CONCURRENT_SENDS,
    DeliveryStatus,
    EndpointKind,
    EndpointStatus,
)

# One look at an index for each endpoint, however many deliveries wait for it.
WAITING_ENDPOINTS: Final = f"""
    WITH RECURSIVE waiting (endpoint_id) AS (
        (SELECT endpoint_id FROM webhooks_delivery
            WHERE status = '{DeliveryStatus.WAITING}' AND queue = %s ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT endpoint_id FROM webhooks_delivery
            WHERE status = '{DeliveryStatus.WAITING}' AND queue = %s
                AND endpoint_id > waiting.endpoint_id ORDER BY endpoint_id LIMIT 1)
        FROM waiting WHERE waiting.endpoint_id IS NOT NULL
    )
    SELECT endpoint_id FROM waiting WHERE endpoint_id IS NOT NULL
"""
CONCURRENT_SENDS: Final = f"""
    (SELECT count(*) FROM webhooks_delivery AS sent
        WHERE sent.endpoint_id = webhooks_endpoint.id AND sent.status = '{DeliveryStatus.SENDING}')
"""
# A chat gets one message at a time, with as many events as fit.
MOST_EVENTS_OF_MESSAGE: Final = 50
IS_READY: Final = "(ready_at IS NULL OR ready_at <= %s)"
NEXT_ENDPOINTS: Final = f"""
    SELECT id FROM webhooks_endpoint
    WHERE id = ANY(%s) AND status = '{EndpointStatus.ENABLED}' AND NOT {jobs.IS_QUIET}
        AND {CONCURRENT_SENDS} <
            CASE kind WHEN '{EndpointKind.WEBHOOK}' THEN {MOST_CONCURRENT_SENDS} ELSE 1 END
        AND {IS_READY}
        AND EXISTS (SELECT FROM webhooks_delivery
            WHERE endpoint_id = webhooks_endpoint.id AND queue = %s
                AND status = '{DeliveryStatus.WAITING}' AND due_at <= %s)
    ORDER BY served_at NULLS FIRST, id LIMIT %s
    FOR NO KEY UPDATE OF webhooks_endpoint SKIP LOCKED
"""
# A separate statement, so that it counts deliveries that others claimed before the endpoints were
# locked.
NEXT_DELIVERIES: Final = f"""
    SELECT chosen.id FROM webhooks_endpoint CROSS JOIN LATERAL (
        SELECT id FROM webhooks_delivery
        WHERE endpoint_id = webhooks_endpoint.id AND queue = %s
            AND status = '{DeliveryStatus.WAITING}' AND due_at <= %s
        ORDER BY due_at, created_at, id LIMIT CASE
            WHEN kind = '{EndpointKind.WEBHOOK}'
                THEN GREATEST(0, {MOST_CONCURRENT_SENDS} - {CONCURRENT_SENDS})
            WHEN {CONCURRENT_SENDS} = 0 THEN {MOST_EVENTS_OF_MESSAGE} ELSE 0 END
        FOR NO KEY UPDATE
    ) AS chosen WHERE {IS_READY} AND webhooks_endpoint.id = ANY(%s)
"""
# Chats that will soon be ready for what waits for them, or have become so a moment ago.
SOON_READY: Final = f"""
    SELECT EXISTS (SELECT FROM webhooks_endpoint
        WHERE status = '{EndpointStatus.ENABLED}' AND ready_at > %s AND ready_at <= %s
            AND EXISTS (SELECT FROM webhooks_delivery
                WHERE endpoint_id = webhooks_endpoint.id
                    AND status = '{DeliveryStatus.WAITING}' AND due_at <= ready_at))
"""
DATABASE_CONNECTIONS: Final = "SELECT pid FROM pg_stat_activity"
