"""The errors of a search over complete steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final

from apps.engine.errors import FieldError
from apps.engine.language import strategy
from apps.engine.studies.parameters import Parameter, ParameterPath, applied

LARGEST_GRID: Final = 2**62
"""Sets that can be numbered; a random search may draw from so many."""


def path_errors(
    steps: Mapping[str, Any], parameters: Sequence[Parameter]
) -> tuple[FieldError, ...]:
    """Return the errors of the parameters of a search over complete steps.

    A path may lead nowhere, or to a value that is not a number; or a first, second or last value
    may be refused with any other values. Values that only do not fit together make invalid sets,
    which a search counts and does not run (rule 19).
    """
    lost = [
        FieldError(f"parameters[{i}].path", f"{parameter.path} {reason}", parameter.path)
        for i, parameter in enumerate(parameters)
        if (reason := ParameterPath(parameter.path).fault_in(steps))
    ]
    if not lost and prod(parameter.count for parameter in parameters) >= LARGEST_GRID:
        sizes = " x ".join(str(parameter.count) for parameter in parameters)
        message = f"parameters make {sizes} sets, too many to be numbered"
        lost = [FieldError("parameters", message, parameters_to_json(parameters))]
    if lost:
        return tuple(lost)
    return tuple(error for i in range(len(parameters)) for error in _refused(steps, parameters, i))


def parameters_to_json(parameters: Sequence[Parameter]) -> list[dict[str, object]]:
    """Return the parameters as JSON, for an error."""
    return [parameter.model_dump(mode="json", by_alias=True) for parameter in parameters]


def _refused(
    steps: Mapping[str, Any], parameters: Sequence[Parameter], tried: int
) -> Iterator[FieldError]:
    parameter = parameters[tried]
    ends = {"from": 0, "step": min(1, parameter.count - 1), "to": parameter.count - 1}
    seen = set()
    for name, i in ends.items():
        value = parameter.value(i)
        if value not in seen and (reason := _never_valid(steps, parameters, tried, value)):
            sent = getattr(parameter, "from_" if name == "from" else name)
            message = reason if value == sent else f"{value:g} is tried, and {reason}"
            yield FieldError(f"parameters[{tried}].{name}", message, sent)
        seen.add(value)


def _never_valid(
    steps: Mapping[str, Any], parameters: Sequence[Parameter], tried: int, value: float
) -> str:
    """Return the reason why the value is always refused at its path: beside the others as written,
    at their first and at their last values; empty if one of the three accepts it.
    """
    path, reason = parameters[tried].path, ""
    siblings = [parameter for i, parameter in enumerate(parameters) if i != tried]
    firsts = {parameter.path: parameter.value(0) for parameter in siblings}
    lasts = {parameter.path: parameter.value(parameter.count - 1) for parameter in siblings}
    for beside in ({}, firsts, lasts):
        reading = strategy.read_strategy(applied(steps, {**beside, path: value}))
        matches = [error for error in reading.errors if error.field == path]
        if not matches:
            return ""
        reason = matches[0].message
    return reason
