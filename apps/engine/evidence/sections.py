"""What evidence consists of: sections, the checks in them, and what all of them are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.charges import Schedule
from apps.engine.evidence.overfitting import Overfitting
from apps.engine.language.strategy import Strategy, parse
from apps.engine.lazy import lazy
from apps.engine.metrics.result_data import ResultData
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import PreparedData, prepare_data
from apps.engine.simulation.simulate import charged
from apps.engine.simulation.simulations import (
    Simulation,
    TradedMarket,
    ignore_progress,
    simulate_plan,
)
from apps.engine.simulation.timeline import History
from apps.engine.studies.configs import PERCENTILES
from apps.engine.studies.grid_search import CACHE_BYTES
from apps.engine.units import Unit, rounded


class CheckStatus(StrEnum):
    """How a check ended. `unknown`: there is too little to say."""

    PASS = "pass"
    DOUBT = "doubt"
    FAIL = "fail"
    UNKNOWN = "unknown"


class EvidenceThresholds(NamedTuple):
    """Where checks pass, and from where they are in doubt instead of failing; shares of 1.

    `selected_sets`: the probability of backtest overfitting counts where a study of so many sets or
    more chose the configuration.
    """

    probabilistic_sharpe: float = 0.95
    probabilistic_sharpe_doubt: float = 0.5
    deflated_sharpe: float = 0.95
    deflated_sharpe_doubt: float = 0.5
    overfitting: float = 0.2
    selected_sets: int = 20
    profitable_neighbours: float = 0.8
    profitable_neighbours_doubt: float = 0.5


@dataclass(frozen=True, slots=True)
class EvidenceCheck:
    """A check by its name on the wire, how it ended, and why, as a sentence."""

    name: str
    status: CheckStatus
    reason: str


@dataclass(frozen=True, slots=True)
class EvidenceSection:
    """A section by its name on the wire: figures as clients read them, the sentence that they
    justify, and what was not looked at, in sentences.
    """

    name: str
    figures: Mapping[str, object]
    sentence: str
    not_looked_at: Sequence[str]
    check: EvidenceCheck | None = None


class Trials(NamedTuple):
    """What was `tried` before this result: the number of distinct configurations, this one among
    them, and the variance of their daily Sharpe ratios. `overfitting` is that of the study that
    chose the configuration, if one did.
    """

    tried: int = 1
    variance: float = 0.0
    overfitting: Overfitting | None = None


THIS_ALONE: Final = Trials()
USUAL_THRESHOLDS: Final = EvidenceThresholds()


@dataclass(frozen=True, eq=False)
class EvidenceInput:
    """A result, and what it was made from: complete steps (Any: JSON as the client wrote it), the
    histories of the symbols, the range, and what `simulate` was told.
    """

    steps: Mapping[str, Any]
    histories: Sequence[History]
    start: int
    end: int
    capital: float
    schedule: Schedule
    result: ResultData
    trials: Trials = THIS_ALONE
    seed: int = 0
    thresholds: EvidenceThresholds = USUAL_THRESHOLDS

    @lazy
    def strategy(self) -> Strategy:
        return parse(self.steps)

    @lazy
    def data(self) -> PreparedData:
        """The bars, set up once for all simulations of this strategy with other numbers."""
        return prepare_data(
            self.strategy,
            self.histories,
            start=self.start,
            end=self.end,
            report=ignore_progress,
            cache_bytes=CACHE_BYTES,
        )

    def simulate(
        self, strategy: Strategy | None = None, schedule: Schedule | None = None
    ) -> Simulation:
        """Simulate again, with other numbers of the steps or other charges; raises what
        `simulate.simulate` does.
        """
        strategy = strategy or self.strategy
        plan = plan_of(strategy)
        market, signals = self.data.with_signals(required_inputs(strategy), plan)
        terms = terms_of(
            self.data.symbols, self.data.contracts, charged(strategy, schedule or self.schedule)
        )
        traded = TradedMarket(market, terms, self.data.candles)
        return simulate_plan(plan, traded, signals, capital=self.capital, report=ignore_progress)


def graded(value: float | None, passes_from: float, doubt_from: float) -> CheckStatus:
    """Return how a check of a figure ends of which more is better."""
    if value is None:
        return CheckStatus.UNKNOWN
    if value >= passes_from:
        return CheckStatus.PASS
    return CheckStatus.DOUBT if value >= doubt_from else CheckStatus.FAIL


def rounded_figure(value: float | None, unit: Unit) -> float | None:
    """Return a figure with the decimals of its unit, if it is known."""
    return None if value is None else rounded(value, unit)


def quantiles(values: NDArray[np.float64], unit: Unit) -> dict[str, float]:
    """Return the percentiles by their names on the wire, interpolated linearly."""
    percentiles: Sequence[float] = np.percentile(values, PERCENTILES).tolist()
    return {
        f"p{percent}": rounded(value, unit)
        for percent, value in zip(PERCENTILES, percentiles, strict=True)
    }


def percent_text(share: float) -> str:
    """Return a share of 1 as people write it; what is not quite all is never written as all."""
    if 0.999 < share < 1:
        return "more than 99.9 %"
    if 0 < share < 0.001:
        return "less than 0.1 %"
    return f"{share * 100:.1f} %"
