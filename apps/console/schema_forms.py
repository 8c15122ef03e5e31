"""Forms of the steps and of studies, made from the JSON schemas that document them.

A field is named by its path on the wire, such as `entryConditions.conditions[0].indicator1.period`;
the service's errors use the same paths. An empty field is absent. A value that does not fit its
type stays as typed, for the service to refuse.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, NamedTuple

from apps.algorithms.serializers import step_schemas
from apps.backtests.analysis import humanize
from apps.backtests.serializers import study_schemas
from apps.core.api.resources import Schema
from apps.engine.language import describe

_REF: Final = "#/components/schemas/"
# Fields with one value that the kind of their object decides.
_TAGS: Final = frozenset({"type", "method"})
_PATH_PART: Final = re.compile(r"([A-Za-z][A-Za-z0-9]*)|\[(\d{1,3})\]")
NUMBER_KIND: Final = "number"
"""The kind of a number in place of an operand, in forms alone."""
# The choice of an operand in place of a name.
_OPERAND_KIND: Final = "an indicator"
# Optional fields that are shown although they are empty: the parts of a sentence, and the exits
# that most strategies have.
_SHOWN: Final = frozenset(
    {
        *("conditions", "from", "to", "output", "direction"),
        *("value", "candles"),
        *("exitConditions.stopLoss", "exitConditions.takeProfit", "exitConditions.squareOffTime"),
    }
)
# Fields of every operand beside its own parameters.
_OF_ANY_OPERAND: Final = frozenset({"source", "timeframe", "offset", "on"})
# What a list of conditions says of itself comes before it, and it comes last.
_LAST: Final = ("logicalOperator", "conditions")
_LABELS: Final = {
    "above": "is above",
    "below": "is below",
    "at_or_above": "is at or above",
    "at_or_below": "is at or below",
    "crosses_above": "crosses above",
    "crosses_below": "crosses below",
    "rising": "is rising",
    "falling": "is falling",
    "AND": "all of these",
    "OR": "any of these",
    "logicalOperator": "Needs",
    "positionType": "Side",
    "takeProfit": "Target",
    "squareOffTime": "Square off at",
    "maxHoldingCandles": "Longest holding, in candles",
    "confirmationCandles": "Candles that confirm",
    "name": "Named",
    "side": "Only for this side",
    "within": "Within the last candles",
    "on": "Of another symbol",
    "offset": "Candles ago",
}
# Lakhs and crores may be set apart.
_NUMBER: Final = re.compile(r"-?(\d{1,15}|\d{1,3}(,\d{2,3}){1,5})(\.\d{1,10})?")
_YES_OR_NO: Final = {"true": "Yes", "false": "No"}

# The content of a form: the schema of each top-level name.
Roots = Mapping[str, Schema]


class Option(NamedTuple):
    """A value to choose, with its label and its group."""

    value: str
    label: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class FormNode:
    """A part of the form: an input, or a group of parts (`children`) in a fieldset."""

    path: str
    label: str
    hint: str
    kind: str  # text, number, choice, symbols, object, operand, condition or list
    value: Any = None
    is_required: bool = False
    options: tuple[Option, ...] = ()
    changes_form: bool = False  # whether the choice decides which other fields there are
    default: str | float | None = None  # the service's default
    is_whole: bool = False
    minimum: float | None = None
    maximum: float | None = None
    children: list["FormNode"] = field(default_factory=list)
    words: str | None = None  # an operand or a condition as a sentence has it
    plain_kinds: tuple[Option, ...] = ()  # what may stand in place of an operand
    is_folded: bool = False  # not required and without a value, so that few look for it

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def by_name(self) -> dict[str, "FormNode"]:
        return {child.name: child for child in self.children}

    @property
    def limits(self) -> list["FormNode"]:
        """The settings of a comparison beside its sentence: its side and its last candles."""
        return [child for child in self.shown if child.name in ("side", "within")]

    @property
    def shown(self) -> list["FormNode"]:
        return [child for child in self.children if not child.is_folded]

    @property
    def folded(self) -> list["FormNode"]:
        return [child for child in self.children if child.is_folded]

    @property
    def slug(self) -> str:
        """The id of the element."""
        return "f-" + re.sub(r"[^A-Za-z0-9]+", "-", self.path).strip("-")

    @property
    def is_removable(self) -> bool:
        """Return whether it is an entry of a list."""
        return self.path.endswith("]")

    @property
    def is_wide(self) -> bool:
        """Return whether it takes a row of its own."""
        return self.kind == "symbols" or any(option.group for option in self.options)

    @property
    def entry_label(self) -> str:
        """The label of an entry of this list."""
        return self.label.lower().removesuffix("s")

    @property
    def shown_value(self) -> str | None:
        """The value as a reader sees it: the label of a choice."""
        labels = {option.value: option.label for option in self.options}
        return None if self.value is None else labels.get(self.value, str(self.value))

    @property
    def is_group(self) -> bool:
        return self.kind in ("object", "operand", "condition", "list")

    def leaves(self) -> Iterator["FormNode"]:
        yield self
        for child in self.children:
            yield from child.leaves()


@cache
def _schemas() -> Mapping[str, Schema]:
    return {**step_schemas(), **study_schemas()}


def form_of(values: Mapping[str, Any], roots: Roots) -> list[FormNode]:
    """Return the form of each root, filled in."""
    return [
        _node(name, schema, values.get(name) or {}, is_required=True)
        for name, schema in roots.items()
    ]


def property_of(schema: Schema, name: str) -> Schema:
    """Return the schema of a field of an object."""
    fields: dict[str, Schema] = _resolved(schema)["properties"]
    return fields[name]


def leaf_of(path: str, schema: Schema, value: Any) -> FormNode:
    """Return a single input, filled in unless the value is None."""
    return _node(path, schema, value, is_required=False)


def list_paths(form: Iterable[FormNode]) -> set[str]:
    """Return the paths of lists typed into one field; their entries have no paths."""
    return {node.path for root in form for node in root.leaves() if node.kind == "symbols"}


def _resolved(schema: Schema) -> Schema:
    while "$ref" in schema:
        remaining = {name: value for name, value in schema.items() if name != "$ref"}
        schema = {**_schemas()[schema["$ref"].removeprefix(_REF)], **remaining}
    return schema


def _node(path: str, schema: Schema, value: Any, *, is_required: bool) -> FormNode:
    schema = _resolved(schema)
    own = {
        "path": path,
        "label": _label(path),
        "hint": schema.get("description", "").partition("\n")[0].replace("`", ""),
        "is_required": is_required,
    }
    if "discriminator" in schema:
        return _union(schema, value if isinstance(value, dict) else {}, own)
    if "oneOf" in schema:
        return _plain_or_operand(schema, value, own)
    if "properties" in schema:
        children = _properties(path, schema, value if isinstance(value, dict) else {})
        return FormNode(kind="object", children=children, **own)
    if schema.get("type") == "array":
        return _list(schema, value if isinstance(value, list) else [], own)
    return _input(schema, value, own)


def _label(path: str) -> str:
    """Name the last part of a path; entries of a list are counted from 1."""
    last = path.rpartition(".")[2]
    name, _, index = last.partition("[")
    if index:
        return f"{humanize(name).removesuffix('s')} {int(index[:-1]) + 1}"
    return _LABELS.get(name) or humanize(name)


def _union(schema: Schema, value: Mapping[str, Any], own: dict[str, Any]) -> FormNode:
    """Return the choice of a kind and, once it is chosen, the fields of that kind."""
    tag, kinds = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
    chosen = value.get(tag)
    path = f"{own['path']}.{tag}"
    choice = FormNode(
        path=path,
        label=humanize(tag),
        hint="",
        kind="choice",
        value=chosen,
        changes_form=True,
        is_required=own["is_required"],
        options=_options(kinds),
    )
    children = [choice]
    if chosen in kinds:
        kind = _resolved({"$ref": kinds[chosen]})
        children += _properties(own["path"], kind, value, without=tag)
    if "CALC" in kinds:
        return FormNode(kind="operand", children=_folded(children), words=_words(value), **own)
    if "indicator_value" in kinds:
        children = [_with_any_operator(child) for child in children]
        return FormNode(kind="condition", children=children, words=_words(value), **own)
    return FormNode(kind="object", children=children, **own)


def _words(value: Mapping[str, Any]) -> str:
    return describe(value) or str(value.get("type") or "")


def _folded(children: Iterable[FormNode]) -> list[FormNode]:
    """Fold what any operand has; show the parameters of this one."""
    return [
        replace(child, is_folded=child.is_folded and child.name in _OF_ANY_OPERAND)
        for child in children
    ]


def _with_any_operator(child: FormNode) -> FormNode:
    """Let an operator be changed into one that compares something else."""
    if child.name != "operator":
        return child
    operators = property_of({"$ref": f"{_REF}IndicatorValue"}, "operator")["enum"]
    return replace(child, options=_options(operators), changes_form=True)


def _plain_or_operand(schema: Schema, value: Any, own: dict[str, Any]) -> FormNode:
    """Return the choice of a name, or of a number, or of an operand with its fields."""
    plain, operand = schema["oneOf"][0], _resolved(schema["oneOf"][1])
    names = plain.get("enum", [NUMBER_KIND])
    if "enum" in plain and not isinstance(value, dict):
        named = {**own, "default": _option(schema["default"]).label} if "default" in schema else own
        options = (*_options(names), Option(_OPERAND_KIND, _OPERAND_KIND))
        return FormNode(kind="choice", value=value, options=options, changes_form=True, **named)
    is_number = isinstance(value, int | float)
    node = _union(operand, value if isinstance(value, dict) else {}, own)
    if is_number:
        node.children[0] = replace(node.children[0], value=NUMBER_KIND)
        node.children.append(_node(f"{own['path']}.number", plain, value, is_required=True))
    return replace(node, plain_kinds=_options(names))


def _properties(
    path: str, schema: Schema, value: Mapping[str, Any], *, without: str = ""
) -> list[FormNode]:
    required = schema.get("required", ())
    properties = schema["properties"]
    names = sorted(properties, key=lambda name: _LAST.index(name) if name in _LAST else -1)
    nodes = []
    for name in names:
        part = properties[name]
        if name == without or ("const" in part and name in _TAGS):
            continue
        node = _node(f"{path}.{name}", part, value.get(name), is_required=name in required)
        is_set = value.get(name) not in (None, {}, [])
        is_shown = name in required or is_set or not _SHOWN.isdisjoint((name, node.path))
        nodes.append(replace(node, is_folded=not is_shown))
    return nodes


def _list(schema: Schema, value: list[Any], own: dict[str, Any]) -> FormNode:
    items = _resolved(schema["items"])
    if "oneOf" not in items and "properties" not in items:
        return FormNode(kind="symbols", value=", ".join(map(str, value)), **own)
    children = [
        _node(f"{own['path']}[{index}]", schema["items"], entry, is_required=True)
        for index, entry in enumerate(value)
    ]
    return FormNode(kind="list", children=children, **own)


def _input(schema: Schema, value: Any, own: dict[str, Any]) -> FormNode:
    default = None if own["is_required"] else schema.get("default")
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    own["default"] = default
    if "const" in schema:
        schema = {**schema, "enum": [schema["const"]]}
    if "enum" in schema:
        own["default"] = default and _option(default).label
        return FormNode(kind="choice", value=value, options=_options(schema["enum"]), **own)
    if schema.get("type") == "boolean":
        own["default"] = default if default is None else _YES_OR_NO[str(default).lower()]
        options = tuple(Option(*pair) for pair in _YES_OR_NO.items())
        shown = value if value is None or isinstance(value, str) else str(value).lower()
        return FormNode(kind="choice", value=shown, options=options, **own)
    return FormNode(
        kind="number" if schema.get("type") in ("integer", "number") else "text",
        value=value,
        is_whole=schema.get("type") == "integer",
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        **own,
    )


def _options(values: Iterable[str]) -> tuple[Option, ...]:
    return tuple(map(_option, values))


def _option(value: str) -> Option:
    """Return a choice; a wire name is written as words, a term of the field stays."""
    words = humanize(value) if value[:1].islower() else value
    return Option(value, _LABELS.get(value, words))


# Reading.


def read_text(schema: Schema, text: str) -> Any:
    """Return a text in the type of its schema, or unchanged if it does not fit."""
    return _typed(schema, text)


def read_form(
    form: Mapping[str, Any], roots: Roots, *, change: str = "", content: Any = None
) -> dict[str, Any]:
    """Return the content of a form below its roots, after one `change`: an action and a path.

    `add` appends the content to a list, `remove` takes an entry away, `put` replaces a part by the
    content, and `choose` says that the kind of a part was chosen.
    """
    values: dict[str, Any] = {name: {} for name in roots}
    for path, text in form.items():
        parts_of_path = _split_path(path)
        if len(parts_of_path) > 1 and parts_of_path[0] in roots and str(text).strip():
            _put(values, parts_of_path, str(text).strip())
    for name, schema in roots.items():
        values[name] = _typed(schema, _compact(values[name]))
    action, _, path = change.partition(":")
    _change(values, action, _split_path(path), content)
    return values


def _split_path(path: str) -> list[str | int]:
    """Split a path into names and indexes; return an empty list for other text."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(\[\d{1,3}\]|\.[A-Za-z][A-Za-z0-9]*)*", path):
        return []
    return [name or int(index) for name, index in _PATH_PART.findall(path)]


def _put(values: dict[str, Any], parts_of_path: list[str | int], text: str) -> None:
    """Put a text at the end of its path; lists are dictionaries by index until they are
    complete.
    """
    inner: Any = values
    for part_of_path in parts_of_path[:-1]:
        inner = inner.setdefault(part_of_path, {})
        if not isinstance(inner, dict):
            return  # two fields of a forged form contradict each other
    inner[parts_of_path[-1]] = text


def _compact(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(isinstance(part_of_path, int) for part_of_path in value):
        return [_compact(value[index]) for index in sorted(value)]
    return {str(name): _compact(entry) for name, entry in value.items()}


def _typed(schema: Schema, value: Any) -> Any:
    """Return texts in the types of their schema, or unchanged if they do not fit."""
    schema = _resolved(schema)
    if "oneOf" in schema and "discriminator" not in schema:
        return _typed_plain_or_operand(schema, value)
    if "discriminator" in schema and isinstance(value, dict):
        mapping = schema["discriminator"]["mapping"]
        tag = value.get(schema["discriminator"]["propertyName"])
        # After a change of kind, drop the fields that the new kind lacks.
        if not isinstance(tag, str) or tag not in mapping:
            return value
        kind = _resolved({"$ref": mapping[tag]})
        value = {name: entry for name, entry in value.items() if name in kind["properties"]}
        return _typed(kind, value)
    if "properties" in schema and isinstance(value, dict):
        parts = schema["properties"]
        return {
            name: _typed(parts[name], entry) if name in parts else entry
            for name, entry in value.items()
        }
    if schema.get("type") == "array":
        return _typed_list(schema, value)
    return _typed_text(schema, value)


def _typed_plain_or_operand(schema: Schema, value: Any) -> Any:
    plain, operand = schema["oneOf"]
    if value == _OPERAND_KIND:
        return {}
    if isinstance(value, dict) and value.get("type") == NUMBER_KIND:
        return _typed_text(plain, value.get(NUMBER_KIND, "1"))
    return _typed(operand if isinstance(value, dict) else plain, value)


def _typed_list(schema: Schema, value: Any) -> Any:
    if isinstance(value, list):
        return [_typed(schema["items"], entry) for entry in value]
    if isinstance(value, str):
        parts = [part.upper() for part in re.split(r"[\s,;]+", value) if part]
        return [_typed(schema["items"], part) for part in parts]
    return value


def _typed_text(schema: Schema, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match schema.get("type"):
        case "boolean" if value in ("true", "false"):
            return value == "true"
        case "integer" if re.fullmatch(r"-?\d{1,15}", value):
            return int(value)
        case "number" if re.fullmatch(_NUMBER, value):
            digits = value.replace(",", "")
            return float(digits) if "." in digits else int(digits)
    return value


def _change(
    values: dict[str, Any], action: str, parts_of_path: list[str | int], content: Any
) -> None:
    """Change what stands at a path; a path that leads nowhere changes nothing."""
    inner: Any = values
    for part_of_path in parts_of_path[:-1]:
        inner = _entry(inner, part_of_path)
    last = parts_of_path[-1] if parts_of_path else ""
    match action, inner, last:
        case "add", dict(), str():
            entries = inner.setdefault(last, [])
            if isinstance(entries, list):
                entries.append({} if content is None else content)
        case "remove", list(), int():
            del inner[last : last + 1]
        case "put", dict(), str():
            inner[last] = content
        case "put", list(), int() if last < len(inner):
            inner[last] = content


def _entry(value: Any, part_of_path: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(str(part_of_path))
    if isinstance(value, list) and isinstance(part_of_path, int) and part_of_path < len(value):
        return value[part_of_path]
    return None
