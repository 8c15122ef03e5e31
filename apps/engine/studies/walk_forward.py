"""Walk-forward: parameters chosen on each window's training days, traded on the days after them.

The trades and the curve come only from the test days, joined: they measure the way of choosing, not
the chosen sets on the days of the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from apps.engine.kernel.records import Array, MarketRows
from apps.engine.language.strategy import Strategy
from apps.engine.results.result_data import ResultData
from apps.engine.results.table import METRICS, Figure
from apps.engine.results.wire_records import curve_points, wire_times
from apps.engine.simulation.prepared_data import PreparedData
from apps.engine.simulation.simulate import result_of
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.simulations import ReportProgress, Simulation, ignore_progress
from apps.engine.studies.configs import WalkForwardConfig
from apps.engine.studies.figures import WalkForwardResults, WalkForwardWindow, WindowResults
from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import (
    CACHE_BYTES,
    GridSearch,
    NothingToTry,
    objective_of,
    rank,
    require_days,
    search_grid,
    shown,
)
from apps.engine.studies.study import Study, StudyOutput
from apps.engine.studies.windows import Window, windows_of

Tested = TypeVar("Tested")

POINTS: Final = 50
"""Of the joined equity that stands beside the windows; the whole curve is the result's own."""


@dataclass(frozen=True)
class WalkForward(Study):
    """The study in parts.

    Its items are the sets, each trained in all windows: its indicators are read once for all of
    them (rule 11 permits it).
    """

    config: WalkForwardConfig
    strategy: Strategy
    search: GridSearch
    windows: Sequence[Window]
    seed: int

    @classmethod
    def prepare(
        cls,
        inputs: SimulationInput,
        config: WalkForwardConfig,
        *,
        on_progress: ReportProgress = ignore_progress,
    ) -> WalkForward:
        """Prepare the bars and the windows.

        Raises TooFewSessions, TooShort and the errors of `prepare_data`.
        """
        data = inputs.prepare(on_progress, cache_bytes=CACHE_BYTES)
        grid = Grid(config.parameters, inputs.steps)
        search = GridSearch(data, inputs.steps, grid, inputs.charges, inputs.capital)
        study = cls(config, inputs.strategy, search, _rows(data, config), inputs.seed)
        tested = [slice(window.test, window.end) for window in study.windows]
        require_days(data.market, [*study.trained, *tested], config.objective)
        return study

    @property
    def size(self) -> int:
        return self.search.grid.size

    @property
    def trained(self) -> list[slice]:
        """The training rows of each window."""
        return [slice(window.train, window.test) for window in self.windows]

    def score(self, items: slice, *, threads: int, report: ReportProgress) -> Array:
        """Return whether each set can run, and its objective in each window; NaN for None."""
        objective = self.config.objective

        def judge(result_data: ResultData) -> Figure:
            return objective_of(result_data, objective)

        judgements = search_grid(
            self.search,
            range(items.start, items.stop),
            self.trained,
            judge,
            by_days=not METRICS[objective].within_days,
            threads=threads,
            report=report,
        )
        windows = ("objectives", np.float64, (len(self.windows),))
        scores = np.zeros(len(judgements), np.dtype([("ran", np.bool_), windows]))
        for score, judgement in zip(scores, judgements, strict=True):
            score["ran"] = judgement is not None
            score["objectives"] = np.nan if judgement is None else np.array(judgement, np.float64)
        return scores

    def conclude(
        self, scores: Array, *, threads: int, report: ReportProgress
    ) -> StudyOutput[WalkForwardResults]:
        """Return the joined tests as a result, and the findings: one row a window, and the joined
        equity.

        Each training starts from the capital, each test flat with the equity at the end of the last
        one; once that is gone no further window is tested. Raises NothingToTry.
        """
        search, config, capital = self.search, self.config, self.search.capital
        tests: list[Simulation] = []
        rows: list[WalkForwardWindow] = []
        chosen = list(zip(self.windows, self._chosen(scores), strict=True))
        in_turn = tested_in_turn(
            chosen,
            lambda pair, held: _simulated(search, pair[1], slice(pair[0].test, pair[0].end), held),
            capital,
        )
        for (window, index), test in zip(chosen, in_turn, strict=False):
            rows.append(
                WalkForwardWindow(
                    parameters=search.grid.values(index),
                    inSample=_trained_again(search, index, window, config.objective),
                    outOfSample=_window_summary(test, config.objective),
                )
            )
            tests.append(test)
            report(len(tests) / len(self.windows))
        simulation = _joined(tests, capital, search.data)
        result = result_of(
            self.strategy,
            search.data,
            search.schedule,
            simulation,
            capital=capital,
            seed=self.seed,
        )
        return StudyOutput(
            result,
            WalkForwardResults(
                objective=config.objective,
                anchored=config.anchored,
                trainRatio=config.trainRatio,
                sets=search.grid.size,
                windows=rows,
                equity=curve_points(result.curve, POINTS),
            ),
        )

    def _chosen(self, scores: Array) -> list[int]:
        """Return the best set of each window."""
        ran = np.flatnonzero(scores["ran"])
        if not len(ran):
            raise NothingToTry(self.size)
        windows = scores["objectives"][ran].T
        return [int(ran[rank(trained, self.config.objective)[0]]) for trained in windows]


def _rows(data: PreparedData, config: WalkForwardConfig) -> list[Window]:
    """Return the windows in rows of the market; a session day is a date with a row."""
    begins = day_edges(data.market)
    windows = windows_of(
        len(begins) - 1,
        windows=config.windows,
        train_ratio=config.trainRatio,
        anchored=config.anchored,
    )
    return [Window(*(begins[edge] for edge in window)) for window in windows]


def day_edges(market: MarketRows) -> list[int]:
    """Return the first row of each date, and the number of all rows."""
    day = market.day
    edges: list[int] = np.flatnonzero(np.diff(day, prepend=day[0] - 1)).tolist()
    return [*edges, len(day)]


def tested_in_turn(
    windows: Iterable[Tested], test: Callable[[Tested, float], Simulation], capital: float
) -> Iterator[Simulation]:
    """Yield the test of each window, from the equity at the end of the last one; once that is gone
    no further window is tested.
    """
    held = capital
    for window in windows:
        simulation = test(window, held)
        yield simulation
        held = float(simulation.equity[-1])
        if simulation.ruined or held <= 0:
            return


def _simulated(search: GridSearch, index: int, rows: slice, capital: float) -> Simulation:
    return search.simulate_plan(index, rows, capital=capital, report=ignore_progress)


def _joined(tests: Sequence[Simulation], capital: float, data: PreparedData) -> Simulation:
    """Return the joined tests: counts and charges are of all, the rest of the account is the last
    one's.
    """
    account = tests[-1].account.copy()
    for field in ("rejected", "reduced", "waited", "paid"):
        account[field] = sum(test.account[field] for test in tests)
    curve = {
        name: np.concatenate([test.result_data.curve[name] for test in tests])
        for name in ("time", "equity")
    }
    trades = np.concatenate([test.trades for test in tests])
    by_limit, flags = tests[0].result_data.by_limit, tests[0].result_data.flags
    result_data = ResultData(trades, curve, capital, data.candles, by_limit=by_limit, flags=flags)
    return Simulation(result_data, account)


def _trained_again(search: GridSearch, index: int, window: Window, objective: str) -> WindowResults:
    """Return the chosen set's result in training: only the objective of a trial is stored."""
    trained = _simulated(search, index, slice(window.train, window.test), search.capital)
    return _window_summary(trained, objective)


def _window_summary(simulation: Simulation, objective: str) -> WindowResults:
    first, last = wire_times(simulation.time[[0, -1]])
    return {
        "from": first,
        "to": last,
        "objective": objective_of(simulation.result_data, objective),
        "performance": shown(simulation.result_data),
    }
