"""Pydantic's errors told in the words of the interface: dotted path, sentence, allowed values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from apps.engine.errors import ABSENT, Fault

MOST_FAULTS = 100
"""More are not told: nobody reads them, and a body of ten thousand unknown keys has as many."""

MOST_NAMED = 20
"""A message that lists more allowed values than this is not read; the fault holds them all."""

_MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "literal_error": "must be {allowed}",
    "union_tag_invalid": "must be {allowed}",
    "union_tag_not_found": "is required",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "bool_type": "must be true or false",
    "string_type": "must be a string",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": 'must be a time of the form "HH:MM"',
    "tuple_type": "must be an array",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


class Told(NamedTuple):
    """Faults (something is wrong) and gaps (something is missing)."""

    faults: tuple[Fault, ...]
    gaps: tuple[Fault, ...]


def tell(error: ValidationError, model: type[BaseModel]) -> Told:
    """The errors of one validation by `model`, whose fields are the top level."""
    faults: list[Fault] = []
    gaps: list[Fault] = []
    for detail in error.errors(include_url=False):
        if detail["type"] == "extra_forbidden" and len(faults) >= MOST_FAULTS:
            continue
        for is_gap, fault in _read(detail, _Place("", model)):
            if not is_gap and len(faults) >= MOST_FAULTS:
                break  # gaps come first
            (gaps if is_gap else faults).append(fault)
    return Told(tuple(faults), tuple(gaps))


class _Place(NamedTuple):
    """Where an error is: the path as the client wrote it, and what the models expect there."""

    path: str
    kind: Any

    def below(self, part: str | int) -> _Place:
        """One step of Pydantic's location: a field, an index, or the tag of a union."""
        models = _models(self.kind)
        if isinstance(part, int):
            return _Place(f"{self.path}[{part}]", self.kind)
        if len(models) > 1:
            return _Place(self.path, next(m for m in models if part in _tags(m)))
        kind = _fields(models[0]).get(part) if models else None
        return self.named(part)._replace(kind=kind)

    def named(self, field: str) -> _Place:
        return self._replace(path=f"{self.path}.{field}" if self.path else field)


def _read(detail: ErrorDetails, place: _Place) -> Iterator[tuple[bool, Fault]]:
    """(is it a gap, the fault) of one error; several for an object whose kind is not known."""
    parent = place
    for part in detail["loc"]:
        parent, place = place, place.below(part)
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    match kind:
        case "missing":
            yield True, _fault(place, kind, ABSENT)
        case "extra_forbidden":
            yield False, _unknown(place, _models(parent.kind), str(detail["loc"][-1]), value)
        case "union_tag_not_found":
            tag = context["discriminator"].strip("'")
            yield True, _fault(place.named(tag), kind, ABSENT)
            yield from _untagged(place, tag, value)
        case "union_tag_invalid":
            tag = context["discriminator"].strip("'")
            allowed = tuple(name for model in _models(place.kind) for name in _tags(model))
            yield False, _fault(place.named(tag), kind, value[tag], allowed=allowed)
        case "literal_error":
            yield False, _fault(place, kind, value, allowed=_literals(place.kind))
        case "refused" | "incomplete":
            field = context["field"]
            sentence = f"{place.named(field).path if field else place.path} {context['message']}"
            where = place.named(field) if field else place
            inner = value.get(field, ABSENT) if field else value
            yield kind == "incomplete", Fault(where.path, _sentence(sentence), inner)
        case _:
            yield False, _fault(place, kind, value, context=context, otherwise=detail["msg"])


def _fault(
    place: _Place,
    kind: str,
    value: object,
    *,
    allowed: tuple[object, ...] | None = None,
    context: Mapping[str, Any] | None = None,
    otherwise: str = "",
) -> Fault:
    template = _MESSAGES.get(kind, otherwise)
    message = template.format(allowed=_choice(allowed or (), value), **(context or {}))
    return Fault(place.path, _sentence(f"{place.path} {message}"), value, allowed)


def _choice(allowed: tuple[object, ...], value: object) -> str:
    """The allowed values in words; of very many, the one that was probably meant."""
    names = list(map(str, allowed))
    if len(names) > MOST_NAMED:
        meant = _meant(value, names) if isinstance(value, str) else ""
        return f"one of {len(names)} allowed values{meant}"
    return f"one of {', '.join(names)}" if len(names) > 1 else "".join(names)


def _meant(word: str, names: Iterable[str]) -> str:
    """A question for the name that is near, if one is."""
    by_case = {name.lower(): name for name in names}
    near = get_close_matches(word.lower()[:64], by_case, n=1)
    return f"; did you mean {by_case[near[0]]}?" if near else ""


def _unknown(place: _Place, models: list[type[BaseModel]], key: str, value: object) -> Fault:
    names = sorted({name for model in models for name in _fields(model)})
    message = f"{place.path} {_MESSAGES['extra_forbidden']}{_meant(key, names)}"
    return Fault(place.path, _sentence(message), value, tuple(names))


def _untagged(place: _Place, tag: str, value: Mapping[str, Any]) -> Iterator[tuple[bool, Fault]]:
    """Faults of an object that does not say what it is: those it has whatever it becomes."""
    models = _models(place.kind)
    known = {name for model in models for name in _fields(model)}
    for key in value:
        if key not in known:
            yield False, _unknown(place.named(key), models, key, value[key])
            continue
        candidates = _each_kind_of(key, models)
        told = [_faults_at(key, model, tag, value, place) for model in candidates]
        if all(told):
            widest = max(told, key=lambda faults: len(faults[0].allowed or ()))
            yield from ((False, fault) for fault in widest)


def _each_kind_of(key: str, models: list[type[BaseModel]]) -> list[type[BaseModel]]:
    """One model of those that expect the same of the field: hundreds have a period."""
    kinds = {_expected(model)[key]: model for model in models if key in _fields(model)}
    return list(kinds.values())


@cache
def _expected(model: type[BaseModel]) -> dict[str, str]:
    """What every field takes, its bounds too, by its wire name; equal texts take the same."""
    fields = model.model_fields.items()
    return {field.alias or name: f"{field.annotation}{field.metadata}" for name, field in fields}


def _faults_at(
    key: str, model: type[BaseModel], tag: str, value: Mapping[str, Any], place: _Place
) -> list[Fault]:
    try:
        model.model_validate({key: value[key], tag: _tags(model)[0]})
    except ValidationError as error:
        here = _Place(place.path, model)
        told = (_read(d, here) for d in error.errors(include_url=False) if d["loc"][:1] == (key,))
        wrong = (fault for faults in told for is_gap, fault in faults if not is_gap)
        return list(islice(wrong, MOST_FAULTS))
    return []


def _models(kind: Any) -> list[type[BaseModel]]:
    """The models an annotation speaks of, through unions, tuples and annotations."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for argument in get_args(kind) for model in _models(argument)]


@cache
def _fields(model: type[BaseModel]) -> dict[str, Any]:
    """Annotation of every field by its wire name."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _tags(model: type[BaseModel]) -> tuple[str, ...]:
    """The values of the one field that tells a model from its siblings."""
    fields = _fields(model)
    return _literals(fields["method"] if "method" in fields else fields["type"])


def _literals(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(value for argument in get_args(kind) for value in _literals(argument))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."
