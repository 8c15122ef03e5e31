"""The bodies of the webhook calls, and endpoints and deliveries as they answer them."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from apps.core.api.serializers import Body, ChoiceField, ListField, MomentField, TextField
from apps.core.errors import Fault, InvalidInput
from apps.webhooks.address_guard import MAX_URL_LENGTH
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import DeliveryStatus, EndpointStatus
from apps.webhooks.models import (
    MAX_DESCRIPTION,
    Attempt,
    Delivery,
    EmailNotices,
    Endpoint,
)

SETTABLE = (EndpointStatus.ENABLED.value, EndpointStatus.DISABLED.value)
_TYPES = [type.value for type in EventType]


class EndpointBody(Body):
    refuses_unknown = True
    url = TextField(exact=True, max_length=MAX_URL_LENGTH)
    events = ListField()
    description = TextField(required=False, allow_blank=True, max_length=MAX_DESCRIPTION)


class EndpointChange(Body):
    refuses_unknown = True
    url = TextField(exact=True, required=False, max_length=MAX_URL_LENGTH)
    events = ListField(required=False)
    description = TextField(required=False, allow_blank=True, max_length=MAX_DESCRIPTION)
    status = ChoiceField(choices=SETTABLE, required=False)


class RecoverBody(Body):
    refuses_unknown = True
    since = MomentField()


class NoticesBody(Body):
    refuses_unknown = True
    events = ListField()


def endpoint_in(data: Any) -> dict[str, Any]:
    """What `services.create` takes. Any: as of `Body.read`."""
    body = EndpointBody.read(data)
    return {
        "url": body["url"],
        "types": _events_in(body["events"], least=1),
        "description": body.get("description", ""),
    }


def change_in(data: Any) -> dict[str, Any]:
    """The changes that `services.change` takes. Any: as of `Body.read`."""
    body = EndpointChange.read(data)
    if "events" in body:
        body["events"] = _events_in(body["events"], least=1)
    return body


def since_in(data: Any) -> datetime:
    """Any: as of `Body.read`."""
    since: datetime = RecoverBody.read(data)["since"]
    return since


def notices_in(data: Any) -> list[EventType]:
    """None of them is as good as some. Any: as of `Body.read`."""
    return _events_in(NoticesBody.read(data)["events"], least=0)


def _events_in(named: Sequence[object], *, least: int) -> list[EventType]:
    faults = list(_faults_of(named, least))
    if faults:
        raise InvalidInput(*faults)
    return [type for type in EventType if type in named]


def _faults_of(named: Sequence[object], least: int) -> Iterator[Fault]:
    if not least <= len(named) <= len(_TYPES):
        yield Fault("events", f"must name {least} to {len(_TYPES)} types", named, _TYPES)
        return
    for place, type in enumerate(named):
        if type not in _TYPES:
            yield Fault(f"events[{place}]", "is not one of the allowed values", type, _TYPES)
        elif type in named[:place]:
            yield Fault(f"events[{place}]", "stands twice", type, _TYPES)


def endpoint_out(endpoint: Endpoint) -> dict[str, object]:
    return {
        "id": endpoint.pk,
        "url": endpoint.url,
        "events": endpoint.events,
        "description": endpoint.description,
        "status": endpoint.status,
        "disabledReason": endpoint.disabled_reason or None,
        "failingSince": endpoint.failing_since,
        "createdAt": endpoint.created_at,
    }


def delivery_out(delivery: Delivery) -> dict[str, object]:
    """With its event and its attempts, which are read with it."""
    event = delivery.event
    return {
        "id": delivery.pk,
        "eventId": event.pk,
        "type": event.type,
        "sequence": event.sequence,
        "status": delivery.status,
        "createdAt": delivery.created_at,
        "nextAttemptAt": delivery.due_at if delivery.status == DeliveryStatus.WAITING else None,
        "attempts": [_attempt_out(one) for one in delivery.tries.all()],
    }


def _attempt_out(attempt: Attempt) -> dict[str, object]:
    seconds = attempt.seconds
    return {
        "number": attempt.number,
        "at": attempt.at,
        "httpStatus": attempt.http_status,
        "latency": None if seconds is None else round(1000 * seconds),
        "error": attempt.error or None,
    }


def notices_out(notices: EmailNotices) -> dict[str, object]:
    return {"address": notices.owner.email, "events": notices.events}
