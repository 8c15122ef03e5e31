"""Pydantic's errors in the words of the interface: dotted path, sentence, allowed values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from typing_extensions import TypeAliasType

from apps.engine.errors import ABSENT, FieldError
from apps.engine.language.operands import IndicatorOperand, Operand

MOST_ERRORS = 100
"""More are not reported: nobody reads them, and a body of ten thousand unknown keys has as many."""

MOST_NAMED = 20
"""A message that lists more allowed values than this is not read; the error holds them all."""

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
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": 'must be a time of the form "HH:MM"',
    "tuple_type": "must be an array",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}

_LEFT_OUT = {
    "afterLoss": ". Sizing up after a loss is left out on purpose: a backtest always flatters it"
}
"""Fields that users look for, and why there are none."""


class FieldErrors(NamedTuple):
    """Wrong fields, and missing fields."""

    wrong: tuple[FieldError, ...]
    missing: tuple[FieldError, ...]


def field_errors(error: ValidationError, model: type[BaseModel]) -> FieldErrors:
    """Return the errors of one validation by `model`; its fields are the top level."""
    wrong: list[FieldError] = []
    missing: list[FieldError] = []
    for detail in error.errors(include_url=False):
        if detail["type"] == "extra_forbidden" and len(wrong) >= MOST_ERRORS:
            continue
        for is_missing, field_error in _read(detail, _Location("", model)):
            if not is_missing and len(wrong) >= MOST_ERRORS:
                break  # missing fields come first
            (missing if is_missing else wrong).append(field_error)
    return FieldErrors(tuple(wrong), tuple(missing))


class _Location(NamedTuple):
    """The location of an error: the client's path, and the type that the models expect there."""

    path: str
    kind: Any

    def below(self, part: str | int) -> _Location:
        """Return the location one step deeper in Pydantic's path: a field, an index, or the tag of
        a union.
        """
        if part == "plain":
            return self
        if part == "operand":
            return self._replace(kind=Operand)
        models = _models(self.kind)
        if isinstance(part, int):
            return _Location(f"{self.path}[{part}]", self.kind)
        if len(models) > 1:
            return _Location(self.path, next(m for m in models if part in _tags(m)))
        kind = _fields(models[0]).get(part) if models else None
        return self.named(part)._replace(kind=kind)

    def named(self, field: str) -> _Location:
        return self._replace(path=f"{self.path}.{field}" if self.path else field)


def _read(detail: ErrorDetails, location: _Location) -> Iterator[tuple[bool, FieldError]]:
    """Yield whether a field is missing, and its error; several for an unknown kind."""
    parent = location
    for part in detail["loc"]:
        parent, location = location, location.below(part)
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    match kind:
        case "missing":
            yield True, _error(location, kind, ABSENT)
        case "extra_forbidden":
            yield False, _unknown(location, _models(parent.kind), str(detail["loc"][-1]), value)
        case "union_tag_not_found":
            tag = context["discriminator"].strip("'")
            yield True, _error(location.named(tag), kind, ABSENT)
            yield from _untagged(location, tag, value)
        case "union_tag_invalid":
            tag = context["discriminator"].strip("'")
            allowed = tuple(name for model in _models(location.kind) for name in _tags(model))
            yield False, _error(location.named(tag), kind, value[tag], allowed=allowed)
        case "literal_error":
            yield False, _error(location, kind, value, allowed=_literals(location.kind))
        case "refused" | "incomplete":
            field = context["field"]
            if field:
                location, value = location.named(field), value.get(field, ABSENT)
            sentence = _sentence(f"{location.path} {context['message']}")
            yield kind == "incomplete", FieldError(location.path, sentence, value)
        case _:
            yield False, _error(location, kind, value, context=context, otherwise=detail["msg"])


def _error(
    location: _Location,
    kind: str,
    value: object,
    *,
    allowed: tuple[object, ...] | None = None,
    context: Mapping[str, Any] | None = None,
    otherwise: str = "",
) -> FieldError:
    template = _MESSAGES.get(kind, otherwise)
    message = template.format(allowed=_choice(allowed or (), value), **(context or {}))
    return FieldError(location.path, _sentence(f"{location.path} {message}"), value, allowed)


def _choice(allowed: tuple[object, ...], value: object) -> str:
    """Return the allowed values in words; for very many, the most similar one."""
    names = list(map(str, allowed))
    if len(names) > MOST_NAMED:
        meant = _meant(value, names) if isinstance(value, str) else ""
        return f"one of {len(names)} allowed values{meant}"
    return f"one of {', '.join(names)}" if len(names) > 1 else "".join(names)


def _meant(word: str, names: Iterable[str]) -> str:
    """Return a question with the most similar name, if one is near."""
    by_case = {name.lower(): name for name in names}
    near = get_close_matches(word.lower()[:64], by_case, n=1)
    return f"; did you mean {by_case[near[0]]}?" if near else ""


def _unknown(
    location: _Location, models: list[type[BaseModel]], key: str, value: object
) -> FieldError:
    names = sorted({name for model in models for name in _fields(model)})
    hint = _LEFT_OUT.get(key) or _meant(key, names)
    message = f"{location.path} {_MESSAGES['extra_forbidden']}{hint}"
    return FieldError(location.path, _sentence(message), value, tuple(names))


def _untagged(
    location: _Location, tag: str, value: Mapping[str, Any]
) -> Iterator[tuple[bool, FieldError]]:
    """Yield the errors of an object without a kind: those common to all kinds."""
    models = _models(location.kind)
    known = {name for model in models for name in _fields(model)}
    for key in value:
        if key not in known:
            yield False, _unknown(location.named(key), models, key, value[key])
            continue
        candidates = _each_kind_of(key, models)
        errors = [_errors_at(key, model, tag, value, location) for model in candidates]
        if all(errors):
            widest = max(errors, key=lambda of_model: len(of_model[0].allowed or ()))
            yield from ((False, field_error) for field_error in widest)


def _each_kind_of(key: str, models: list[type[BaseModel]]) -> list[type[BaseModel]]:
    """Return a model for each type of the field: hundreds of models have a period."""
    kinds = {_expected(model)[key]: model for model in models if key in _fields(model)}
    return list(kinds.values())


@cache
def _expected(model: type[BaseModel]) -> dict[str, str]:
    """Return the type of every field, with its bounds, keyed by wire name; equal texts mean equal
    types.
    """
    fields = model.model_fields.items()
    return {field.alias or name: f"{field.annotation}{field.metadata}" for name, field in fields}


def _errors_at(
    key: str, model: type[BaseModel], tag: str, value: Mapping[str, Any], location: _Location
) -> list[FieldError]:
    written = {key: value[key], tag: _tags(model)[0]}
    is_operand = issubclass(model, IndicatorOperand)
    try:
        if is_operand:
            _operands().validate_python(written)
        else:
            model.model_validate(written)
    except ValidationError as error:
        top = _Location(location.path, Operand if is_operand else model)
        of_key = slice(1, 2) if is_operand else slice(1)
        details = (d for d in error.errors(include_url=False) if d["loc"][of_key] == (key,))
        read = chain.from_iterable(_read(detail, top) for detail in details)
        wrong = (field_error for is_missing, field_error in read if not is_missing)
        return list(islice(wrong, MOST_ERRORS))
    return []


@cache
def _operands() -> TypeAdapter[Operand]:
    """Return the validator of all operands: each model alone would hold all of them again."""
    return TypeAdapter(Operand)


def _models(kind: Any) -> list[type[BaseModel]]:
    """Return the models in an annotation, through unions, tuples and annotations."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    if isinstance(kind, TypeAliasType):
        return _models(kind.__value__)
    return [model for argument in get_args(kind) for model in _models(argument)]


@cache
def _fields(model: type[BaseModel]) -> dict[str, Any]:
    """Return the annotation of every field, keyed by wire name."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _tags(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the values of the field that distinguishes a model from its siblings."""
    fields = _fields(model)
    return _literals(fields["type"] if "type" in fields else fields["method"])


def _literals(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(value for argument in get_args(kind) for value in _literals(argument))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."
