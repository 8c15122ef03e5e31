"""The statements that claim deliveries and find lost ones."""

from typing import Final

from apps.core import jobs
from apps.webhooks.lifecycle import MOST_CONCURRENT_SENDS, DeliveryStatus, EndpointStatus

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
NEXT_ENDPOINTS: Final = f"""
    SELECT id FROM webhooks_endpoint
    WHERE id = ANY(%s) AND status = '{EndpointStatus.ENABLED}' AND NOT {jobs.IS_QUIET}
        AND {CONCURRENT_SENDS} < {MOST_CONCURRENT_SENDS}
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
        ORDER BY due_at, id LIMIT GREATEST(0, {MOST_CONCURRENT_SENDS} - {CONCURRENT_SENDS})
        FOR NO KEY UPDATE
    ) AS chosen WHERE webhooks_endpoint.id = ANY(%s)
"""
DATABASE_CONNECTIONS: Final = "SELECT pid FROM pg_stat_activity"
