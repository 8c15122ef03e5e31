"""The steps as JSON Schema, complete, as a draft and as changes, from the engine's own models.

A draft requires only the tags that give the kind of an object. An object without a tag may have the
fields of any kind.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.algorithms.configuration import STEPS
from apps.core.api.resources import Schema, plain_schema, ref, text_pattern
from apps.engine.language import Strategy
from apps.symbols.serializers import SYMBOL

_REF: Final = "#/components/schemas/"
_TAGS: Final = frozenset({"type", "method"})
_ANNOTATIONS: Final = frozenset({"description", "default", "examples"})
DRAFT: Final = "Draft"
CHANGE: Final = "Changed"
_INDICATOR: Final = "Indicator"
_OPERAND: Final = "Operand"
_CALC: Final = "Calc"
CHANGEABLE: Final = ("positionSizing", "exitConditions", "riskParameters", "executionSettings")
"""The steps that a what-if may change."""
_NOT_EMPTY: Final = {
    "BasicInfo": "symbols",
    "EntryConditions": "conditions",
    "Group": "conditions",
    "InnerGroup": "conditions",
    "InnermostGroup": "conditions",
}
"""Lists that a complete algorithm has something in; the models say so in a rule, not in a type."""


def add_steps(result: Schema, **_: object) -> Schema:
    """Add the steps to the document and to the body of an algorithm, in two forms: complete, and as
    a draft. One of drf-spectacular's POSTPROCESSING_HOOKS.
    """
    components: dict[str, Schema] = result["components"]["schemas"]
    components |= _document_schemas()
    body = components["AlgorithmBody"]
    components["AlgorithmDraft"] = {
        **body,
        "description": "An algorithm in progress: steps and parts of steps may be missing.",
        "properties": body["properties"] | step_refs(DRAFT),
    }
    components["CompleteAlgorithm"] = {
        **body,
        "description": "All steps, all they need: it is ready to run.",
        "properties": body["properties"] | step_refs(),
        "required": list(STEPS),
    }
    components["AlgorithmBody"] = {"anyOf": [ref("CompleteAlgorithm"), ref("AlgorithmDraft")]}
    return result


def without_alternatives(document: Schema) -> Schema:
    """Return a copy of the document with only complete algorithms, and steps in bodies alone.

    Documentation pages expand all references of a call before they show it, and steps are the
    larger part of them.
    """
    components: dict[str, Schema] = dict(document["components"]["schemas"])
    components["AlgorithmBody"] = {
        **components.pop("CompleteAlgorithm"),
        "description": "Any step, or any part of one, may be missing; then it is a draft.",
    }
    shown = {
        name: _without_drafts(schema)
        for name, schema in components.items()
        if not name.startswith(DRAFT) and name != "AlgorithmDraft"
    }
    return {**document, "components": {**document["components"], "schemas": shown}}


def _without_drafts(schema: Schema) -> Schema:
    """Return the schema with objects in place of drafts of steps."""
    properties = {
        name: {"type": "object"} if f"{_REF}{DRAFT}" in str(field) else field
        for name, field in schema.get("properties", {}).items()
    }
    return {**schema, "properties": properties} if properties else schema


def step_schemas() -> dict[str, Schema]:
    """Return the components of complete steps keyed by name, with one for each indicator.

    This takes a second.
    """
    strategy = plain_schema(Strategy.model_json_schema(ref_template=_REF + "{model}"))
    components: dict[str, Schema] = strategy["$defs"]
    unions: dict[str, Schema] = {}
    components = {
        name: _with_unions_named(schema, name, unions) for name, schema in components.items()
    }
    components |= unions | {"PositionSizing": strategy["properties"]["positionSizing"]}
    components[_OPERAND]["description"] = "An indicator with its parameters, or arithmetic."
    for schema in components.values():
        _describe_tags(schema)
    components["BasicInfo"]["properties"]["symbols"] |= {"items": SYMBOL, "uniqueItems": True}
    components["ExecutionSettings"]["properties"]["broker"] |= {
        "pattern": text_pattern(joiners=False)
    }
    for name, part in _NOT_EMPTY.items():
        components[name]["properties"][part]["minItems"] = 1
    return components


def _document_schemas() -> dict[str, Schema]:
    """Return the components of steps as the document has them: one for all indicators, and a second
    form of each that a draft may leave unfinished.
    """
    complete = step_schemas()
    kinds = [kind["$ref"].removeprefix(_REF) for kind in complete[_OPERAND]["oneOf"]]
    complete[_INDICATOR] = _one_indicator(
        {kind: complete.pop(kind) for kind in kinds if kind != _CALC}
    )
    complete[_OPERAND] = {
        "oneOf": [ref(_INDICATOR), ref(_CALC)],
        "description": complete[_OPERAND]["description"],
    }
    drafts = {
        DRAFT + name: _draft(schema, complete)
        for name, schema in complete.items()
        if _differs(name, complete)
    }
    for name, part in _NOT_EMPTY.items():
        drafts[DRAFT + name]["properties"][part].pop("minItems")
    drafts[DRAFT + _OPERAND]["anyOf"] = drafts[DRAFT + _OPERAND].pop("oneOf")
    for name in (_INDICATOR, _CALC):
        drafts[DRAFT + name].pop("required")
    changes = {
        CHANGE + name: _changes(complete[name], complete)
        for name in (step[0].upper() + step[1:] for step in CHANGEABLE)
    }
    return complete | drafts | changes


def _changes(step: Schema, complete: Mapping[str, Schema]) -> Schema:
    """Return the schema of changes to a step: some of its fields, and null for those to remove."""
    refs = [kind["$ref"].removeprefix(_REF) for kind in step.get("oneOf", ())]
    kinds = [complete[name] for name in refs] or [step]
    fields: dict[str, list[Schema]] = {}
    for kind in kinds:
        for name, field in kind["properties"].items():
            fields.setdefault(name, []).append(field)
    return {
        "type": "object",
        "description": "Fields of the step, to be replaced; null removes a field.",
        "properties": {name: _or_null(name, variants) for name, variants in fields.items()},
        "additionalProperties": False,
    }


def _or_null(name: str, variants: Sequence[Schema]) -> Schema:
    """Return a field as wide as these together that may also be null."""
    field = _any_of_these(name, variants) if name in _TAGS else _either(variants)
    notes: Schema = {word: field.pop(word) for word in ("description", "examples") if word in field}
    return {"anyOf": [field, {"type": "null"}], **notes}


def _one_indicator(kinds: Mapping[str, Schema]) -> Schema:
    """Return one object for all indicators, with every parameter that one of them takes."""
    fields = _fields_of_all(list(kinds.values()))
    return {
        "type": "object",
        "description": "An indicator with its parameters. `GET /api/trading/indicators` lists the"
        " parameters of each type, with their limits and defaults.",
        "required": ["type"],
        "properties": {
            "type": {
                "type": "string",
                "enum": list(kinds),
                "description": "One of `GET /api/trading/indicators`.",
            },
            **{name: _any_of_these(name, variants) for name, variants in fields.items()},
        },
        "additionalProperties": False,
        "examples": [{"type": "EMA", "period": 9}],
    }


def _any_of_these(name: str, fields: Sequence[Schema]) -> Schema:
    """Return a parameter as wide as these fields together."""
    shapes = [
        {word: value for word, value in field.items() if word not in _ANNOTATIONS}
        for field in fields
    ]
    if all(shape == shapes[0] for shape in shapes):
        wide = dict(shapes[0])
    else:
        wide = {"type": shapes[0]["type"]}
    if "type" in wide and any("enum" in shape or "const" in shape for shape in shapes):
        members = [shape.get("enum") or [shape["const"]] for shape in shapes]
        wide["enum"] = list(dict.fromkeys(member for choices in members for member in choices))
    for bound, widest in (("minimum", min), ("maximum", max)):
        if all(bound in shape for shape in shapes):
            wide[bound] = widest(shape[bound] for shape in shapes)
    examples = [field.get("examples", [field.get("default")])[0] for field in fields]
    texts = dict.fromkeys(field["description"] for field in fields if "description" in field)
    known = next((value for value in examples if value is not None), None)
    return (
        wide
        | {"description": " Or: ".join(texts) or name}
        | ({"examples": [known]} if known is not None else {})
    )


def step_refs(form: str = "") -> dict[str, Schema]:
    """Return a reference to each step, complete or in the form of a DRAFT or of a CHANGE, keyed by
    wire name.
    """
    return {name: ref(form + name[0].upper() + name[1:]) for name in STEPS}


def _with_unions_named(schema: Any, owner: str, unions: dict[str, Schema]) -> Any:
    """Return the schema of `owner` with references in place of its unions, which become components
    of their own, in `unions`.
    """
    properties = {
        name: _union_named(field, owner, name, unions)
        for name, field in schema.get("properties", {}).items()
    }
    return {**schema, **({"properties": properties} if properties else {})}


def _union_named(field: Schema, owner: str, name: str, unions: dict[str, Schema]) -> Schema:
    if "oneOf" in field.get("items", {}):
        return {**field, "items": _union_named(field["items"], owner, name, unions)}
    if "discriminator" not in field:
        return field
    named = _union_name(owner, name)
    unions[named] = {"oneOf": field["oneOf"], "discriminator": field["discriminator"]}
    other = {word: value for word, value in field.items() if word not in unions[named]}
    return {**ref(named), **other}


def _union_name(owner: str, name: str) -> str:
    """Return the name of the union in a field: a group may hold less than a step."""
    if name == "conditions":
        return f"{owner}Condition" if "Group" in owner else "Condition"
    return name[0].upper() + name[1:]


def _describe_tags(schema: Schema) -> None:
    for name, field in schema.get("properties", {}).items():
        if _is_tag(name, field):
            field["description"] = "The kind of the object."


def _is_tag(name: str, field: Schema) -> bool:
    """Return whether a field gives the kind of its object; the method of pivot points does not."""
    return name == "type" or (name == "method" and "const" in field)


def _differs(name: str, complete: Mapping[str, Schema]) -> bool:
    """Return whether a draft may have less of the component than a complete algorithm."""
    schema = complete[name]
    if (
        name in (_INDICATOR, _CALC)
        or "oneOf" in schema
        or not set(schema.get("required", ())) <= _TAGS
    ):
        return True
    return any(_differs(inner, complete) for inner in _named_in(schema))


def _named_in(schema: Any) -> set[str]:
    """Return the components that a schema refers to."""
    if isinstance(schema, list):
        return set().union(*map(_named_in, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"].removeprefix(_REF)} if "$ref" in schema else set()
    inner = (value for name, value in schema.items() if name != "discriminator")
    return own.union(*map(_named_in, inner))


def _draft(schema: Any, complete: Mapping[str, Schema]) -> Any:
    """Return the schema for a draft: it requires only tags."""
    if isinstance(schema, list):
        return [_draft(item, complete) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {**schema, "$ref": _draft_ref(schema["$ref"], complete)}
    if "discriminator" in schema:
        return _open_union(schema, complete)
    draft = {name: _draft(value, complete) for name, value in schema.items() if name != "required"}
    tags = [name for name in schema.get("required", ()) if name in _TAGS]
    return draft | ({"required": tags} if tags else {})


def _draft_ref(target: str, complete: Mapping[str, Schema]) -> str:
    name = target.removeprefix(_REF)
    return _REF + DRAFT + name if _differs(name, complete) else target


def _open_union(union: Schema, complete: Mapping[str, Schema]) -> Schema:
    """Return a union of the kinds and of an object without a tag, where no kind is the default."""
    discriminator = union["discriminator"]
    mapping = {
        tag: _draft_ref(target, complete) for tag, target in discriminator["mapping"].items()
    }
    kinds = {
        "oneOf": [_draft(kind, complete) for kind in union["oneOf"]],
        "discriminator": {**discriminator, "mapping": mapping},
    }
    remaining = {name: value for name, value in union.items() if name not in kinds}
    members = [complete[kind["$ref"].removeprefix(_REF)] for kind in union["oneOf"]]
    if not all(discriminator["propertyName"] in member["required"] for member in members):
        return {**remaining, **kinds}
    return {**remaining, "anyOf": [kinds, _untagged(members, complete)]}


def _untagged(kinds: Sequence[Schema], complete: Mapping[str, Schema]) -> Schema:
    """Return an object without a tag: each field as any of the kinds has it."""
    fields = _fields_of_all([_draft(kind, complete) for kind in kinds])
    properties = {name: _either(alternatives) for name, alternatives in fields.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _fields_of_all(kinds: Sequence[Schema]) -> dict[str, list[Schema]]:
    """Return each field but the tags with its schemas in the kinds that have it."""
    fields: dict[str, list[Schema]] = {}
    for kind in kinds:
        for name, field in kind["properties"].items():
            if not _is_tag(name, field):
                fields.setdefault(name, []).append(field)
    return fields


def _either(fields: Sequence[Schema]) -> Schema:
    """Return one field that accepts each of these fields; repeated constraints and texts appear
    once.
    """
    shapes: list[Schema] = []
    for field in fields:
        shape = {name: value for name, value in field.items() if name not in _ANNOTATIONS}
        if shape not in shapes:
            shapes.append(shape)
    either: Schema = dict(shapes[0]) if len(shapes) == 1 else {"anyOf": shapes}
    texts = dict.fromkeys(field["description"] for field in fields if "description" in field)
    if texts:
        either["description"] = " Or: ".join(texts)
    examples = [field.get("examples", [field.get("default")])[0] for field in fields]
    known = [value for value in examples if value is not None]
    return either | ({"examples": known[:1]} if known else {})
