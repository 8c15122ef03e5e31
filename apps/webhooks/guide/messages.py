"""The messages to webhooks, as the OpenAPI document describes them."""

import re

from apps.core.api.resources import ID_EXAMPLE, ID_PATTERN, MOMENT_EXAMPLE, Schema, ref
from apps.webhooks.event_types import EVENT_SCHEMAS, SEQUENCE_HELP, EventType


def add_messages(result: Schema, **_: object) -> Schema:
    """Add the callbacks of the call that registers an address: the message of each type of event.
    One of drf-spectacular's POSTPROCESSING_HOOKS.
    """
    components = result["components"]["schemas"]
    callbacks = {}
    for type, event_schema in EVENT_SCHEMAS.items():
        data = event_schema.data.model_json_schema(ref_template="#/components/schemas/{model}")
        components |= data.pop("$defs", {})
        components[data["title"]] = data
        message = "".join(word.title() for word in re.split("[._]", type)) + "Message"
        components[message] = _body(type, ref(data["title"]))
        callbacks[type.value] = {"{$request.body#/url}": {"post": _operation(type, ref(message))}}
    result["paths"]["/api/webhooks"]["post"]["callbacks"] = callbacks
    return result


def _body(type: EventType, data: Schema) -> Schema:
    properties = {
        "id": {
            "type": "string",
            "pattern": ID_PATTERN,
            "description": "The same at each attempt, and in the header webhook-id.",
        },
        "type": {"type": "string", "const": type.value, "description": "The type of the event."},
        "createdAt": {
            "type": "string",
            "format": "date-time",
            "description": "ISO 8601 in UTC with Z.",
        },
        "sequence": {
            "type": "integer",
            "description": SEQUENCE_HELP,
        },
        "data": data,
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _operation(type: EventType, body: Schema) -> Schema:
    event_schema = EVENT_SCHEMAS[type]
    example = {
        "id": ID_EXAMPLE,
        "type": type.value,
        "createdAt": MOMENT_EXAMPLE,
        "sequence": 7,
        "data": dict(event_schema.example),
    }
    return {
        "operationId": f"on {type.value}",
        "summary": event_schema.description,
        "tags": ["webhooks"],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": body, "example": example}},
        },
        "responses": {"2XX": {"description": "It has arrived. Anything else is sent again."}},
    }
