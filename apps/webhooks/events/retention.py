"""How long events and their deliveries are kept, for users to look up and to send again."""

from datetime import datetime, timedelta
from typing import Final

from apps.core.database import delete_in_batches
from apps.webhooks.lifecycle import EndpointStatus
from apps.webhooks.models import Delivery, Endpoint, Event

_KEPT: Final = timedelta(days=30)


def purge(*, now: datetime) -> int:
    """Delete old events and deliveries, and endpoints long after their deletion.

    Return the number of deleted rows. It can be stopped at any point, and two runs may overlap.
    """
    before = now - _KEPT
    deleted = Endpoint.objects.filter(status=EndpointStatus.DELETED, changed_at__lt=before)
    return sum(
        delete_in_batches(rows)
        for rows in (
            Delivery.objects.filter(created_at__lt=before),
            Event.objects.filter(created_at__lt=before),
            deleted.filter(deliveries=None),
        )
    )
