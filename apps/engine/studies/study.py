"""A study in parts: items scored in any ranges, in any order, by any process, and a conclusion from
all scores.

The items of a search are its sets, those of a Monte Carlo its paths. A score does not depend on the
range of its computation, so the result of a study does not depend on its division.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from apps.engine.kernel.records import Array
from apps.engine.simulation.simulate import SimulationResult
from apps.engine.simulation.simulations import ReportProgress, ignore_progress

Findings = TypeVar("Findings", bound=Mapping[str, object])


class StudyOutput(NamedTuple, Generic[Findings]):
    """`result` is of the one simulation that represents the study; `findings` are JSON, and
    `chart`, also JSON, is the chart beside them, if there is one.
    """

    result: SimulationResult
    findings: Findings
    chart: dict[str, object] | None = None


class Study(Protocol):
    """A study in parts. `report`, as for `simulate`, gets the fraction of the call that is done."""

    # Of the progress; the rest is the conclusion.
    SHARE_OF_SCORES: ClassVar[float] = 0.9

    @property
    def size(self) -> int:
        """The number of items."""

    def score(self, items: slice, *, threads: int, report: ReportProgress) -> Array:
        """Return one record for each item, in their order; `items` has both ends."""

    def conclude(self, scores: Array, *, threads: int, report: ReportProgress) -> StudyOutput[Any]:
        """Return the conclusion from the scores of all items, in their order."""

    def run(
        self, *, threads: int = 1, on_progress: ReportProgress = ignore_progress
    ) -> StudyOutput[Any]:
        """Score all items and conclude."""
        share = self.SHARE_OF_SCORES
        scores = self.score(
            slice(0, self.size), threads=threads, report=lambda done: on_progress(share * done)
        )
        return self.conclude(
            scores, threads=threads, report=lambda done: on_progress(share + (1 - share) * done)
        )
