"""What the OpenAPI document says of /api/webhooks, and of the webhooks themselves."""

from typing import Any, Final

from apps.core.errors import Code
from apps.core.openapi import (
    COUNT,
    FLAG,
    ID,
    ID_SHOWN,
    INTEGER,
    MOMENT,
    MOMENT_SHOWN,
    NOTHING,
    PAGED,
    TEXT,
    Answer,
    Operation,
    Schema,
    Sent,
    array,
    body_schema,
    described,
    nullable,
    one_of,
    page_of,
    page_shown,
    place,
    query,
    record,
    ref,
)
from apps.webhooks import serializers
from apps.webhooks.address_guard import MAX_URL_LENGTH
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType, Problem
from apps.webhooks.lifecycle import DeliveryStatus, DisabledReason, Failure

_TAG: Final = "webhooks"
_TYPES: Final = [type.value for type in EventType]
_EVENTS: Final = {
    **array(one_of(_TYPES), minItems=1, maxItems=len(_TYPES)), "uniqueItems": True,
}  # fmt: skip
_ANY_EVENTS: Final = {**_EVENTS, "minItems": 0}
_ENDPOINT: Final[dict[str, Schema]] = {
    "id": ID,
    "url": TEXT,
    "events": _EVENTS,
    "description": TEXT,
    "status": one_of(serializers.SETTABLE),
    "disabledReason": nullable(one_of([reason.value for reason in DisabledReason])),
    "failingSince": nullable(described(MOMENT, "Of the first failure since the last success.")),
    "createdAt": MOMENT,
}
_ERRORS: Final = [failure.value for failure in Failure]
_URL: Final = {
    "type": "string",
    "format": "uri",
    "pattern": "^[hH][tT][tT][pP][sS]?://[!-~]+$",
    "maxLength": MAX_URL_LENGTH,
    "description": "https on port 443, at a public address.",
}

SCHEMAS: Final[dict[str, Schema]] = {
    "NewWebhook": body_schema(serializers.EndpointBody, url=_URL, events=_EVENTS),
    "WebhookChange": body_schema(serializers.EndpointChange, url=_URL, events=_EVENTS),
    "Webhook": record(_ENDPOINT),
    "WebhookWithSecret": record(
        {**_ENDPOINT, "secret": described(TEXT, "Signs what is sent; shown this once.")}
    ),
    "DeliveryAttempt": record(
        {
            "number": INTEGER,
            "at": MOMENT,
            "httpStatus": nullable(INTEGER),
            "latency": nullable(described(COUNT, "Milliseconds.")),
            "error": nullable(one_of(_ERRORS)),
        }
    ),
    "Delivery": record(
        {
            "id": ID,
            "eventId": described(ID, "The header webhook-id of each attempt."),
            "type": one_of(_TYPES),
            "sequence": INTEGER,
            "status": one_of([status.value for status in DeliveryStatus]),
            "createdAt": MOMENT,
            "nextAttemptAt": nullable(MOMENT),
            "attempts": array(ref("DeliveryAttempt")),
        }
    ),
    "Recovery": body_schema(serializers.RecoverBody),
    "Recovered": record(
        {"queued": COUNT, "more": described(FLAG, "Ask again, when these have been sent.")}
    ),
    "Problem": Problem.model_json_schema(),
    "NoticesChange": body_schema(serializers.NoticesBody, events=_ANY_EVENTS),
    "Notices": record({"address": TEXT, "events": _ANY_EVENTS}),
}

_PLACE: Final = (place("webhook_id", "The webhook."),)
_GONE: Final = {404: (Code.NOT_FOUND,)}
_OFF: Final = {**_GONE, 409: (Code.CONFLICT,)}
_SHOWN: Final = {
    "id": ID_SHOWN,
    "url": "https://hooks.example.com/algotrade",
    "events": ["algorithm.error", "risk.daily_loss_limit_reached"],
    "description": "Pager",
    "status": "enabled",
    "disabledReason": None,
    "failingSince": None,
    "createdAt": MOMENT_SHOWN,
}
_WITH_SECRET_SHOWN: Final = {
    **_SHOWN, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
}  # fmt: skip
_WAITING_SHOWN: Final = {
    "id": ID_SHOWN,
    "eventId": ID_SHOWN,
    "type": "algorithm.error",
    "sequence": 7,
    "status": "waiting",
    "createdAt": MOMENT_SHOWN,
    "nextAttemptAt": MOMENT_SHOWN,
    "attempts": [],
}
_SENT_SHOWN: Final = {
    **_WAITING_SHOWN,
    "status": "delivered",
    "nextAttemptAt": None,
    "attempts": [
        {"number": 1, "at": MOMENT_SHOWN, "httpStatus": 503, "latency": 41, "error": "status"},
        {"number": 2, "at": MOMENT_SHOWN, "httpStatus": 204, "latency": 38, "error": None},
    ],
}
_NOTICES_SHOWN: Final = {"address": "trader@example.com", "events": ["performance.alert"]}

LIST: Final = Operation(
    name="listWebhooks",
    summary="Where the user is told of events",
    tag=_TAG,
    parameters=PAGED,
    answers={200: Answer("The newest first.", page_of(ref("Webhook")), page_shown(_SHOWN))},
)
CREATE: Final = Operation(
    name="createWebhook",
    summary="Be told of events at an address",
    text="Whatever happens from now on is sent there, signed by the secret of the answer.",
    tag=_TAG,
    idempotent=True,
    body=Sent(
        ref("NewWebhook"),
        {key: _SHOWN[key] for key in ("url", "events", "description")},
    ),
    answers={201: Answer("With the secret.", ref("WebhookWithSecret"), _WITH_SECRET_SHOWN)},
)
READ: Final = Operation(
    name="readWebhook",
    summary="One webhook",
    tag=_TAG,
    parameters=_PLACE,
    answers={200: Answer("The webhook.", ref("Webhook"), _SHOWN)},
    refusals=_GONE,
)
CHANGE: Final = Operation(
    name="changeWebhook",
    summary="Change what is named, or switch it off or on",
    text="What waits for one that is switched off is not sent any more; `recover` queues it again.",
    tag=_TAG,
    parameters=_PLACE,
    body=Sent(ref("WebhookChange"), {"status": "enabled"}, required=False),
    answers={200: Answer("As it is now.", ref("Webhook"), _SHOWN)},
    refusals=_GONE,
)
DELETE: Final = Operation(
    name="deleteWebhook",
    summary="Send nothing there any more",
    tag=_TAG,
    parameters=_PLACE,
    answers={204: Answer("It is gone, and its deliveries with it.")},
    refusals=_GONE,
)
ROTATE: Final = Operation(
    name="rotateWebhookSecret",
    summary="Replace the secret",
    text="For 24 hours both sign: the header then has two signatures.",
    tag=_TAG,
    parameters=_PLACE,
    idempotent=True,
    body=NOTHING,
    answers={200: Answer("With the new secret.", ref("WebhookWithSecret"), _WITH_SECRET_SHOWN)},
    refusals=_GONE,
)
TEST: Final = Operation(
    name="testWebhook",
    summary="Send it an event of type webhook.test",
    tag=_TAG,
    parameters=_PLACE,
    idempotent=True,
    body=NOTHING,
    answers={201: Answer("The delivery.", ref("Delivery"), _WAITING_SHOWN)},
    refusals=_OFF,
)
LIST_DELIVERIES: Final = Operation(
    name="listDeliveries",
    summary="What was sent there in the last 30 days, and each attempt",
    tag=_TAG,
    parameters=(
        *_PLACE,
        *PAGED,
        query("status", one_of([status.value for status in DeliveryStatus]), "Only those."),
        query("type", one_of(_TYPES), "Only events of this type."),
    ),
    answers={200: Answer("The newest first.", page_of(ref("Delivery")), page_shown(_SENT_SHOWN))},
    refusals=_GONE,
)
RECOVER: Final = Operation(
    name="recoverWebhook",
    summary="Send again what has failed since, and what it missed while it was off",
    text="10,000 deliveries at most, the oldest first; of the last 14 days.",
    tag=_TAG,
    parameters=_PLACE,
    idempotent=True,
    body=Sent(ref("Recovery"), {"since": MOMENT_SHOWN}),
    answers={
        200: Answer("How many.", ref("Recovered"), {"queued": 120, "more": False}),
    },
    refusals=_OFF,
)
REDELIVER: Final = Operation(
    name="redeliver",
    summary="Send one delivery again, at once",
    tag=_TAG,
    parameters=(place("delivery_id", "The delivery."),),
    idempotent=True,
    body=NOTHING,
    answers={200: Answer("It waits.", ref("Delivery"), _WAITING_SHOWN)},
    refusals=_OFF,
)
READ_NOTICES: Final = Operation(
    name="readNotices",
    summary="Of which events the user is told by e-mail",
    tag=_TAG,
    answers={200: Answer("The notices.", ref("Notices"), _NOTICES_SHOWN)},
)
SET_NOTICES: Final = Operation(
    name="setNotices",
    summary="Choose of which events to be told by e-mail; none is a choice too",
    tag=_TAG,
    body=Sent(ref("NoticesChange"), {"events": ["performance.alert"]}),
    answers={200: Answer("As they are now.", ref("Notices"), _NOTICES_SHOWN)},
)


def messages() -> dict[str, Any]:
    """The webhooks themselves, by the type of event. Any: JSON of any shape."""
    return {type.value: {"post": _message(type)} for type in EVENT_SCHEMAS}


def _message(type: EventType) -> dict[str, Any]:
    """Any: JSON of any shape."""
    kind = EVENT_SCHEMAS[type]
    data = kind.data.model_json_schema(ref_template="#/components/schemas/{model}")
    data.pop("$defs", None)  # they stand among the components
    body = record(
        {
            "id": described(ID, "The same at each attempt, and in the header webhook-id."),
            "type": {"type": "string", "const": type.value},
            "createdAt": MOMENT,
            "sequence": described(INTEGER, "Counts the events of one algorithm, without gaps."),
            "data": data,
        }
    )
    shown = {
        "id": ID_SHOWN,
        "type": type.value,
        "createdAt": MOMENT_SHOWN,
        "sequence": 7,
        "data": dict(kind.example),
    }
    return {
        "operationId": f"on {type.value}",
        "summary": kind.description,
        "tags": [_TAG],
        "requestBody": {"content": {"application/json": {"schema": body, "example": shown}}},
        "responses": {"2XX": {"description": "It has arrived. Anything else is sent again."}},
    }
