"""Optimisation: sets of parameters over the whole range, ranked, with what the choice is worth.

The best of many is the best by luck too. Two figures say how much: the deflated Sharpe ratio over
all sets that were tried, and each shown set's plateau.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from apps.engine.charges import NO_CHARGES, Schedule
from apps.engine.language.strategy import parse
from apps.engine.metrics.result_data import ResultData
from apps.engine.metrics.sharpe import deflated
from apps.engine.metrics.table import METRICS, Figure
from apps.engine.simulation.simulations import EVERY_ROW, Progress, to_nobody
from apps.engine.simulation.simulate import Result, charged, result_of
from apps.engine.simulation.prepared_data import stage_of
from apps.engine.simulation.timeline import History
from apps.engine.studies.configs import OptimizationConfig
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

MOST_SHOWN: Final = 50
"""Sets in the ranked table."""
SHARE_OF_SEARCH: Final = 0.9
"""Of the progress; the rest is telling of the best."""


class Judged(NamedTuple):
    """Of one set: what it is ranked by, and the Sharpe ratio of its daily returns."""

    objective: Figure
    sharpe: float | None


def optimise(
    steps: Mapping[str, Any],
    config: OptimizationConfig,
    *,
    histories: Sequence[History],
    start: int,
    end: int,
    capital: float,
    schedule: Schedule = NO_CHARGES,
    seed: int = 0,
    threads: int = 1,
    on_progress: Progress = to_nobody,
) -> tuple[Result, dict[str, object]]:
    """The best set's result, and the findings: what was tried, the ranked table, the deflation.

    `steps` are complete; `seed` draws the sets of a random search. Raises NothingToTry, TooShort
    and what `simulate` raises. Any: JSON as the client wrote it.
    """
    strategy = parse(steps)
    stage = stage_of(
        strategy, histories, start=start, end=end, report=on_progress, cache_bytes=CACHE_BYTES
    )
    grid = Grid(config.parameters)
    search = GridSearch(stage, steps, grid, charged(strategy, schedule), capital)
    indices = grid.drawn(config.maxRuns, seed=seed)
    require_days(stage.market, [EVERY_ROW], config.objective)
    judged = searched(search, config, indices, threads, on_progress)
    if not judged:
        raise NothingToTry(len(indices))
    ranked = rank({i: one.objective for i, one in judged.items()}, config.objective)
    best = search.play(ranked[0], report=to_nobody)
    ratios = [one.sharpe for one in judged.values() if one.sharpe is not None]
    return result_of(strategy, stage, search.schedule, best, capital=capital, seed=seed), {
        "objective": config.objective,
        "method": config.method,
        "sets": grid.size,
        "tried": len(judged),
        "invalid": len(indices) - len(judged),
        "deflation": {
            **deflated(best.result_data.sharpe_estimate, ratios),
            "days": len(best.result_data.daily),
        },
        "ranking": _table(search, ranked, judged, threads, on_progress),
    }


def searched(
    search: GridSearch,
    config: OptimizationConfig,
    indices: Sequence[int],
    threads: int,
    report: Progress,
) -> dict[int, Judged]:
    """The sets that can run, by number."""

    def judge(result_data: ResultData) -> Judged:
        return Judged(objective_of(result_data, config.objective), result_data.sharpe)

    found = search_grid(
        search,
        indices,
        [EVERY_ROW],
        judge,
        by_days=not METRICS[config.objective].within_days,
        threads=threads,
        report=lambda done: report(SHARE_OF_SEARCH * done),
    )
    return {i: one[0] for i, one in zip(indices, found, strict=True) if one is not None}


def _table(
    search: GridSearch,
    ranked: Sequence[int],
    judged: Mapping[int, Judged],
    threads: int,
    report: Progress,
) -> list[dict[str, object]]:
    """The best sets, each with a few figures, for which it is played once more."""
    places = {index: place for place, index in enumerate(ranked)}
    best = ranked[:MOST_SHOWN]
    found = search_grid(
        search,
        best,
        [EVERY_ROW],
        shown,
        threads=threads,
        report=lambda done: report(SHARE_OF_SEARCH + (1 - SHARE_OF_SEARCH) * done),
    )
    return [
        {
            "rank": place + 1,
            "parameters": search.grid.values(index),
            "objective": judged[index].objective,
            "plateau": plateau(search.grid, index, places),
            "performance": figures,
        }
        for place, (index, (figures,)) in enumerate(zip(best, filter(None, found), strict=True))
    ]


def plateau(grid: Grid, index: int, places: Mapping[int, int]) -> float | None:
    """The share of the other sets that a neighbour of this one beats, on average.

    Near 1 the set stands on a plateau, and a little error in it costs little; near 0 it is a lone
    peak, which is what luck looks like. It speaks of places in the ranking, so it is free of the
    objective's unit and sign. None where no neighbour was tried.
    """
    near = [places[neighbour] for neighbour in grid.neighbours(index) if neighbour in places]
    if not near:
        return None
    others = len(places) - 1
    return sum(others - place for place in near) / (others * len(near))
