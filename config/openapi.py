"""The OpenAPI document: what the views say of themselves, gathered from the routes.

drf-spectacular walks the routes; every operation is written down as its view states it
(config/decisions/0015).
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import orjson
from drf_spectacular.generators import SchemaGenerator

from apps.algorithms.step_schemas import add_steps
from apps.backtests.result_schemas import add_results
from apps.core.api.exceptions import RETRY_AFTER_SECONDS
from apps.core.api.idempotency import REPLAYED
from apps.core.api.schema import ApiSchema, drop_enum_ids, spread_examples
from apps.core.api.serializers import EmptyBody
from apps.core.errors import Code
from apps.core.openapi import (
    COUNT,
    INTEGER,
    OBJECT,
    TABLE,
    TEXT,
    Answer,
    Operation,
    Schema,
    array,
    body_schema,
    described,
    one_of,
    record,
    ref,
)
from apps.webhooks.messages import add_messages

TAGS: Final = {
    "account": "Signing up, in and out; one's profile, password, sessions and keys.",
    "algorithms": "What an algorithm is made of, and how it does.",
    "backtests": "What would have happened.",
    "market": "History, and bars as they close.",
    "symbols": "What can be traded.",
    "trading": "Running algorithms on paper; the account, and the switch that stops everything.",
    "webhooks": "Being told of events, by signed HTTP requests or by e-mail.",
}
FAULT: Final = {
    "field": described(TEXT, "The dotted path of what is wrong."),
    "value": {"description": "What was sent; a secret is never shown."},
    "allowedValues": array({}),
}
ERROR: Final = record(
    {
        "error": record(
            {
                "message": TEXT,
                "code": one_of([code.value for code in Code]),
                "status": {**INTEGER, "minimum": 400, "maximum": 599},
                "details": {
                    **OBJECT,
                    "properties": {
                        **FAULT,
                        "errors": described(
                            array({"type": "object", "properties": {**FAULT, "message": TEXT}}),
                            "All faults, when there are several.",
                        ),
                        "reason": described(TEXT, "Tells refusals of one code apart."),
                        "retryAfter": described(COUNT, "Seconds."),
                    },
                },
                "retryAfter": described(COUNT, "Seconds."),
                "requestId": TEXT,
            },
            optional=("details", "retryAfter"),
        )
    }
)
PAGINATION: Final = record({"page": INTEGER, "limit": INTEGER, "total": COUNT, "totalPages": COUNT})

SECURITY_SCHEMES: Final = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An access token (15 minutes), or an API key whose scopes allow the call.",
    },
    "accessToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "An access token; API keys open nothing of the account.",
    },
    "sessionCookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "sessionid",
        "description": "Of a login with sessionCookie; unsafe verbs also send X-CSRFToken.",
    },
    "refreshCookie": {"type": "apiKey", "in": "cookie", "name": "refreshToken"},
}

HEADERS: Final = {
    "X-Request-ID": (TEXT, "The client's own, or a new one; quote it in reports."),
    "X-RateLimit-Limit": (INTEGER, "Requests in a window of the bucket this call counts in."),
    "X-RateLimit-Remaining": (COUNT, "How many of them are left."),
    "X-RateLimit-Reset": (INTEGER, "Unix time at which the window ends."),
    "Retry-After": (COUNT, "Seconds after which a retry can succeed."),
    "WWW-Authenticate": (TEXT, "Bearer."),
    "ETag": (TEXT, "The state of the algorithm, for If-Match."),
    "X-Total-Count": (COUNT, "Of a table: how many rows all of its pages hold."),
    "Link": (TEXT, "Of a table: its pages before and after, `prev` and `next` (RFC 8288)."),
    "Preference-Applied": (TEXT, "The wait that was granted; absent when none was."),
    "Content-Security-Policy": (TEXT, "What the page may load: nothing but what it brings."),
    "Set-Cookie": (TEXT, "The refresh cookie, set or cleared."),
    REPLAYED: ({**TEXT, "const": "true"}, "The answer of the first request with this key."),
}
# Wherever they are named; each of the others has a case in which it is absent.
ALWAYS_SENT: Final = ("X-Request-ID", "WWW-Authenticate")
ON_ALL: Final = tuple(name for name in HEADERS if name.startswith(("X-Request", "X-RateLimit")))
ON_REFUSALS: Final = {
    401: ("WWW-Authenticate", "Set-Cookie"),
    403: (REPLAYED, "Set-Cookie"),
    404: (REPLAYED,),
    409: ("Retry-After",),
    422: (REPLAYED,),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
REASONS: Final = {
    400: "The request is malformed, or a value fails validation.",
    401: "No valid credential.",
    403: "Not allowed: by the scope of a key, an origin, a CSRF token, or the state.",
    404: "Nothing of the caller's is found there.",
    406: "The Accept header does not take what is answered here.",
    409: "It exists already, or another request does the same at this moment.",
    411: "The body comes in chunks, without a Content-Length.",
    412: "It has changed since it was read.",
    413: "The body is too large.",
    415: "The body is not application/json in UTF-8.",
    422: "A rule of the business refuses it.",
    429: "Too many requests.",
    500: "Something went wrong on our side.",
    503: "Overloaded or under maintenance.",
}


class ViewSchema(ApiSchema):
    """REST framework's DEFAULT_SCHEMA_CLASS: the operation that a view's method is marked with."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any
    ) -> Schema | None:
        """Any: drf-spectacular's registry, which stays unused, and its view, here a ViewSet."""
        view: Any = self.view
        operation = getattr(getattr(view, view.action), "operation", None)
        if operation is not None:
            return _written(operation, method.upper(), path)
        return super().get_operation(path, path_regex, path_prefix, method, registry)


# Path, its pattern, method and view, as drf-spectacular has them. Any: a function with fields.
Endpoint = tuple[str, str, str, Any]


def only_documented(endpoints: Sequence[Endpoint]) -> list[Endpoint]:
    """drf-spectacular's hook at the beginning: of all routes those whose method is marked."""
    return [endpoint for endpoint in endpoints if _is_documented(endpoint[3], endpoint[2])]


def _is_documented(view: Any, method: str) -> bool:
    """Any: as in Endpoint."""
    return hasattr(view, "actions")


def _written(operation: Operation, method: str, path: str) -> Schema:
    """The operation as an Operation Object of OpenAPI."""
    answers = {
        str(status): _answer(answer, replayed=operation.idempotent)
        for status, answer in operation.answers.items()
    }
    refusals = {
        str(status): {"$ref": f"#/components/responses/{_name_of(status, codes)}"}
        for status, codes in operation.all_refusals.items()
    }
    written: Schema = {
        "operationId": operation.name_at(method, path),
        "summary": operation.summary,
        "description": operation.text,
        "tags": [operation.tag],
        "security": [dict(way) for way in operation.security],
        "parameters": operation.all_parameters,
        "responses": answers | refusals,
    }
    if operation.body:
        written["requestBody"] = {
            "required": operation.body.required,
            "content": _content(operation.body.schema, operation.body.example),
        }
    return {name: value for name, value in written.items() if value or name == "security"}


def _answer(answer: Answer, *, replayed: bool) -> Schema:
    names = (*ON_ALL, *answer.headers, *([REPLAYED] if replayed else []))
    shown: Schema = {"description": answer.text, "headers": _headers(names)}
    if answer.schema:
        shown["content"] = _content(answer.schema, answer.example, answer.media_type)
    if answer.table:
        shown["content"] |= _content(TEXT, answer.table, TABLE)
    return shown


def _content(schema: Schema, example: object, media_type: str = "application/json") -> Schema:
    return {media_type: {"schema": schema, "example": example}}


def _headers(names: tuple[str, ...]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _name_of(status: int, codes: tuple[Code, ...]) -> str:
    return ".".join((str(status), *codes))


def _refusal(name: str) -> Schema:
    """The component of that name: the envelope with one of these codes."""
    status, *codes = name.split(".")
    own = {"code": one_of(codes), "status": {"const": int(status)}}
    schema = {"allOf": [ref("Error"), {"properties": {"error": {"properties": own}}}]}
    return {
        "description": REASONS[int(status)],
        "headers": _headers((*ON_ALL, *ON_REFUSALS.get(int(status), ()))),
        "content": {
            "application/json": {
                "schema": schema,
                "examples": {code: {"value": _example(code, int(status))} for code in codes},
            }
        },
    }


def _example(code: str, status: int) -> Schema:
    waiting = {"retryAfter": RETRY_AFTER_SECONDS} if status in (429, 503) else {}
    error = {"message": REASONS[status], "code": code, "status": status, **waiting}
    return {"error": {**error, "requestId": "01993c2f7a5b4c6d8e9f0a1b2c3d4e5f"}}


def complete(result: Schema, **_: object) -> Schema:
    """drf-spectacular's hook at the end: the components that the operations refer to."""
    named = set(re.findall(r"#/components/responses/([\w.]+)", orjson.dumps(result).decode()))
    result["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    made = result.get("components", {}).get("schemas", {})
    result["components"] = {
        "schemas": {
            "Error": ERROR,
            "Pagination": PAGINATION,
            "Nothing": body_schema(EmptyBody),
            **made,
        },
        "responses": {name: _refusal(name) for name in sorted(named)},
        "headers": {
            name: {"schema": schema, "description": text, "required": name in ALWAYS_SENT}
            for name, (schema, text) in HEADERS.items()
        },
        "securitySchemes": SECURITY_SCHEMES,
    }
    return drop_enum_ids(spread_examples(add_messages(add_results(add_steps(result)))))


def document() -> Schema:
    """The whole document, made anew."""
    generator: Any = SchemaGenerator  # which has no types
    made: Schema = generator().get_schema(request=None, public=True)
    return made
