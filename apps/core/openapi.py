"""What the OpenAPI document is made of: schemas, and operations that stand beside their views.

A view's method is marked with `@documented(Operation(...))`; `config.openapi` walks the routes and
writes down what it finds. Here nothing is looked up: an operation is a frozen value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from rest_framework import serializers

from apps.core.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE
from apps.core.api.serializers import (
    Body,
    ChoiceField,
    FlagField,
    MomentField,
    NumberField,
    TextField,
)
from apps.core.errors import Code

Schema = dict[str, Any]
"""A JSON Schema of draft 2020-12. Any: JSON of any shape, as everywhere in this file."""
Refusals = Mapping[int, tuple[Code, ...]]
View = TypeVar("View", bound=Callable[..., object])

TEXT: Final[Schema] = {"type": "string"}
INTEGER: Final[Schema] = {"type": "integer"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
NUMBER: Final[Schema] = {"type": "number"}
FLAG: Final[Schema] = {"type": "boolean"}
OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}
ID: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{24}$"}
MOMENT: Final[Schema] = {
    "type": "string", "format": "date-time", "description": "ISO 8601 in UTC with Z.",
}  # fmt: skip
DATE: Final[Schema] = {"type": "string", "format": "date"}
DATE_IN_INDIA: Final[Schema] = {**DATE, "description": "The date in Asia/Kolkata."}
STRING: Final[Schema] = {"type": "string", "pattern": r"^[^\u0000]*$"}
"""Any text that is sent; in UTF-8, so that it holds no half of a surrogate pair either."""
NO_CONTROL: Final[Schema] = {"pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"}
NO_FORMAT: Final[Schema] = {"pattern": r"^\P{Cf}*$"}
"""What only steers how text is shown: a mark that reverses it, say."""
NOT_BLANK: Final[Schema] = {"pattern": r"\S"}
_LINES: Final[Schema] = {"pattern": r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$"}
_JOINERS_ONLY: Final[Schema] = {"pattern": r"^(?:\P{Cf}|[\u200c\u200d])*$"}
ID_SHOWN: Final = "6a0ec3f1b2d4e5f60718293a"
MOMENT_SHOWN: Final = "2026-11-20T04:15:00.000Z"
DATE_SHOWN: Final = "2026-11-20"

TABLE: Final = "text/csv; charset=utf-8"
TABLE_TEXT: Final = "With `Accept: text/csv` the same page as a table; headers tell of the others."
TABLE_HEADERS: Final = ("X-Total-Count", "Link")
"""Of a page as a table."""

Security = Sequence[Mapping[str, Sequence[str]]]

BEARER: Final[Security] = ({"bearer": []}, {"sessionCookie": []})
"""What most calls take: an access token or an API key, or a browser's cookie."""
OF_ACCOUNT: Final[Security] = ({"accessToken": []}, {"sessionCookie": []})
"""What calls under /api/auth take: there no API key is valid."""

ALWAYS: Final[Refusals] = {
    400: (Code.VALIDATION_ERROR,),
    406: (Code.VALIDATION_ERROR,),
    411: (Code.VALIDATION_ERROR,),
    413: (Code.VALIDATION_ERROR,),
    415: (Code.VALIDATION_ERROR,),
    429: (Code.TOO_MANY_REQUESTS,),
    500: (Code.INTERNAL_SERVER_ERROR,),
    503: (Code.SERVICE_UNAVAILABLE,),
}
"""What can refuse any call before its view is asked, or go wrong in it."""
TO_STRANGERS: Final[Refusals] = {
    401: (Code.UNAUTHORIZED, Code.INVALID_TOKEN, Code.TOKEN_EXPIRED),
    403: (Code.FORBIDDEN,),
}
OF_KEYS: Final[Refusals] = {409: (Code.CONFLICT,), 422: (Code.UNPROCESSABLE_ENTITY,)}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


ANY: Final[Schema] = {"description": "Any JSON value."}
"""Whatever may be sent where nothing is known of it."""
FREE: Final[Schema] = {"type": "object", "additionalProperties": True}


def record(fields: Mapping[str, Schema], *, optional: Sequence[str] = ()) -> Schema:
    """An object that has all of these fields but the optional ones, always."""
    required = [name for name in fields if name not in optional]
    return {"type": "object", "properties": dict(fields), "required": required}


def described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def one_of(values: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def array(items: Schema, **limits: int) -> Schema:
    return {"type": "array", "items": items, **limits}


def nullable(schema: Schema) -> Schema:
    if "enum" in schema:
        schema = {**schema, "enum": [*schema["enum"], None]}
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if kind else {"anyOf": [schema, {"type": "null"}]}


def page_of(item: Schema, **beside: Schema) -> Schema:
    """A page of items; `beside` are fields that stand next to them."""
    return record({"data": array(item), "pagination": ref("Pagination"), **beside})


def page_shown(*items: object, **beside: object) -> dict[str, object]:
    """A page of examples; `beside` as of `page_of`."""
    pagination = {"page": 1, "limit": DEFAULT_LIMIT, "total": len(items), "totalPages": 1}
    return {"data": list(items), "pagination": pagination, **beside}


def query(name: str, schema: Schema, text: str, *, example: object = None) -> Schema:
    """A query parameter; one that has an example is required."""
    shown = {} if example is None else {"required": True, "example": example}
    return {"name": name, "in": "query", "description": text, "schema": schema, **shown}


def place(name: str, text: str, *, schema: Schema = ID, example: str = ID_SHOWN) -> Schema:
    """A part of the path."""
    return {
        "name": name, "in": "path", "required": True, "description": text,
        "schema": schema, "example": example,
    }  # fmt: skip


def header(name: str, schema: Schema, text: str) -> Schema:
    return {"name": name, "in": "header", "description": text, "schema": schema}


PAGED: Final = (
    query("page", {**INTEGER, "minimum": 1, "maximum": MAX_PAGE, "default": 1}, "Counts from 1."),
    query(
        "limit",
        {**INTEGER, "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "How many items a page holds.",
    ),
)
IDEMPOTENCY_KEY: Final = header(
    "Idempotency-Key",
    {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
    "Sent again within 24 hours, the first answer is repeated and nothing is done twice.",
)
IF_MATCH: Final = header("If-Match", TEXT, "Write only if the ETag is still this one; else 412.")


def sorted_by(columns: Sequence[str], *, default: str = "createdAt") -> tuple[Schema, Schema]:
    return (
        query("sort", {**one_of(columns), "default": default}, "The field to sort by."),
        query("order", {**one_of(("asc", "desc")), "default": "desc"}, "The direction."),
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """A success: its body, None for none, and the headers it has beside those of every answer.

    `table` is an example of the same body as CSV, where it can be had.
    """

    text: str
    schema: Schema | None = None
    example: object = None
    headers: tuple[str, ...] = ()
    media_type: str = "application/json"
    table: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """The body of a request; one that is not required may be absent."""

    schema: Schema
    example: object
    required: bool = True


NOTHING: Final = Sent(ref("Nothing"), {}, required=False)
"""Of a call that has no fields of its own."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: its name for programs, what it takes, and every way it can be answered.

    `elsewhere` renames it where the same method serves another verb or another address; `refusals`
    are those it has beside the ones that follow from what it takes.
    """

    name: str
    summary: str
    tag: str
    answers: Mapping[int, Answer]
    text: str = ""
    parameters: tuple[Schema, ...] = ()
    body: Sent | None = None
    refusals: Refusals = field(default_factory=dict)
    security: Security = BEARER
    idempotent: bool = False
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    def name_at(self, method: str, path: str) -> str:
        return self.elsewhere.get(method) or self.elsewhere.get(path) or self.name

    @property
    def all_parameters(self) -> list[Schema]:
        return [*self.parameters, *([IDEMPOTENCY_KEY] if self.idempotent else [])]

    @property
    def all_refusals(self) -> dict[int, tuple[Code, ...]]:
        """Every status of 400 and above that it can answer with, and with which codes."""
        kinds = (
            ALWAYS,
            TO_STRANGERS if self.security else {},
            OF_KEYS if self.idempotent else {},
            self.refusals,
        )
        found: dict[int, tuple[Code, ...]] = {}
        for kind in kinds:
            for status, codes in kind.items():
                found[status] = tuple(dict.fromkeys((*found.get(status, ()), *codes)))
        return dict(sorted(found.items()))


def documented(operation: Operation) -> Callable[[View], View]:
    """Mark the method of a view with the operation it is."""

    def mark(view: View) -> View:
        view.operation = operation  # type: ignore[attr-defined]  # read by config.openapi alone
        return view

    return mark


def body_schema(body: type[Body], **known: Schema) -> Schema:
    """What `Body.read` takes; `known` are the schemas of fields that say nothing of themselves."""
    made = body()
    fields = {name: known.get(name) or _field(one) for name, one in made.fields.items()}
    required = [name for name, one in made.fields.items() if one.required]
    for name, one in made.fields.items():
        if one.allow_null:
            fields[name] = nullable(fields[name])
    ignored = {name: described(ANY, "Passed over.") for name in sorted(body.ignored)}
    unknown = {"additionalProperties": False} if body.refuses_unknown else FREE
    schema: Schema = {"type": "object", "properties": {**fields, **ignored}, **unknown}
    return {**schema, "required": required} if required else schema


def _field(one: object) -> Schema:
    match one:
        case TextField():
            return _text(one)
        case serializers.CharField():
            return STRING | _lengths(one)
        case FlagField():
            return FLAG
        case MomentField():
            return MOMENT
        case NumberField():
            return {"type": "number", "minimum": one.min_value, "maximum": one.max_value}
        case ChoiceField():
            return one_of(list(one.choices))
    raise TypeError(f"{type(one).__name__} has no schema; give one by the field's name")


def _text(one: TextField) -> Schema:
    signs = [_JOINERS_ONLY] if one.allow_blank else [_JOINERS_ONLY, NOT_BLANK]
    control = _LINES if one.lines else NO_CONTROL
    return {"type": "string", **control, "allOf": signs, **_lengths(one)}


def _lengths(one: serializers.CharField) -> Schema:
    least: Schema = {"minLength": one.min_length or (0 if one.allow_blank else 1)}
    return least | ({"maxLength": one.max_length} if one.max_length else {})
