"""The steps as JSON Schema, complete and as a draft, from the engine's own models.

A draft requires only the tags that give the kind of an object. An object without a tag may have the
fields of any kind.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.algorithms.steps import STEPS
from apps.core.api.resources import Schema, ref, text_pattern
from apps.engine.language import Strategy
from apps.symbols.serializers import SYMBOL

_REF: Final = "#/components/schemas/"
_TAGS: Final = frozenset({"type", "method"})
_ANNOTATIONS: Final = frozenset({"description", "default", "examples"})
_DRAFT: Final = "Draft"
_INDICATOR: Final = "Indicator"
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
    components |= step_schemas()
    body = components["AlgorithmBody"]
    components["AlgorithmDraft"] = {
        **body,
        "description": "An algorithm in progress: steps and parts of steps may be missing.",
        "properties": body["properties"] | step_refs(draft=True),
    }
    components["CompleteAlgorithm"] = {
        **body,
        "description": "All steps, all they need: it is ready to run.",
        "properties": body["properties"] | step_refs(draft=False),
        "required": list(STEPS),
    }
    components["AlgorithmBody"] = {"anyOf": [ref("CompleteAlgorithm"), ref("AlgorithmDraft")]}
    return result


def without_alternatives(document: Schema) -> Schema:
    """Return a copy of the document with only complete algorithms, and indicators reduced to their
    type.

    Documentation pages expand all references of a call before they show it: with all drafts of all
    indicators that is two million lines, and a browser hangs for a minute.
    """
    components: dict[str, Schema] = dict(document["components"]["schemas"])
    types = [kind["$ref"].removeprefix(_REF) for kind in components[_INDICATOR]["oneOf"]]
    components[_INDICATOR] = {
        "type": "object",
        "description": "One of `GET /api/trading/indicators`, with its parameters.",
        "required": ["type"],
        "properties": {"type": {"type": "string", "description": f"One of {', '.join(types)}."}},
        "examples": [{"type": "EMA", "period": 9}],
    }
    components["AlgorithmBody"] = {
        **components.pop("CompleteAlgorithm"),
        "description": "Any step, or any part of one, may be missing; then it is a draft.",
    }
    shown = {
        name: schema
        for name, schema in components.items()
        if not name.startswith(_DRAFT) and name not in {"AlgorithmDraft", *types}
    }
    return {**document, "components": {**document["components"], "schemas": shown}}


def step_schemas() -> dict[str, Schema]:
    """Return the components keyed by name; components that a draft may leave unfinished come in two
    forms.

    Only the document calls this: it takes a second.
    """
    strategy = plain_schema(Strategy.model_json_schema(ref_template=_REF + "{model}"))
    complete: dict[str, Schema] = strategy["$defs"]
    indicator = complete["IndicatorValue"]["properties"]["indicator"]
    indicator = {name: indicator[name] for name in ("oneOf", "discriminator")}
    complete = {name: _with_indicator(schema, indicator) for name, schema in complete.items()}
    complete |= {
        _INDICATOR: {**indicator, "description": "An indicator with its parameters, by its type."},
        "PositionSizing": strategy["properties"]["positionSizing"],
    }
    for schema in complete.values():
        _describe_tags(schema)
    complete["BasicInfo"]["properties"]["symbols"] |= {"items": SYMBOL, "uniqueItems": True}
    complete["ExecutionSettings"]["properties"]["broker"] |= {
        "pattern": text_pattern(joiners=False)
    }
    drafts = {
        _DRAFT + name: _draft(schema, complete)
        for name, schema in complete.items()
        if _differs(name, complete)
    }
    for name, part in _NOT_EMPTY.items():
        complete[name]["properties"][part]["minItems"] = 1
    return complete | drafts


def step_refs(*, draft: bool) -> dict[str, Schema]:
    """Return a reference to each step, keyed by wire name."""
    return {name: ref((_DRAFT if draft else "") + name[0].upper() + name[1:]) for name in STEPS}


def plain_schema(schema: Any) -> Any:
    """Return a JSON Schema without Pydantic's additions: titles, and null for absent values."""
    if isinstance(schema, list):
        return [plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: plain_schema(value)
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str)) and (name, value) != ("default", None)
    }


def _with_indicator(schema: Any, indicator: Schema) -> Any:
    """Return the schema with a reference in place of each union of all indicators."""
    if isinstance(schema, list):
        return [_with_indicator(item, indicator) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("discriminator") == indicator["discriminator"]:
        remaining = {name: value for name, value in schema.items() if name not in indicator}
        return {**ref(_INDICATOR), **remaining}
    return {name: _with_indicator(value, indicator) for name, value in schema.items()}


def _describe_tags(schema: Schema) -> None:
    for name in _TAGS & schema.get("properties", {}).keys():
        schema["properties"][name]["description"] = "The kind of the object."


def _differs(name: str, complete: Mapping[str, Schema]) -> bool:
    """Return whether a draft may have less of the component than a complete algorithm."""
    schema = complete[name]
    if "oneOf" in schema or not set(schema.get("required", ())) <= _TAGS:
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
    """Return the schema for a draft, which requires only tags."""
    if isinstance(schema, list):
        return [_draft(item, complete) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {**schema, "$ref": _draft_ref(schema["$ref"], complete)}
    if "oneOf" in schema:
        return _open_union(schema, complete)
    draft = {name: _draft(value, complete) for name, value in schema.items() if name != "required"}
    tags = [name for name in schema.get("required", ()) if name in _TAGS]
    return draft | ({"required": tags} if tags else {})


def _draft_ref(target: str, complete: Mapping[str, Schema]) -> str:
    name = target.removeprefix(_REF)
    return _REF + _DRAFT + name if _differs(name, complete) else target


def _open_union(union: Schema, complete: Mapping[str, Schema]) -> Schema:
    """Return a union of the kinds and of an object without a tag."""
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
    return {**remaining, "anyOf": [kinds, _untagged(members, complete)]}


def _untagged(kinds: Sequence[Schema], complete: Mapping[str, Schema]) -> Schema:
    """Return an object without a tag: each field as any of the kinds has it."""
    fields: dict[str, list[Schema]] = {}
    for kind in kinds:
        for name, field in _draft(kind, complete)["properties"].items():
            if name not in _TAGS:
                fields.setdefault(name, []).append(field)
    properties = {name: _either(alternatives) for name, alternatives in fields.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


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
