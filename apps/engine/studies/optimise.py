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
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import SimulationResult, charged, result_of
from apps.engine.simulation.simulations import EVERY_ROW, ReportProgress, ignore_progress
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
    on_progress: ReportProgress = ignore_progress,
) -> tuple[SimulationResult, dict[str, object]]:
    """The best set's result, and the findings: what was tried, the ranked table, the deflation.

    `steps` are complete; `seed` draws the sets of a random search. Raises NothingToTry, TooShort
    and what `simulate` raises. Any: JSON as the client wrote it.
    """
    strategy = parse(steps)
    data = prepare_data(
        strategy, histories, start=start, end=end, report=on_progress, cache_bytes=CACHE_BYTES
    )
    grid = Grid(config.parameters)
    search = GridSearch(data, steps, grid, charged(strategy, schedule), capital)
    indices = grid.drawn(config.maxRuns, seed=seed)
    require_days(data.market, [EVERY_ROW], config.objective)
    judged = searched(search, config, indices, threads, on_progress)
    if not judged:
        raise NothingToTry(len(indices))
    ranked = rank({i: judgement.objective for i, judgement in judged.items()}, config.objective)
    best = search.simulate_plan(ranked[0], report=ignore_progress)
    ratios = [judgement.sharpe for judgement in judged.values() if judgement.sharpe is not None]
    return result_of(strategy, data, search.schedule, best, capital=capital, seed=seed), {
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
    report: ReportProgress,
) -> dict[int, Judged]:
    """The sets that can run, by number."""

    def judge(result_data: ResultData) -> Judged:
        return Judged(objective_of(result_data, config.objective), result_data.sharpe)

    judgements = search_grid(
        search,
        indices,
        [EVERY_ROW],
        judge,
        by_days=not METRICS[config.objective].within_days,
        threads=threads,
        report=lambda done: report(SHARE_OF_SEARCH * done),
    )
    return {
        i: judgement[0]
        for i, judgement in zip(indices, judgements, strict=True)
        if judgement is not None
    }


def _table(
    search: GridSearch,
    ranked: Sequence[int],
    judged: Mapping[int, Judged],
    threads: int,
    report: ReportProgress,
) -> list[dict[str, object]]:
    """The best sets, each with a few figures, for which it is played once more."""
    positions = {index: position for position, index in enumerate(ranked)}
    best = ranked[:MOST_SHOWN]
    judgements = search_grid(
        search,
        best,
        [EVERY_ROW],
        shown,
        threads=threads,
        report=lambda done: report(SHARE_OF_SEARCH + (1 - SHARE_OF_SEARCH) * done),
    )
    return [
        {
            "rank": position + 1,
            "parameters": search.grid.values(index),
            "objective": judged[index].objective,
            "plateau": plateau(search.grid, index, positions),
            "performance": figures,
        }
        for position, (index, (figures,)) in enumerate(
            zip(best, filter(None, judgements), strict=True)
        )
    ]


def plateau(grid: Grid, index: int, positions: Mapping[int, int]) -> float | None:
    """The share of the other sets that a neighbour of this one beats, on average.

    Near 1 the set stands on a plateau, and a little error in it costs little; near 0 it is a lone
    peak, which is what luck looks like. It speaks of places in the ranking, so it is free of the
    objective's unit and sign. None where no neighbour was tried.
    """
    near = [positions[neighbour] for neighbour in grid.neighbours(index) if neighbour in positions]
    if not near:
        return None
    other_sets = len(positions) - 1
    return sum(other_sets - position for position in near) / (other_sets * len(near))
