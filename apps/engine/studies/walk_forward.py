"""Walk-forward: parameters chosen on each window's training days, traded on the days after them.

The trades and the curve are those of the test days alone, joined: what the way of choosing would
have earned, not what the chosen did where they were chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from apps.engine.charges import NO_CHARGES, Schedule
from apps.engine.language.strategy import parse
from apps.engine.metrics.result_data import ResultData
from apps.engine.metrics.table import METRICS, Figure
from apps.engine.simulation.prepared_data import PreparedData, prepare_data
from apps.engine.simulation.results import curve_points, wire_times
from apps.engine.simulation.simulate import SimulationResult, charged, result_of
from apps.engine.simulation.simulations import ReportProgress, Simulation, ignore_progress
from apps.engine.simulation.timeline import History
from apps.engine.studies.configs import WalkForwardConfig
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
from apps.engine.studies.windows import Window, windows_of

POINTS: Final = 50
"""Of the joined equity that stands beside the windows; the whole curve is the result's own."""
SHARE_OF_TRAINING: Final = 0.9
"""Of the progress; the rest is the tests."""


def walk_forward(
    steps: Mapping[str, Any],
    config: WalkForwardConfig,
    *,
    histories: Sequence[History],
    start: int,
    end: int,
    capital: float,
    schedule: Schedule = NO_CHARGES,
    seed: int = 0,
    threads: int = 1,
    on_progress: ReportProgress = ignore_progress,
) -> tuple[SimulationResult, dict[str, object]]:
    """The joined tests as a result, and the findings: one row a window, and the joined equity.

    Each training starts from the capital, each test flat with the equity that the last one ended
    with; once that is gone no further window is tested. Raises TooFewSessions, TooShort,
    NothingToTry and what `simulate` raises. Any: JSON as the client wrote it.
    """
    strategy = parse(steps)
    data = prepare_data(
        strategy, histories, start=start, end=end, report=on_progress, cache_bytes=CACHE_BYTES
    )
    grid = Grid(config.parameters)
    search = GridSearch(data, steps, grid, charged(strategy, schedule), capital)
    windows = _rows(data, config)
    trained = [slice(window.train, window.test) for window in windows]
    require_days(data.market, trained, config.objective)
    chosen = _trained(search, config, trained, threads, on_progress)
    tests: list[Simulation] = []
    rows, held = [], capital
    for window, index in zip(windows, chosen, strict=True):
        test = _simulated(search, index, slice(window.test, window.end), held)
        rows.append(
            {
                "parameters": grid.values(index),
                "inSample": _trained_again(search, index, window, config.objective),
                "outOfSample": _window_summary(test, config.objective),
            }
        )
        tests.append(test)
        held = float(test.equity[-1])
        on_progress(SHARE_OF_TRAINING + (1 - SHARE_OF_TRAINING) * len(tests) / len(windows))
        if test.ruined or held <= 0:
            break
    simulation = _joined(tests, capital, data)
    result = result_of(strategy, data, search.schedule, simulation, capital=capital, seed=seed)
    return result, {
        "objective": config.objective,
        "anchored": config.anchored,
        "trainRatio": config.trainRatio,
        "sets": grid.size,
        "windows": rows,
        "equity": curve_points(result.curve, POINTS),
    }


def _rows(data: PreparedData, config: WalkForwardConfig) -> list[Window]:
    """The windows in rows of the market; a session day is a date that has one."""
    day = data.market.day
    begins = np.append(np.flatnonzero(np.diff(day, prepend=day[0] - 1)), len(day)).tolist()
    windows = windows_of(
        len(begins) - 1,
        windows=config.windows,
        train_ratio=config.trainRatio,
        anchored=config.anchored,
    )
    return [Window(*(begins[edge] for edge in window)) for window in windows]


def _trained(
    search: GridSearch,
    config: WalkForwardConfig,
    trained: Sequence[slice],
    threads: int,
    report: ReportProgress,
) -> list[int]:
    """The best set of each window. A set is read once for all of them (rule 11 lets it be)."""
    indices = range(search.grid.size)

    def judge(result_data: ResultData) -> Figure:
        return objective_of(result_data, config.objective)

    judgements = search_grid(
        search,
        indices,
        trained,
        judge,
        by_days=not METRICS[config.objective].within_days,
        threads=threads,
        report=lambda done: report(SHARE_OF_TRAINING * done),
    )
    judged = {
        index: judgement
        for index, judgement in zip(indices, judgements, strict=True)
        if judgement is not None
    }
    if not judged:
        raise NothingToTry(len(indices))
    return [
        rank({index: judgement[position] for index, judgement in judged.items()}, config.objective)[
            0
        ]
        for position in range(len(trained))
    ]


def _simulated(search: GridSearch, index: int, rows: slice, capital: float) -> Simulation:
    return search.simulate_plan(index, rows, capital=capital, report=ignore_progress)


def _joined(tests: Sequence[Simulation], capital: float, data: PreparedData) -> Simulation:
    """What is rejected and paid is that of all, the rest of the account that of the last."""
    account = tests[-1].account.copy()
    for field in ("rejected", "paid"):
        account[field] = sum(test.account[field] for test in tests)
    curve = {
        name: np.concatenate([test.result_data.curve[name] for test in tests])
        for name in ("time", "equity")
    }
    trades = np.concatenate([test.trades for test in tests])
    by_limit, flags = tests[0].result_data.by_limit, tests[0].result_data.flags
    result_data = ResultData(trades, curve, capital, data.candles, by_limit=by_limit, flags=flags)
    return Simulation(result_data, account)


def _trained_again(
    search: GridSearch, index: int, window: Window, objective: str
) -> dict[str, object]:
    """What the chosen set did where it was chosen: of all that were tried only the objective is
    kept.
    """
    trained = _simulated(search, index, slice(window.train, window.test), search.capital)
    return _window_summary(trained, objective)


def _window_summary(simulation: Simulation, objective: str) -> dict[str, object]:
    first, last = wire_times(simulation.time[[0, -1]])
    return {
        "from": first,
        "to": last,
        "objective": objective_of(simulation.result_data, objective),
        "performance": shown(simulation.result_data),
    }
