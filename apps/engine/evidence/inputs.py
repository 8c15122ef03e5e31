"""What all sections of evidence are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from apps.engine.candles.candles import Candles
from apps.engine.errors import EngineError
from apps.engine.kernel.codes import AT_LIMIT
from apps.engine.kernel.records import Array
from apps.engine.language.strategy import Strategy
from apps.engine.lazy import lazy
from apps.engine.results.equity import Curve
from apps.engine.results.result_data import ResultData
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.charges import Schedule
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import PreparedData
from apps.engine.simulation.simulate import charged
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.simulations import (
    EVERY_ROW,
    Simulation,
    TradedMarket,
    ignore_progress,
    simulate_plan,
)
from apps.engine.studies.grid_search import CACHE_BYTES
from apps.engine.studies.overfitting import Overfitting
from apps.engine.studies.walk_forward import day_edges


class HistoryChanged(EngineError):
    """The simulation of the result gives other trades now."""

    def __init__(self) -> None:
        super().__init__(
            "The candles or the rules of this backtest have changed since it ran: the same steps"
            " give other trades now. Run it again for evidence."
        )


class EvidenceThresholds(NamedTuple):
    """Where checks pass, and from where they are in doubt instead of failing; shares of 1.

    `selected_sets`: the probability of backtest overfitting counts where a study of so many sets or
    more chose the configuration. `large_fills`: of so many of the fills none may take more than
    `volume_share` of the volume of its bar.
    """

    probabilistic_sharpe: float = 0.95
    probabilistic_sharpe_doubt: float = 0.5
    deflated_sharpe: float = 0.95
    deflated_sharpe_doubt: float = 0.5
    timing: float = 0.95
    timing_doubt: float = 0.5
    overfitting: float = 0.2
    selected_sets: int = 20
    profitable_neighbours: float = 0.8
    profitable_neighbours_doubt: float = 0.5
    volume_share: float = 0.05
    large_fills: float = 0.1


class Trials(NamedTuple):
    """What was `tried` before this result: the number of distinct configurations, this one among
    them, and the variance of their daily Sharpe ratios. `overfitting` is that of the study that
    chose the configuration `selected_from` so many sets, if one did and it is known.
    """

    tried: int = 1
    variance: float = 0.0
    overfitting: Overfitting | None = None
    selected_from: int = 0


class JoinedTests(NamedTuple):
    """The steps of the windows of a walk-forward that were tested, in order, and how many windows
    it has: all test as many dates (rule 19).
    """

    steps: Sequence[Mapping[str, Any]]  # JSON as the client wrote it
    windows: int


FinerCandles = Callable[[str, int, int], Candles | None]
"""Returns the candles of a symbol between two moments (epoch seconds) that are finer than those of
the strategy; None where none are held.
"""


def no_finer_candles(symbol: str, start: int, end: int) -> Candles | None:
    """Hold none."""
    return None


THIS_ALONE: Final = Trials()
USUAL_THRESHOLDS: Final = EvidenceThresholds()


@dataclass(frozen=True, eq=False)
class EvidenceInput:
    """What was simulated, and the trades (TRADE records) and the curve (CURVE) that came of it.

    `expiries`: of each symbol the days (since 1970 in Asia/Kolkata) on which derivatives of its
    underlying expire, where any are known. `joined`: the result is that of the joined tests of a
    walk-forward, which begin with the range; the steps are those of its last one. `rows`: those of
    the market that were simulated; `shared` are the bars where they are set up already.
    """

    inputs: SimulationInput
    trades: Array
    curve: Curve
    trials: Trials = THIS_ALONE
    thresholds: EvidenceThresholds = USUAL_THRESHOLDS
    finer: FinerCandles = no_finer_candles
    joined: JoinedTests | None = None
    expiries: Mapping[str, Sequence[int]] = field(default_factory=dict)
    rows: slice = field(default_factory=lambda: EVERY_ROW)
    shared: PreparedData | None = None

    @lazy
    def data(self) -> PreparedData:
        """The bars, set up once for all simulations of this strategy with other numbers."""
        return self.shared or self.inputs.prepare(cache_bytes=CACHE_BYTES)

    @lazy
    def result(self) -> ResultData:
        return ResultData(
            self.trades,
            self.curve,
            self.inputs.capital,
            self.data.candles,
            by_limit=plan_of(self.inputs.strategy).order_by == AT_LIMIT,
            flags=self.data.market.flags,
        )

    @lazy
    def parts(self) -> list[EvidenceInput]:
        """What was simulated at once: all of it, or the test of each window of a walk-forward, with
        the steps that it chose and the equity that the last one left.
        """
        return [self] if self.joined is None else list(self._tests(self.joined))

    @property
    def simulation_note(self) -> str:
        """What a sentence on a walk-forward says of its simulation."""
        if self.joined is None:
            return ""
        return (
            " Each test of the walk-forward was simulated by itself, with the parameters that its"
            " training chose and the equity that the test before it left."
        )

    def _tests(self, joined: JoinedTests) -> Iterator[EvidenceInput]:
        edges, held = day_edges(self.data.market), self.inputs.capital
        rows = edges[:: max((len(edges) - 1) // joined.windows, 1)]
        time = np.append(self.data.market.time, self.inputs.end)
        for steps, (first, end) in zip(joined.steps, pairwise(rows), strict=False):
            start, stop = time[[first, end]].tolist()
            entered = self.trades["entry_time"]
            points = slice(*np.searchsorted(self.curve["time"], (start, stop)).tolist())
            yield replace(
                self,
                inputs=replace(self.inputs, steps=steps, capital=held),
                trades=self.trades[(entered >= start) & (entered < stop)],
                curve={name: self.curve[name][points] for name in ("time", "equity")},
                joined=None,
                rows=slice(first, end),
                shared=self.data,
            )
            held = float(self.curve["equity"][points.stop - 1])

    @lazy
    def fills(self) -> Array:
        """The FILL records of the result, from a simulation. Raises HistoryChanged."""
        if self.joined is not None:
            return np.concatenate([part.fills for part in self.parts])
        simulation = self.simulate(keep_fills=True)
        if simulation.trades.tobytes() != self.trades.tobytes():
            raise HistoryChanged
        return simulation.fills

    def simulate(
        self,
        strategy: Strategy | None = None,
        schedule: Schedule | None = None,
        *,
        capital: float | None = None,
        keep_fills: bool = False,
    ) -> Simulation:
        """Simulate again, with other numbers of the steps, other charges or another capital; raises
        what `simulate.simulate` does.
        """
        strategy = strategy or self.inputs.strategy
        schedule = charged(strategy, self.inputs.schedule if schedule is None else schedule)
        plan = plan_of(strategy)
        market, signals = self.data.with_signals(required_inputs(strategy), plan)
        terms = terms_of(self.data.symbols, self.data.contracts, schedule)
        return simulate_plan(
            plan,
            TradedMarket(market, terms, self.data.candles),
            signals,
            capital=self.inputs.capital if capital is None else capital,
            report=ignore_progress,
            rows=self.rows,
            keep_fills=keep_fills,
        )
