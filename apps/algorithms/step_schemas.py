"""The steps as JSON Schema, complete and as a draft may have them, from the engine's own models.

In a draft nothing is required but what says of which kind a thing is. What does not say so yet may
have any field that one of the kinds has.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.algorithms.steps import STEPS
from apps.core.api.schema import Schema, ref, text_pattern
from apps.engine.language.strategy import Strategy
from apps.symbols.serializers import SYMBOL

_REF: Final = "#/components/schemas/"
_TAGS: Final = frozenset({"type", "method"})
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
    """Add the steps to the document, and to the body of an algorithm: all of them, with all they
    need, or whatever is known so far. One of drf-spectacular's POSTPROCESSING_HOOKS.
    """
    components: dict[str, Schema] = result["components"]["schemas"]
    components |= schemas()
    body = components["AlgorithmBody"]
    components["AlgorithmDraft"] = {
        **body,
        "description": "Whatever is known so far: any step, or any part of one, may be missing.",
        "properties": body["properties"] | step_refs(draft=True),
    }
    components["CompleteAlgorithm"] = {
        **body,
        "description": "All steps, all they need: what is stored is `stopped`, ready to run.",
        "properties": body["properties"] | step_refs(draft=False),
        "required": list(STEPS),
    }
    components["AlgorithmBody"] = {"anyOf": [ref("CompleteAlgorithm"), ref("AlgorithmDraft")]}
    return result


def without_alternatives(document: Schema) -> Schema:
    """Return a copy of the document in which an algorithm's body is complete, and an indicator is
    told by its type alone.

    Pages write out all that a call refers to before they show it: two million lines of all drafts
    of all indicators, over which a browser stands still for a minute.
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


def schemas() -> dict[str, Schema]:
    """Every component by its name; of what a draft may have unfinished there are two.

    Made for the document alone: of all indicators it takes a second.
    """
    made = plain(Strategy.model_json_schema(ref_template=_REF + "{model}"))
    found: dict[str, Schema] = made["$defs"]
    indicator = found["IndicatorValue"]["properties"]["indicator"]
    found = {name: _with_indicator(one) for name, one in found.items()}
    found |= {_INDICATOR: indicator, "PositionSizing": made["properties"]["positionSizing"]}
    found["BasicInfo"]["properties"]["symbols"] |= {"items": SYMBOL, "uniqueItems": True}
    found["ExecutionSettings"]["properties"]["broker"] |= {"pattern": text_pattern(joiners=False)}
    drafts = {
        _DRAFT + name: _draft(one, found) for name, one in found.items() if _differs(name, found)
    }
    for name, part in _NOT_EMPTY.items():
        found[name]["properties"][part]["minItems"] = 1
    return found | drafts


def step_refs(*, draft: bool) -> dict[str, Schema]:
    """Each step by its name on the wire."""
    return {name: ref((_DRAFT if draft else "") + name[0].upper() + name[1:]) for name in STEPS}


def plain(one: Any) -> Any:
    """Without what Pydantic adds for itself: titles, and null for what is absent."""
    if isinstance(one, list):
        return [plain(item) for item in one]
    if not isinstance(one, dict):
        return one
    return {
        name: plain(value)
        for name, value in one.items()
        if not (name == "title" and isinstance(value, str)) and (name, value) != ("default", None)
    }


def _with_indicator(one: Any) -> Any:
    """The union of all indicators stands in three places: there it is referred to."""
    if isinstance(one, list):
        return [_with_indicator(item) for item in one]
    if not isinstance(one, dict):
        return one
    if "EMA" in one.get("discriminator", {}).get("mapping", {}):
        return ref(_INDICATOR)
    return {name: _with_indicator(value) for name, value in one.items()}


def _differs(name: str, complete: Mapping[str, Schema]) -> bool:
    """Whether a draft may have less of it than a complete algorithm."""
    one = complete[name]
    if "oneOf" in one or not set(one.get("required", ())) <= _TAGS:
        return True
    return any(_differs(inner, complete) for inner in _named_in(one))


def _named_in(one: Any) -> set[str]:
    if isinstance(one, list):
        return set().union(*map(_named_in, one))
    if not isinstance(one, dict):
        return set()
    own = {one["$ref"].removeprefix(_REF)} if "$ref" in one else set()
    inner = (value for name, value in one.items() if name != "discriminator")
    return own.union(*map(_named_in, inner))


def _draft(one: Any, complete: Mapping[str, Schema]) -> Any:
    if isinstance(one, list):
        return [_draft(item, complete) for item in one]
    if not isinstance(one, dict):
        return one
    if "$ref" in one:
        return {**one, "$ref": _draft_ref(one["$ref"], complete)}
    if "oneOf" in one:
        return _open_union(one, complete)
    made = {name: _draft(value, complete) for name, value in one.items() if name != "required"}
    tags = [name for name in one.get("required", ()) if name in _TAGS]
    return made | ({"required": tags} if tags else {})


def _draft_ref(target: str, complete: Mapping[str, Schema]) -> str:
    name = target.removeprefix(_REF)
    return _REF + _DRAFT + name if _differs(name, complete) else target


def _open_union(one: Schema, complete: Mapping[str, Schema]) -> Schema:
    """One of the kinds, or an object that does not say yet which."""
    by = one["discriminator"]
    mapping = {key: _draft_ref(target, complete) for key, target in by["mapping"].items()}
    kinds = {
        "oneOf": [_draft(kind, complete) for kind in one["oneOf"]],
        "discriminator": {**by, "mapping": mapping},
    }
    untold = _untold([complete[kind["$ref"].removeprefix(_REF)] for kind in one["oneOf"]], complete)
    rest = {name: value for name, value in one.items() if name not in kinds}
    return {**rest, "anyOf": [kinds, untold]}


def _untold(kinds: Sequence[Schema], complete: Mapping[str, Schema]) -> Schema:
    """An object that does not say which of the kinds it is: each field as some kind has it."""
    fields: dict[str, list[Schema]] = {}
    for kind in kinds:
        for name, value in _draft(kind, complete)["properties"].items():
            known = fields.setdefault(name, [])
            if name not in _TAGS and value not in known:
                known.append(value)
    properties = {
        name: ways[0] if len(ways) == 1 else {"anyOf": ways}
        for name, ways in fields.items()
        if ways
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}
