"""The webhooks themselves, as the OpenAPI document describes them."""

from typing import Any

from apps.core.api.schema import ID_EXAMPLE, ID_PATTERN, MOMENT_EXAMPLE
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType, Problem


def add_messages(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Add the body of each type of event, and the component that some of them refer to."""
    result["webhooks"] = {type.value: {"post": _message(type)} for type in EVENT_SCHEMAS}
    result["components"]["schemas"]["Problem"] = Problem.model_json_schema()
    return result


def _message(type: EventType) -> dict[str, Any]:
    schema = EVENT_SCHEMAS[type]
    data = schema.data.model_json_schema(ref_template="#/components/schemas/{model}")
    data.pop("$defs", None)  # they stand among the components
    properties = {
        "id": {
            "type": "string",
            "pattern": ID_PATTERN,
            "description": "The same at each attempt, and in the header webhook-id.",
        },
        "type": {"type": "string", "const": type.value},
        "createdAt": {
            "type": "string",
            "format": "date-time",
            "description": "ISO 8601 in UTC with Z.",
        },
        "sequence": {
            "type": "integer",
            "description": "Counts the events of one algorithm, without gaps.",
        },
        "data": data,
    }
    body = {"type": "object", "properties": properties, "required": list(properties)}
    example = {
        "id": ID_EXAMPLE,
        "type": type.value,
        "createdAt": MOMENT_EXAMPLE,
        "sequence": 7,
        "data": dict(schema.example),
    }
    return {
        "operationId": f"on {type.value}",
        "summary": schema.description,
        "tags": ["webhooks"],
        "requestBody": {"content": {"application/json": {"schema": body, "example": example}}},
        "responses": {"2XX": {"description": "It has arrived. Anything else is sent again."}},
    }
