"""A study in parts: items that are scored in any ranges, in any order, by any process, and what is
concluded from the scores of all.

The items of a search are its sets, those of a Monte Carlo its paths. A score does not depend on the
range that it was computed in, so a study gives the same however it was divided.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from apps.engine.kernel.records import Array
from apps.engine.simulation.simulate import SimulationResult
from apps.engine.simulation.simulations import ReportProgress, ignore_progress

SHARE_OF_SCORES: Final = 0.9
"""Of the progress; the rest is the conclusion."""


class StudyOutput(NamedTuple):
    """`result` is that of the one simulation that stands for the study; `findings` are JSON, and
    `chart` is what is drawn beside them, JSON too, if something is.
    """

    result: SimulationResult
    findings: dict[str, object]
    chart: dict[str, object] | None = None


class Study(Protocol):
    """`report`, as for `simulate`, is told the fraction of the call that is done."""

    @property
    def size(self) -> int:
        """How many items there are."""

    def score(self, items: slice, *, threads: int, report: ReportProgress) -> Array:
        """Return one record for each item, in their order; `items` has both ends."""

    def conclude(self, scores: Array, *, threads: int, report: ReportProgress) -> StudyOutput:
        """Return what comes of the scores of all items, in their order."""


def run_whole(
    study: Study, *, threads: int = 1, on_progress: ReportProgress = ignore_progress
) -> StudyOutput:
    """Score all items and conclude."""
    scores = study.score(
        slice(0, study.size),
        threads=threads,
        report=lambda done: on_progress(SHARE_OF_SCORES * done),
    )
    return study.conclude(
        scores,
        threads=threads,
        report=lambda done: on_progress(SHARE_OF_SCORES + (1 - SHARE_OF_SCORES) * done),
    )
