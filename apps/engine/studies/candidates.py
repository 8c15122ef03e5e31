"""The plan and the inputs of each set of a grid, assembled from those of its values.

Parsing the steps of a set takes longer than simulating it. The parsed values are numbers in tuples
of one shape, and each number comes from one object of the steps. So the values of one object are
parsed once, beside the others as written, and a set has the changes of each of its objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, Final, NamedTuple

from apps.engine.kernel.records import Plan
from apps.engine.language.strategy import read_strategy
from apps.engine.lazy import lazy
from apps.engine.signals.required_inputs import RequiredInputs, required_inputs
from apps.engine.simulation.plan import plan_of
from apps.engine.studies.grid import Grid
from apps.engine.studies.parameters import applied

MOST_KEPT: Final = 10_000
"""Plans of objects with some of their values, a few kilobytes each."""

Values = Mapping[str, float]


class CandidatePlan(NamedTuple):
    """The plan of a set of parameters, and the inputs of its conditions and exits."""

    plan: Plan
    inputs: RequiredInputs


class Overlap(Exception):
    """Values of two objects change one number, such as confirming candles and an offset."""


@dataclass(frozen=True)
class Candidates:
    """The candidates of a grid over the steps of an algorithm, JSON as the client wrote it."""

    steps: Mapping[str, Any]
    grid: Grid
    _of_objects: dict[tuple[tuple[str, float], ...], CandidatePlan | None] = field(
        default_factory=dict
    )

    def candidate(self, index: int) -> CandidatePlan | None:
        """Return the candidate of a set; None if the steps with its values are invalid."""
        values = self.grid.values(index)
        objects = dict[str, dict[str, float]]()
        for path, value in values.items():
            objects.setdefault(path.rpartition(".")[0], {})[path] = value
        as_written = self._as_written
        if as_written is None or len(objects) == 1:
            return self._read(values)
        alone = [self._of_object(changes) for changes in objects.values()]
        valid = [candidate for candidate in alone if candidate is not None]
        if len(valid) < len(alone):
            return self._read(values)
        try:
            return reduce(partial(merged, as_written), valid)
        except Overlap:
            return self._read(values)

    @lazy
    def _as_written(self) -> CandidatePlan | None:
        return self._read({})

    def _of_object(self, values: Values) -> CandidatePlan | None:
        key = tuple(values.items())
        try:
            return self._of_objects[key]
        except KeyError:
            if len(self._of_objects) >= MOST_KEPT:  # one object's numbers may make a large grid
                self._of_objects.clear()
            candidate = self._of_objects[key] = self._read(values)
            return candidate

    def _read(self, values: Values) -> CandidatePlan | None:
        strategy = read_strategy(applied(self.steps, values)).strategy
        if strategy is None:
            return None
        return CandidatePlan(plan_of(strategy), required_inputs(strategy))


def merged(as_written: Any, first: Any, second: Any) -> Any:
    """Return a tuple of tuples and numbers with the changes of two others applied.

    Raises Overlap.
    """
    if second == as_written:
        return first
    if first == as_written:
        return second
    if not isinstance(as_written, tuple) or not len(as_written) == len(first) == len(second):
        raise Overlap
    parts = map(merged, as_written, first, second)
    return type(as_written)(*parts) if hasattr(as_written, "_fields") else tuple(parts)
