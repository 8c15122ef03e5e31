"""The sets of parameters of a search, as numbers of a grid, and as steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import TIMEFRAME_SECONDS
from apps.engine.errors import FieldError
from apps.engine.language import strategy
from apps.engine.lazy import lazy
from apps.engine.studies.configs import (
    MOST_SIMULATIONS,
    PARAMETER_PATH,
    OptimizationConfig,
    Parameter,
    WalkForwardConfig,
)

LARGEST_GRID: Final = 2**62
"""Sets that can be numbered; a random search may draw from so many."""

StepsJson = dict[str, dict[str, Any]]
"""Any: steps are JSON as the client wrote it."""

Places = NDArray[np.int64]
Way = list[str | int]
"""Keys and indices, of which the first leads on from where one stands."""

_PATH: Final = re.compile(PARAMETER_PATH)
_PART: Final = re.compile(r"[A-Za-z0-9]+")
_FIXED: Final = frozenset({"executionSettings.initialCapital"})
"""What a simulation is told beside its steps."""


class GridAxis(NamedTuple):
    """The values of one parameter; each is constant for `stride` consecutive sets."""

    path: str
    values: Sequence[float]
    stride: int


@dataclass(frozen=True)
class Grid:
    """All sets by number: the first parameter changes slowest (rule 19).

    Among values that always give the same trades, the first is tried.
    """

    parameters: tuple[Parameter, ...]
    steps: Mapping[str, Any] = field(default_factory=dict)  # JSON as the client wrote it

    @lazy
    def size(self) -> int:
        return prod(len(axis.values) for axis in self.axes)

    @lazy
    def axes(self) -> tuple[GridAxis, ...]:
        """The axes, the slowest first."""
        axes, stride = list[GridAxis](), 1
        for parameter in reversed(self.parameters):
            values = distinct_values(self.steps, parameter)
            axes.insert(0, GridAxis(parameter.path, values, stride))
            stride *= len(values)
        return tuple(axes)

    def values(self, index: int) -> dict[str, float]:
        """Return the set of this number, keyed by path."""
        return {path: values[index // stride % len(values)] for path, values, stride in self.axes}

    def neighbours(self, index: int) -> list[int]:
        """Return the sets that are one step of one parameter away."""
        matches = []
        for _, values, stride in self.axes:
            i = index // stride % len(values)
            matches += [index - stride] if i > 0 else []
            matches += [index + stride] if i < len(values) - 1 else []
        return sorted(matches)

    def places(self, indices: Sequence[int]) -> Places:
        """Return the index of each set's values in its parameters, i8[parameters, sets]."""
        numbers = np.array(indices, np.int64)
        return np.array([numbers // axis.stride % len(axis.values) for axis in self.axes])

    def shards(self, indices: Sequence[int], count: int) -> list[list[int]]:
        """Return this many parts of the sets, as even as possible, each with few values of the
        parameters: halved repeatedly along the parameter with the most values in them.
        """
        numbers = np.array(indices, np.int64)
        parts = _halved(np.arange(len(numbers)), self.places(indices), count)
        return [numbers[np.sort(part)].tolist() for part in parts]

    def drawn(self, most: int, *, seed: int) -> Sequence[int]:
        """Return at most this many sets, each once, at random, in ascending order."""
        if self.size <= most:
            return range(self.size)
        return sorted(Random(seed).sample(range(self.size), most))


def distinct_values(steps: Mapping[str, Any], parameter: Parameter) -> Sequence[float]:
    """Return the values of a parameter without those that trade like an earlier one."""
    values = [parameter.value(i) for i in range(parameter.count)]
    bar = _opening_range_bar(steps, parameter.path)
    if bar is None:
        return values
    firsts = {ceil(value * 60 / bar): value for value in reversed(values)}
    return sorted(firsts.values())


def _opening_range_bar(steps: Mapping[str, Any], path: str) -> int | None:
    """Return the bar length in seconds of an opening range, if the path leads to one: its minutes
    end with a bar. Bars outside of sessions end at any minute.
    """
    *way, last = way_of(path)
    if not steps or last != "minutes" or steps["executionSettings"].get("includeOutOfSession"):
        return None
    container: Any = steps
    for part in way:
        container = container[part]
    if container.get("type") != "OPENING_RANGE":
        return None
    return TIMEFRAME_SECONDS[container.get("timeframe") or steps["basicInfo"]["timeframe"]]


def _halved(sets: Places, places: Places, count: int) -> list[Places]:
    """Return this many parts of the sets, the columns of `places` i8[axes, sets]."""
    if count <= 1:
        return [sets]
    longest = np.ptp(places[:, sets], axis=1).argmax()
    along = sets[np.argsort(places[longest, sets], kind="stable")]
    fewer = count // 2
    cut = len(sets) * fewer // count
    return _halved(along[:cut], places, fewer) + _halved(along[cut:], places, count - fewer)


def applied(steps: Mapping[str, Any], values: Mapping[str, float]) -> StepsJson:
    """Return the steps with these values at their existing paths; untouched parts are shared."""
    changed: Any = steps
    for path, value in values.items():
        changed = with_value(changed, way_of(path), value)
    return dict(changed)


def with_value(container: Any, way: Way, value: float) -> Any:
    """Return a copy of an object or array of JSON with another value at the end of the path."""
    copied: Any = list(container) if isinstance(container, list) else dict(container)
    first, *remaining = way
    copied[first] = with_value(copied[first], remaining, value) if remaining else value
    return copied


def search_errors(
    steps: Mapping[str, Any], config: WalkForwardConfig | OptimizationConfig
) -> tuple[FieldError, ...]:
    """Return the errors of a search over complete steps: of its parameters, else of its size."""
    return path_errors(steps, config.parameters) or size_errors(config)


def size_errors(config: WalkForwardConfig | OptimizationConfig) -> tuple[FieldError, ...]:
    """Return the error of a search with too many sets."""
    size = prod(parameter.count for parameter in config.parameters)
    if isinstance(config, WalkForwardConfig):
        most = MOST_SIMULATIONS // config.windows
        if size <= most:
            return ()
        message = f"parameters make {size:,} sets; at most {most:,} are tried in so many windows"
        return (FieldError("parameters", message, _sent(config.parameters)),)
    if config.method == "random" or size <= config.maxRuns:
        return ()
    message = f"maxRuns is less than the {size:,} sets of the grid; method random draws from them"
    return (FieldError("maxRuns", message, config.maxRuns),)


def _sent(parameters: Sequence[Parameter]) -> list[dict[str, object]]:
    """Return the parameters as JSON, for an error."""
    return [parameter.model_dump(mode="json", by_alias=True) for parameter in parameters]


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
        if (reason := why_not_tried(steps, parameter.path))
    ]
    if not lost and prod(parameter.count for parameter in parameters) >= LARGEST_GRID:
        sizes = " x ".join(str(parameter.count) for parameter in parameters)
        message = f"parameters make {sizes} sets, too many to be numbered"
        lost = [FieldError("parameters", message, _sent(parameters))]
    if lost:
        return tuple(lost)
    return tuple(error for i in range(len(parameters)) for error in _refused(steps, parameters, i))


def why_not_tried(steps: Mapping[str, Any], path: str) -> str:
    """Return the reason why a search cannot vary the path; empty if it leads to a number, or to a
    place for one.
    """
    if path in _FIXED:
        return "is not part of the strategy: it is the backtest's own"
    if not _PATH.fullmatch(path):
        return "is not a path such as exitConditions.stopLoss.percentage"
    try:
        *way, last = way_of(path)
        container: Any = steps
        for part in way:
            container = container[part]
        value = container[last] if isinstance(last, int) else container.get(last, 0)
    except (KeyError, IndexError, TypeError, AttributeError):
        return "leads nowhere in the steps of the algorithm"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if is_number else "leads to a value that is not a number"


def way_of(path: str) -> Way:
    """Return the keys and indices on the way of a path."""
    return [int(part) if part.isdigit() else part for part in _PART.findall(path)]


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
