"""Endpoints, events and attempts, as tests need them."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from apps.accounts.models import User
from apps.webhooks import services
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.events import outbox
from apps.webhooks.lifecycle import DeliveryQueue, Failure
from apps.webhooks.models import Endpoint, Event
from apps.webhooks.sending import delivery

ALGORITHM_ID = "1" * 24
SUBSCRIBED = (EventType.ALGORITHM_STARTED, EventType.ALGORITHM_STOPPED)


def endpoint_of(
    owner: User,
    *,
    url: str = "https://hooks.example.com/",
    events: Sequence[EventType] = SUBSCRIBED,
    **fields: Any,
) -> Endpoint:
    """Return an endpoint for these events; `fields` are set directly."""
    made, _ = services.create(owner=owner, url=url, events=events, now=timezone.now())
    if fields:
        Endpoint.objects.filter(pk=made.pk).update(**fields)
        made.refresh_from_db()
    return made


def emit(
    owner: User,
    algorithm_id: str = ALGORITHM_ID,
    *,
    type: EventType = EventType.ALGORITHM_STARTED,
    data: Mapping[str, object] | None = None,
) -> Event:
    return outbox.write_event(
        type,
        owner_id=owner.pk,
        algorithm_id=algorithm_id,
        data=data or EVENT_SCHEMAS[type].example,
        now=timezone.now(),
    )


def attempt(status: int | None, *, seconds: float = 0.02) -> int:
    """Claim due deliveries, and record this answer; None records nothing. Return their number."""
    now = timezone.now()
    deliveries = [
        claimed for queue in DeliveryQueue for claimed in delivery.claim(queue, most=100, now=now)
    ]
    error = None if status is not None and status < 300 else Failure.STATUS
    if status is not None:
        results = [
            delivery.AttemptResult(claimed, now, seconds, error, status) for claimed in deliveries
        ]
        delivery.record_results(results, now=now)
    return len(deliveries)
