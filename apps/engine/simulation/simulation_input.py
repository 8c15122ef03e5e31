"""The input of a simulation, as one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.engine.language.strategy import Strategy, parse
from apps.engine.lazy import lazy
from apps.engine.simulation.charges import NO_CHARGES, Schedule
from apps.engine.simulation.prepared_data import PreparedData, prepare_data
from apps.engine.simulation.simulate import SimulationResult, charged, simulate
from apps.engine.simulation.simulations import ReportProgress, ignore_progress
from apps.engine.simulation.timeline import History


@dataclass(frozen=True, eq=False)
class SimulationInput:
    """Complete steps (Any: JSON as the client wrote it), the histories of their symbols, the bars
    with start <= time < end, rupees, charges, and the seed of draws.
    """

    steps: Mapping[str, Any]
    histories: Sequence[History]
    start: int
    end: int
    capital: float
    schedule: Schedule = NO_CHARGES
    seed: int = 0

    @lazy
    def strategy(self) -> Strategy:
        return parse(self.steps)

    @lazy
    def charges(self) -> Schedule:
        """Return the schedule, unless the strategy wants no charges."""
        return charged(self.strategy, self.schedule)

    def prepare(
        self, report: ReportProgress = ignore_progress, *, cache_bytes: int = 0
    ) -> PreparedData:
        """Prepare the bars; see `prepare_data`."""
        return prepare_data(
            self.strategy,
            self.histories,
            start=self.start,
            end=self.end,
            report=report,
            cache_bytes=cache_bytes,
        )

    def simulate(self, on_progress: ReportProgress | None = None) -> SimulationResult:
        """Run the strategy over the bars; see `simulate.simulate`."""
        return simulate(
            self.strategy,
            self.histories,
            start=self.start,
            end=self.end,
            capital=self.capital,
            schedule=self.schedule,
            seed=self.seed,
            on_progress=on_progress,
        )
