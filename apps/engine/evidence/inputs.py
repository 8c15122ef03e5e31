"""The common input of all sections of evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from apps.engine.candles.candles import Candles
from apps.engine.errors import EngineError
from apps.engine.evidence.traded_fills import traded_fills_of
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
    """A new simulation of the result gives other trades."""

    def __init__(self) -> None:
        super().__init__(
            "The candles or rules have changed since this backtest ran, so its trades would differ"
            " now. Run it again."
        )


class EvidenceThresholds(NamedTuple):
    """The thresholds for passing a check, and for a doubt instead of a failure; shares of 1.

    `selected_sets`: the probability of backtest overfitting counts if a study of at least this many
    sets chose the configuration. `large_fills`: among this many fills none may take more than
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
    """The trials before this result: `tried` is the number of distinct configurations, including
    this one, and `variance` that of their daily Sharpe ratios. If a study chose the configuration,
    `overfitting` is the study's, if known, and `selected_from` its number of sets.
    """

    tried: int = 1
    variance: float = 0.0
    overfitting: Overfitting | None = None
    selected_from: int = 0


class JoinedTests(NamedTuple):
    """The steps of the tested windows of a walk-forward, in order, and the number of windows: all
    test equally many dates (rule 19).
    """

    steps: Sequence[Mapping[str, Any]]  # JSON as the client wrote it
    windows: int


FinerCandles = Callable[[str, int, int], Candles | None]
"""Returns the candles of a symbol between two moments (epoch seconds) that are finer than those of
the strategy; None where none are held.
"""


def no_finer_candles(symbol: str, start: int, end: int) -> Candles | None:
    """Return no finer candles."""
    return None


THIS_ALONE: Final = Trials()
USUAL_THRESHOLDS: Final = EvidenceThresholds()


@dataclass(frozen=True, eq=False)
class EvidenceInput:
    """A simulation's input, and its trades (TRADE records) and curve (CURVE).

    `expiries` are, for each symbol, the days (since 1970 in Asia/Kolkata) on which derivatives of
    its underlying expire, if known. `joined`: the result is of the joined tests of a walk-forward,
    which begin with the range; the steps are those of its last test. `rows` are the simulated rows
    of the market; `shared` are the bars if they are prepared already.
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
        """The bars, prepared once for all simulations of this strategy with other numbers."""
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
        """The separately simulated parts: all of it, or the test of each window of a walk-forward,
        with the steps it chose and the equity left by the previous test.
        """
        return [self] if self.joined is None else list(self._tests(self.joined))

    @property
    def simulation_note(self) -> str:
        """The note of sentences about the simulation of a walk-forward."""
        if self.joined is None:
            return ""
        return " Each test window is simulated on its own, with the parameters that it chose."

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

    @property
    def traded_fills(self) -> Array:
        """The fills as TRADED_FILL records."""
        return traded_fills_of(self.fills, self.data.contracts)

    def simulate(
        self,
        strategy: Strategy | None = None,
        schedule: Schedule | None = None,
        *,
        capital: float | None = None,
        keep_fills: bool = False,
    ) -> Simulation:
        """Simulate again, with other numbers of the steps, other charges or another capital.

        Raises the errors of `simulate.simulate`.
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
