"""The OpenAPI document: drf-spectacular reads serializers, views and routes; this module adds the
parts that all calls share.

A view states its own parts: `@extend_schema` has its name, body and answers, `@refuses` its errors,
the docstring its purpose. Shared parts (errors of a call that needs a token, takes a body or an
Idempotency-Key; headers of every answer) are added to each call.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeVar

from drf_spectacular.drainage import get_override
from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import (
    Direction,
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    PolymorphicProxySerializer,
    extend_schema_field,
    extend_schema_serializer,
)
from rest_framework import serializers

from apps.core.api.exceptions import OWN_STATUS, STATUS
from apps.core.api.middleware import is_for_programs
from apps.core.api.resources.idempotency import HEADER, REPLAYED
from apps.core.api.resources.records import (
    RecordSerializer,
    Schema,
    ref,
    register_components,
    schemas_of,
)
from apps.core.api.resources.serializers import (
    ChoiceSetField,
    IdTextField,
    ListField,
    SecretField,
    StrictSerializer,
    TextField,
)
from apps.core.api.resources.tables import ARROW, TableRenderer
from apps.core.errors import Code, NotFound, ServiceError

_APPS: Final = Path(__file__).parents[3]

View = TypeVar("View", bound=Callable[..., object])
Answer = TypeVar("Answer", bound=serializers.Serializer[Any])

BEARER: Final[list[dict[str, list[str]]]] = [{"bearer": []}, {"sessionCookie": []}]
# For `extend_schema(auth=...)`, whose type allows only names. API keys are not valid under
# /api/auth. A refresh takes the cookie; logging out takes any credential of a session.
ACCOUNT: Final[Any] = [{"accessToken": []}, {"sessionCookie": []}]
REFRESH: Final[Any] = [{"refreshCookie": []}]
LOG_OUT: Final[Any] = [{"accessToken": []}, {"refreshCookie": []}, {"sessionCookie": []}]
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
    "refreshCookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "refreshToken",
        "description": "Set by signing up, logging in, a new password and, now and then, a refresh;"
        " refreshing and logging out read it.",
    },
}

# The successes with a body, by default of the library without 202.
_WITH_A_BODY: Final = ("200", "201", "202")

# Refusals.

# The extension of a refusal that lists its codes by status, for programs.
REFUSALS: Final = "x-refusals"
# Errors that any call can answer with, before its view runs or in it.
ALWAYS: Final[Mapping[int, tuple[Code, ...]]] = {
    400: (Code.VALIDATION_ERROR,),
    406: (Code.VALIDATION_ERROR,),
    411: (Code.VALIDATION_ERROR,),
    413: (Code.VALIDATION_ERROR,),
    415: (Code.VALIDATION_ERROR,),
    429: (Code.TOO_MANY_REQUESTS,),
    431: (Code.VALIDATION_ERROR,),
    500: (Code.INTERNAL_SERVER_ERROR,),
    503: (Code.SERVICE_UNAVAILABLE,),
}
WITHOUT_CREDENTIALS: Final[Mapping[int, tuple[Code, ...]]] = {
    401: (Code.UNAUTHORIZED, Code.INVALID_TOKEN, Code.TOKEN_EXPIRED),
    403: (Code.FORBIDDEN,),
}
WITH_IDEMPOTENCY_KEY: Final[Mapping[int, tuple[Code, ...]]] = {
    409: (Code.CONFLICT,),
    422: (Code.UNPROCESSABLE_ENTITY,),
}
REASONS: Final = {
    400: "The request is malformed, or a value fails validation.",
    401: "No valid credential.",
    403: "Not allowed: by the role, the scope of a key, a proof that is not recent, an origin, a"
    " CSRF token, or the state.",
    404: "Nothing that the caller may see is found there.",
    406: "The Accept header allows none of the formats of this answer.",
    409: "It exists already, another request does the same just now, or it is not in the state"
    " for it.",
    411: "The body comes in chunks, without a Content-Length.",
    412: "It has changed since it was read.",
    413: "The body is too large.",
    415: "The body is not application/json in UTF-8.",
    422: "A rule of the business refuses it.",
    429: "Too many requests, or too many of the call's resources at once.",
    431: "The cookies are longer than 16 KiB.",
    500: "Something went wrong on our side.",
    503: "Unavailable for now: overload, maintenance, a kill switch, or a missing service.",
}


def refuses(*errors: type[ServiceError] | Code) -> Callable[[View], View]:
    """Name the errors that a view's method can raise, or their codes if several errors share a
    code.
    """

    def mark(method: View) -> View:
        method.refusals = errors  # type: ignore[attr-defined]  # only ApiSchema reads it
        return method

    return mark


@cache
def examples_of(app: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the examples of an app: of each serializer, keyed by name."""
    examples: dict[str, dict[str, Any]] = json.loads((_APPS / app / "examples.json").read_bytes())
    return examples


def example(kind: type[Answer]) -> type[Answer]:
    """Give a serializer its examples from the file of its app: the main one first, and further ones
    for fields that it lacks.
    """
    shown = examples_of(kind.__module__.split(".")[1])[kind.__name__.removesuffix("Serializer")]
    listed = [
        OpenApiExample(name, value, status_codes=_WITH_A_BODY) for name, value in shown.items()
    ]
    return extend_schema_serializer(examples=listed)(kind)


# Headers.

HEADERS: Final[Mapping[str, tuple[Schema, str]]] = {
    "X-Request-ID": ({"type": "string"}, "The client's own, or a new one; quote it in reports."),
    "X-RateLimit-Limit": (
        {"type": "integer"},
        "Requests in a window of the bucket this call counts in.",
    ),
    "X-RateLimit-Remaining": ({"type": "integer", "minimum": 0}, "How many of them are left."),
    "X-RateLimit-Reset": ({"type": "integer"}, "The Unix time of the end of the window."),
    "Retry-After": (
        {"type": "integer", "minimum": 0},
        "The seconds until a retry can succeed.",
    ),
    "WWW-Authenticate": ({"type": "string"}, "Bearer."),
    "ETag": ({"type": "string"}, "The state of the algorithm, for If-Match."),
    "X-Total-Count": (
        {"type": "integer", "minimum": 0},
        "Of a table: how many rows all of its pages hold.",
    ),
    "Link": (
        {"type": "string"},
        "Of a table: its pages before and after, `prev` and `next` (RFC 8288).",
    ),
    "Preference-Applied": (
        {"type": "string"},
        "The wait that was granted; absent when none was.",
    ),
    "Content-Security-Policy": (
        {"type": "string"},
        "The page loads nothing from other addresses.",
    ),
    "Content-Disposition": ({"type": "string"}, "The name of the file."),
    "Set-Cookie": (
        {"type": "string"},
        "Sets or clears the refresh cookie, and the cookies of a sessionCookie login.",
    ),
    "X-Accel-Buffering": (
        {"type": "string", "const": "no"},
        "A proxy is to pass on each part as it comes.",
    ),
    REPLAYED: (
        {"type": "string", "const": "true"},
        "The answer of the first request with this key.",
    ),
}
# These headers are always sent where they are documented; every other header can be absent.
ALWAYS_SENT: Final = ("X-Request-ID",)
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


def answer_header(name: str) -> OpenApiParameter:
    """Return a header of a call's successes, for `extend_schema(parameters=...)`."""
    schema, text = HEADERS[name]
    return OpenApiParameter(name, schema, OpenApiParameter.HEADER, description=text, response=True)


ETAG: Final = answer_header("ETag")
IF_MATCH: Final = OpenApiParameter(
    "If-Match",
    {"type": "string", "examples": ['"7"']},
    OpenApiParameter.HEADER,
    description="Write only if the ETag is still this one; else 412.",
)
IF_NONE_MATCH: Final = OpenApiParameter(
    "If-None-Match",
    {"type": "string", "examples": ['"7"']},
    OpenApiParameter.HEADER,
    description="Answer 304 without a body if the ETag is still this one.",
)
IDEMPOTENCY_KEY: Final[Schema] = {
    "name": HEADER,
    "in": "header",
    "description": "A key makes a request safe to repeat. Within 24 hours the same body gets the"
    " first response again, and nothing is done twice; another body gets a 422."
    " After a 400, 401, 409, 429 or 5xx the key can be used again.",
    "schema": {
        "type": "string",
        "pattern": "^[\\x21-\\x7e]{1,255}$",
        "examples": ["01993c2f-7a5b-7c6d-8e9f-0a1b2c3d4e5f"],
    },
}

# Shared components.

ID_PATTERN: Final = "^[0-9a-f]{24}$"
ID_EXAMPLE: Final = "6a0ec3f1b2d4e5f60718293a"
MOMENT_EXAMPLE: Final = "2026-11-20T04:15:00.000Z"
TABLE: Final = "text/csv; charset=utf-8"

# Any text that is sent; in UTF-8, so that it holds no half of a surrogate pair either.
STRING: Final[Schema] = {"type": "string", "pattern": r"^[^\u0000]*$"}
_CONTROL: Final = r"\u0000-\u001f\u007f-\u009f"
_CONTROL_BUT_LINES: Final = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"
# Format characters only steer how text is shown: a mark that reverses it, say. They are listed,
# as not every client's patterns know of Unicode's categories; the joiners build emoji.
_JOINERS: Final = r"\u200c-\u200d"
_FORMAT: Final = (
    r"\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b\u200e-\u200f"
    r"\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
)


def text_pattern(*, lines: bool = False, blank: bool = True, joiners: bool = True) -> str:
    """Return the pattern of text without control and format characters."""
    refused = (_CONTROL_BUT_LINES if lines else _CONTROL) + _FORMAT + ("" if joiners else _JOINERS)
    return f"^[^{refused}]*$" if blank else rf"^[^{refused}]*[^{refused}\s][^{refused}]*$"


# Any value where nothing is known about it. The document omits the ban on NUL and the limits of
# numbers and depth: most generated clients have no recursive type.
ANY: Final[Schema] = {"description": "Any JSON value."}
OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}
# drf-spectacular adds this to the schema of text that may be blank.
EMPTY_TEXT: Final[Schema] = {"type": "string", "maxLength": 0}
# The body of a call that has no fields of its own, for `extend_schema(request=...)`.
NO_FIELDS: Final = {
    "application/json": OpenApiRequest(ref("Nothing"), examples=[OpenApiExample("Example", {})])
}


_FAULT: Final[Schema] = {
    "field": {"type": "string", "description": "The dotted path of the wrong field."},
    "value": {"description": "The value sent; a secret is never shown."},
    "allowedValues": {"type": "array", "items": {}, "description": "The values that are allowed."},
}
ERROR: Final[Schema] = {
    "type": "object",
    "description": "Every refusal.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "code", "status", "requestId"],
            "properties": {
                "message": {"type": "string", "description": "A sentence for people."},
                "code": {
                    "type": "string",
                    "description": "The error's kind, for programs.",
                    "enum": [code.value for code in Code],
                },
                "status": {
                    "type": "integer",
                    "minimum": 400,
                    "maximum": 599,
                    "description": " ".join(
                        f"{status}: {text}" for status, text in REASONS.items()
                    ),
                },
                "details": {
                    **OBJECT,
                    "properties": {
                        **_FAULT,
                        "errors": {
                            "type": "array",
                            "description": "All errors, when there are several.",
                            "items": {
                                "type": "object",
                                "properties": {**_FAULT, "message": {"type": "string"}},
                            },
                        },
                        "reason": {
                            "type": "string",
                            "description": "Distinguishes refusals with the same code.",
                        },
                        "retryAfter": {
                            "type": "integer",
                            "minimum": 0,
                            "description": "Seconds.",
                        },
                    },
                },
                "retryAfter": {"type": "integer", "minimum": 0, "description": "Seconds."},
                "requestId": {"type": "string", "description": "Quote it in reports."},
            },
        }
    },
    "examples": [
        {
            "error": {
                "message": "The algorithm does not exist.",
                "code": Code.NOT_FOUND.value,
                "status": 404,
                "requestId": "01993c2f7a5b4c6d8e9f0a1b2c3d4e5f",
            }
        }
    ],
}


class ApiSchema(AutoSchema):
    """Describe one call: REST framework's DEFAULT_SCHEMA_CLASS."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any
    ) -> Schema | None:
        operation: Schema | None = super().get_operation(
            path, path_regex, path_prefix, method, registry
        )
        if operation is None:
            return None
        operation.setdefault("security", [])
        if "requestBody" in operation and isinstance(
            self.get_request_serializer(), PolymorphicProxySerializer
        ):
            operation["requestBody"]["required"] = True  # whichever kind it is
        is_idempotent = getattr(self._method, "is_idempotent", False)
        if is_idempotent:
            operation["parameters"] = [*operation.get("parameters", []), IDEMPOTENCY_KEY]
        responses: dict[str, Schema] = operation["responses"]
        for status, response in responses.items():
            self._complete_answer(status, response, is_idempotent=is_idempotent)
        responses["default"] = _refusal(self._refusals(operation))
        self._add_query_examples(operation.get("parameters", ()))
        return operation

    @property
    def _method(self) -> Callable[..., object] | None:
        return getattr(self.view, getattr(self.view, "action", None) or "", None)

    def is_excluded(self) -> bool:
        return not is_for_programs(self.path)

    def get_summary(self) -> str | None:
        """Return the first paragraph of the method's docstring; the others are the description."""
        return self._docstring()[0]

    def get_description(self) -> str:  # type: ignore[override]  # as in the library
        return self._docstring()[1]

    def _docstring(self) -> tuple[str, str]:
        summary, _, text = (self._method.__doc__ or "" if self._method else "").partition("\n\n")
        return " ".join(summary.split()).rstrip("."), "\n\n".join(
            " ".join(paragraph.split()) for paragraph in text.split("\n\n")
        )

    def get_auth(self) -> list[Schema]:
        return [dict(way) for way in BEARER] if self.view.get_authenticators() else []

    def get_override_parameters(self) -> list[Any]:
        """Add the ids in the path."""
        return [
            OpenApiParameter(
                name,
                {"type": "string", "pattern": ID_PATTERN, "examples": [ID_EXAMPLE]},
                OpenApiParameter.PATH,
                required=True,
                description=f"The id of the {name.removesuffix('_id').replace('_', ' ')}.",
            )
            for name in re.findall(r"{(\w+_id)}", self.path)
        ]

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}Page"

    def _add_query_examples(self, parameters: Sequence[Schema]) -> None:
        """Give parameters the values of their query serializer's example.

        An example of the parameter itself prefills documentation pages, so optional parameters get
        theirs in the schema.
        """
        examples: dict[str, object] = {}
        for query in self.get_override_parameters():
            if isinstance(query, type) and issubclass(query, serializers.Serializer):
                for example in get_override(query, "examples", []):
                    examples |= example.value
        for parameter in parameters:
            if parameter["name"] not in examples:
                continue
            if parameter.get("required"):
                parameter["example"] = examples[parameter["name"]]
            else:
                parameter["schema"]["examples"] = [examples[parameter["name"]]]

    def _refusals(self, operation: Schema) -> dict[int, tuple[Code, ...]]:
        """Return the codes that the call can answer with, keyed by status (400 and above)."""
        sources = [ALWAYS]
        if operation["security"]:
            sources.append(WITHOUT_CREDENTIALS)
        if getattr(self._method, "is_idempotent", False):
            sources.append(WITH_IDEMPOTENCY_KEY)
        own: list[type[ServiceError] | Code] = list(getattr(self._method, "refusals", ()))
        if re.search(r"{\w+_id}", self.path):
            own.insert(0, getattr(self.view, "not_found", NotFound))
        sources += [_refused(error) for error in own]
        refusals: dict[int, tuple[Code, ...]] = {}
        for source in sources:
            for status, codes in source.items():
                refusals[status] = tuple(dict.fromkeys((*refusals.get(status, ()), *codes)))
        return refusals

    def _complete_answer(self, status: str, response: Schema, *, is_idempotent: bool) -> None:
        """Add to a success the headers of every answer, and the same body as a table."""
        text = str(response.get("description") or "")
        is_default = text in ("", "No response body")
        response["description"] = HTTPStatus(int(status)).phrase if is_default else text
        names = [*ON_ALL, *response.get("headers", ())]
        content: Schema = response.get("content", {})
        if "text/csv" in content:
            del content["text/csv"]
            example = next(iter(content["application/json"]["examples"].values()))["value"]
            content[TABLE] = {"schema": {"type": "string"}, "example": self._table_of(example)}
            content[ARROW] = {"schema": {"type": "string", "format": "binary"}}
            names += ["X-Total-Count", "Link"] if "pagination" in example else []
        if is_idempotent:
            names.append(REPLAYED)
        response["headers"] = _headers(names)

    def _table_of(self, example: Any) -> str:
        renderers = self.view.get_renderers()
        table = next(renderer for renderer in renderers if renderer.format == "csv")
        assert isinstance(table, TableRenderer)
        return table.render(example).decode()


def _refusal(refusals: Mapping[int, tuple[Code, ...]]) -> Schema:
    """Return the one answer of a call's refusals, with its codes by status."""
    codes = {str(status): [code.value for code in refusals[status]] for status in sorted(refusals)}
    listed = "; ".join(f"{status} {', '.join(of_status)}" for status, of_status in codes.items())
    names = [name for status in refusals for name in ON_REFUSALS.get(status, ())]
    return {
        "description": f"A refusal: {listed}.",
        "headers": _headers((*ON_ALL, *names)),
        "content": {"application/json": {"schema": ref("Error")}},
        REFUSALS: codes,
    }


def _refused(error: type[ServiceError] | Code) -> dict[int, tuple[Code, ...]]:
    if isinstance(error, Code):
        return {STATUS[error]: (error,)}
    return {OWN_STATUS.get(error, STATUS[error.code]): (error.code,)}


def _headers(names: Sequence[str]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


class StrictSerializerSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Mark a body as closed to unknown keys, with the keys that it ignores.

    Mark all fields of an answer as required.
    """

    target_class = StrictSerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        serializer: StrictSerializer = self.target
        ignored = [] if serializer.is_answer else _read_only(serializer)
        for name in ignored:
            del serializer.fields[name]
        schema: Schema = auto_schema._map_serializer(  # type: ignore[no-untyped-call]
            serializer, direction, bypass_extensions=True
        )  # as the library's own extensions do
        if not vars(type(serializer)).get("__doc__"):
            schema.pop("description", None)  # of the base class
        if serializer.is_answer:
            fields = serializer.fields.items()
            schema["required"] = [name for name, f in fields if f.required or f.read_only]
            return schema
        for field in schema.get("properties", {}).values():
            if EMPTY_TEXT in field.get("oneOf", ()):  # the pattern accepts empty text too
                field.update(field.pop("oneOf")[0])
        for name in ignored:
            schema["properties"][name] = {**ANY, "description": "Ignored."}
        if serializer.refuses_unknown:
            schema["additionalProperties"] = False
        return schema


class RecordSerializerSchema(StrictSerializerSchema):  # type: ignore[no-untyped-call]
    """The fields of the record of an answer, and its own."""

    target_class = RecordSerializer
    priority = 1

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        own, record = super().map_serializer(auto_schema, direction), self.target.record
        schemas = schemas_of([record])
        schema = schemas.pop(record.__name__)
        register_components(auto_schema, schemas)
        return {
            **schema,
            **own,
            "properties": {**schema["properties"], **own.get("properties", {})},
            "required": [*schema["required"], *own["required"]],
        }


def _read_only(serializer: StrictSerializer) -> list[str]:
    return [str(name) for name, field in serializer.fields.items() if field.read_only]


class TextSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The characters that text written by people may hold."""

    target_class = TextField

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        field: TextField = self.target
        schema = {"type": "string", **_length(field)}
        if direction == "response":
            schema.pop("minLength", None)
            return schema
        return schema | {"pattern": text_pattern(lines=field.lines, blank=field.allow_blank)}


class SecretSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """A password or token: any text."""

    target_class = SecretField

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return {**STRING, **_length(self.target)}


def _length(field: serializers.CharField) -> Schema:
    least = field.min_length or (0 if field.allow_blank else 1)
    bounds = {"minLength": least, "maxLength": field.max_length}
    return {name: bound for name, bound in bounds.items() if bound}


extend_schema_field({"type": "string", "pattern": ID_PATTERN})(IdTextField)
extend_schema_field({"type": "array", "items": {}})(ListField)


class ChoiceSetSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The members that a set of choices may hold."""

    target_class = ChoiceSetField

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        field: ChoiceSetField = self.target
        return {
            "type": "array",
            "items": {"type": "string", "enum": [str(choice) for choice in field.choices]},
            "minItems": field.least,
            "maxItems": len(field.choices),
            "uniqueItems": True,
        }


# The whole document.


def add_shared_components(result: Schema, **_: object) -> Schema:
    """Add the components that the calls refer to: errors, headers, security schemes.

    One of drf-spectacular's POSTPROCESSING_HOOKS.
    """
    components = result.setdefault("components", {})
    components.setdefault("schemas", {}).update(
        Error=ERROR, Nothing={"type": "object", "additionalProperties": False}
    )
    components["headers"] = {
        name: {"schema": schema, "description": text, "required": name in ALWAYS_SENT}
        for name, (schema, text) in HEADERS.items()
    }
    components["securitySchemes"] = SECURITY_SCHEMES
    return result


def drop_enum_ids(result: Any, **_: object) -> Any:
    """Return a copy without drf-spectacular's marks for naming enums; here enums stay inline.

    One of drf-spectacular's POSTPROCESSING_HOOKS.
    """
    if isinstance(result, dict):
        named = result.items()
        return {name: drop_enum_ids(value) for name, value in named if name != "x-spec-enum-id"}
    return [drop_enum_ids(item) for item in result] if isinstance(result, list) else result


def document() -> Schema:
    """Return the whole document, newly generated."""
    generator: Any = SchemaGenerator  # drf-spectacular has no types
    written: Schema = generator().get_schema(request=None, public=True)
    return written
