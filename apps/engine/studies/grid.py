"""The sets of parameters of a search, as numbers of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import TIMEFRAME_SECONDS
from apps.engine.lazy import lazy
from apps.engine.studies.parameters import Parameter, ParameterPath

Places = NDArray[np.int64]


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
    *way, last = ParameterPath(path).way
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
