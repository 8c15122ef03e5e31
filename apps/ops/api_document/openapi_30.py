"""The OpenAPI document in version 3.0.

For a document of 3.1 Swagger UI reads all of it again for each opened call; for one of 3.0 only the
call.
"""

from typing import Any, Final

from apps.core.api.resources import Schema

_DATA: Final = frozenset({"default", "enum", "example", "examples"})  # values, no schemas
_NULL: Final[Schema] = {"type": "null"}


def to_openapi_30(document: Schema) -> Schema:
    """Return the document in version 3.0: null is `nullable`, a constant an `enum`, and a schema
    has one example. The items of a tuple are left to its description.
    """
    downgraded: Schema = _downgrade(document)
    return {**downgraded, "openapi": "3.0.3"}


def _downgrade(value: Any) -> Any:
    if isinstance(value, list):
        return [_downgrade(item) for item in value]
    if not isinstance(value, dict):
        return value
    schema = {
        name: inner if name in _DATA else _downgrade(inner)
        for name, inner in value.items()
        if name not in ("properties", "prefixItems")
    }
    if "properties" in value:  # the names are not keywords of a schema
        fields = value["properties"].items()
        schema["properties"] = {name: _downgrade(field) for name, field in fields}
    if "$ref" in schema and len(schema) > 1:  # nothing may stand beside it
        schema = {"allOf": [{"$ref": schema.pop("$ref")}], **schema}
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if isinstance(schema.get("examples"), list):  # of a schema, not of a body
        schema["example"] = schema.pop("examples")[0]
    for bound in ("minimum", "maximum"):
        exclusive = "exclusive" + bound.title()
        if isinstance(schema.get(exclusive), int | float):
            schema |= {bound: schema[exclusive], exclusive: True}
    return _with_nullable(schema)


def _with_nullable(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), list):
        types = [name for name in schema["type"] if name != "null"]
        schema |= {"type": types[0], "nullable": len(types) < len(schema["type"])}
    for union in ("anyOf", "oneOf"):
        if _NULL in schema.get(union, ()):
            kinds = [kind for kind in schema.pop(union) if kind != _NULL]
            schema |= {"allOf" if len(kinds) == 1 else union: kinds, "nullable": True}
    return schema
