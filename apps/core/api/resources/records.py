"""Fields of typed records, which lend the document their JSON schema."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import Direction
from pydantic import TypeAdapter

from apps.core.api.resources.serializers import DocumentSerializer, ObjectField

Schema = dict[str, Any]  # a JSON Schema of draft 2020-12, or another object of the document

_REF: Final = "#/components/schemas/{model}"


class RecordField(ObjectField):
    """A record of one of these types, in wire form: TypedDicts, dataclasses or Pydantic models.

    With `many` it is a list of records, with `allow_null` also null.
    """

    def __init__(self, *kinds: type[Any], many: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.kinds = kinds
        self.many = many


class RecordSerializer(DocumentSerializer):
    """The base of answers with the fields of a typed record, and more of their own."""

    record: ClassVar[type[Any]]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return dict(instance)


class RecordSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """References to the components of a field's types."""

    target_class = RecordField
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        field: RecordField = self.target
        register_components(auto_schema, schemas_of(field.kinds))
        kinds = [ref(kind.__name__) for kind in field.kinds]
        record: Schema = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        return {"type": "array", "items": record} if field.many else record


def register_components(auto_schema: AutoSchema, schemas: dict[str, Schema]) -> None:
    """Add components to the document that a schema is written into."""
    for name, schema in schemas.items():
        component = ResolvedComponent(name, ResolvedComponent.SCHEMA, schema, name)  # type: ignore[no-untyped-call]
        auto_schema.registry.register_on_missing(component)


def ref(name: str) -> Schema:
    return {"$ref": _REF.format(model=name)}


def schemas_of(kinds: Sequence[type[Any]]) -> dict[str, Schema]:
    """Return the components of types, and of the types that they refer to, keyed by name."""
    components: dict[str, Schema] = {}
    for kind in kinds:
        schema = plain_schema(TypeAdapter(kind).json_schema(ref_template=_REF))
        components |= schema.pop("$defs", {})
        if "$ref" not in schema:  # a type that refers to itself is among its own parts
            components[kind.__name__] = schema
    return components


def plain_schema(schema: Any) -> Any:
    """Return a JSON Schema without Pydantic's titles and nulls for absent values. Numbers are
    doubles.
    """
    if isinstance(schema, list):
        return [plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    form = {"format": "double"} if schema.get("type") == "number" else {}
    return form | {
        name: plain_schema(value)
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str)) and (name, value) != ("default", None)
    }
