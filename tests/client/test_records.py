"""The records have the fields of the OpenAPI document, all of them and no others."""

import datetime as dt
import types
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from apps.client.algotrade_client import errors, records
from apps.client.algotrade_client.records import Record, wire_name
from apps.core.api.exceptions import STATUS
from apps.core.errors import Code
from tests.openapi import document

OWN = {"raw", "page"}
PLAIN = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "date-time": dt.datetime,
    "date": dt.date,
}


def kinds(kind: type[Record] = Record) -> Iterator[type[Record]]:
    for child in kind.__subclasses__():
        if not child.__name__.startswith("_"):
            yield child
        yield from kinds(child)


def schema_of(kind: type[Record]) -> dict[str, Any]:
    return schema_named({"$ref": f"/{vars(kind).get('schema') or kind.__name__}"})


def fields_of(kind: type[Record]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    hints.pop("schema")
    return {wire_name(name): hint for name, hint in hints.items() if name not in OWN}


def without_null(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the schema of a value that is not null, and whether it may be null."""
    forms = schema.get("anyOf") or schema.get("oneOf")
    if forms:
        present = [form for form in forms if form.get("type") != "null"]
        single = present[0] if len(present) == 1 else {"type": "object"}
        return single, len(present) < len(forms)
    types_of = schema.get("type")
    if isinstance(types_of, list):
        [type_name] = [name for name in types_of if name != "null"]
        return {**schema, "type": type_name, "enum": ()}, True
    return schema, None in schema.get("enum", ())


def fits(hint: Any, schema: dict[str, Any], *, is_optional: bool) -> bool:
    """Return whether the hint describes values of the schema."""
    schema, is_nullable = without_null(schema)
    if get_origin(hint) is types.UnionType:
        [inner] = [part for part in get_args(hint) if part is not type(None)]
        return (is_nullable or is_optional) and fits(inner, schema, is_optional=False)
    if is_nullable or is_optional:
        return False
    if isinstance(hint, type) and issubclass(hint, Record):
        return set(fields_of(hint)) == set(schema_named(schema)["properties"])
    schema = schema_named(schema)
    if schema.get("type") == "array":
        [item, _] = get_args(hint)
        return get_origin(hint) is tuple and fits(item, schema["items"], is_optional=False)
    if schema.get("type", "object") == "object":
        return bool(hint == records.Json)
    return hint is (PLAIN.get(schema.get("format", "")) or PLAIN[schema["type"]])


def schema_named(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the component that a schema refers to, or the schema itself."""
    if "$ref" not in schema:
        return schema
    component: dict[str, Any] = document()["components"]["schemas"][
        schema["$ref"].rpartition("/")[2]
    ]
    return component


@pytest.mark.parametrize("kind", [*kinds()])
def test_a_record_has_the_fields_of_its_schema(kind: type[Record]) -> None:
    schema, fields = schema_of(kind), fields_of(kind)
    assert fields.keys() == schema["properties"].keys()
    required = schema.get("required", [])
    wrong = [
        f"{name}: {hint}, {schema['properties'][name]}"
        for name, hint in fields.items()
        if not fits(hint, schema["properties"][name], is_optional=name not in required)
    ]
    assert wrong == []


def test_most_answers_are_records() -> None:
    assert len(list(kinds())) > 40


def test_every_code_has_its_class() -> None:
    assert errors.ERRORS.keys() == {code.value for code in Code}


@pytest.mark.parametrize("code", Code)
def test_an_error_is_of_the_class_of_its_code(code: Code) -> None:
    body = {
        "error": {
            "code": code.value,
            "message": "Not so.",
            "status": STATUS[code],
            "details": {"field": "name"},
            "requestId": "2bde12dcedd34628d21933c0d009c214",
        }
    }
    error = errors.error_of(body, status=STATUS[code])
    assert type(error).code == code.value
    assert (str(error), error.field, error.status) == ("Not so.", "name", STATUS[code])
    assert error.request_id == "2bde12dcedd34628d21933c0d009c214"


@pytest.mark.parametrize("body", [None, [], {"error": "text"}, {"error": {"code": "NEW"}}])
def test_a_refusal_of_a_proxy_or_a_newer_service_is_an_error(body: object) -> None:
    error = errors.error_of(body, status=502)
    assert type(error) is errors.ApiError
    assert (error.status, str(error)) == (502, "The service answered 502.")
