"""Optimisation: sets of parameters over the whole range, ranked, with the reliability of the
choice.

The best of many is partly the best by luck. Three figures measure that: the deflated Sharpe ratio
over all tried sets, the probability of backtest overfitting, and each shown set's plateau.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.kernel.records import Array
from apps.engine.language.strategy import Strategy
from apps.engine.lazy import lazy
from apps.engine.results.equity import day_ends
from apps.engine.results.result_data import ResultData
from apps.engine.results.sharpe import deflated
from apps.engine.results.table import METRICS, Figure
from apps.engine.simulation.simulate import result_of
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.simulations import EVERY_ROW, ReportProgress, ignore_progress
from apps.engine.studies.configs import OptimizationConfig
from apps.engine.studies.figures import (
    Deflation,
    OptimizationResults,
    OverfittingFigures,
    RankedSet,
)
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
from apps.engine.studies.heat_map import heat_map
from apps.engine.studies.overfitting import (
    BLOCKS,
    LEAST_SETS,
    BlockSums,
    block_sums,
    days_of_blocks,
    overfitting,
    sampled_sets,
)
from apps.engine.studies.study import Study, StudyOutput

Items = NDArray[np.intp]

MOST_SHOWN: Final = 50
"""Sets in the ranked table."""
SCORE: Final = np.dtype(
    [
        ("ran", np.bool_),
        ("objective", np.float64),
        ("whole", np.bool_),
        ("sharpe", np.float64),
        ("sums", np.float32, BLOCKS),
        ("squares", np.float32, BLOCKS),
    ]
)
"""Of each set: whether it can run, what it is ranked by, whether that is a whole number, the Sharpe
ratio of its daily returns, and their sums and sums of squares by blocks of days (as `BlockSums`).
NaN stands for None.
"""


@dataclass(frozen=True)
class Optimisation(Study):
    """The search of a grid as a study in parts; its items are the drawn sets."""

    config: OptimizationConfig
    strategy: Strategy
    search: GridSearch
    seed: int

    @classmethod
    def prepare(
        cls,
        inputs: SimulationInput,
        config: OptimizationConfig,
        *,
        on_progress: ReportProgress = ignore_progress,
    ) -> Optimisation:
        """Prepare the bars.

        The seed draws the sets of a random search. Raises TooShort and the errors of
        `prepare_data`.
        """
        data = inputs.prepare(on_progress, cache_bytes=CACHE_BYTES)
        require_days(data.market, [EVERY_ROW], config.objective)
        grid = Grid(config.parameters, inputs.steps)
        search = GridSearch(data, inputs.steps, grid, inputs.charges, inputs.capital)
        return cls(config, inputs.strategy, search, inputs.seed)

    @lazy
    def indices(self) -> Sequence[int]:
        """The tried sets, by number."""
        return self.search.grid.drawn(self.config.maxRuns, seed=self.seed)

    @property
    def size(self) -> int:
        return len(self.indices)

    @lazy
    def _days(self) -> int:
        """The number of dates with a row; each has a daily return."""
        return len(day_ends(self.search.data.market.time))

    def score(self, items: slice, *, threads: int, report: ReportProgress) -> Array:
        """Return a SCORE of each set."""
        objective, days = self.config.objective, self._days

        def judge(result_data: ResultData) -> tuple[Figure, float | None, BlockSums | None]:
            daily = result_data.daily
            blocks = None
            if len(daily) and days >= BLOCKS:
                returns = np.zeros((1, days))  # on the days after its last, if it is ruined early
                returns[0, : len(daily)] = daily
                blocks = block_sums(returns)
            return objective_of(result_data, objective), result_data.sharpe, blocks

        judgements = search_grid(
            self.search,
            self.indices[items],
            [EVERY_ROW],
            judge,
            by_days=not METRICS[objective].within_days,
            threads=threads,
            report=report,
        )
        scores = np.zeros(len(judgements), SCORE)
        for field in ("objective", "sharpe", "sums", "squares"):
            scores[field] = np.nan
        for score, judgement in zip(scores, judgements, strict=True):
            if judgement is not None:
                ((figure, sharpe, blocks),) = judgement
                score["ran"], score["whole"] = True, isinstance(figure, int)
                score["objective"] = np.nan if figure is None else figure
                score["sharpe"] = np.nan if sharpe is None else sharpe
                if blocks is not None:
                    score["sums"], score["squares"] = blocks.sums[0], blocks.squares[0]
        return scores

    def conclude(
        self, scores: Array, *, threads: int, report: ReportProgress
    ) -> StudyOutput[OptimizationResults]:
        """Return the best set's result, and the findings: the trials, the ranked table, the
        deflation, the probability of overfitting; the chart is the heat map. Raises NothingToTry.
        """
        search, config = self.search, self.config
        ran = np.flatnonzero(scores["ran"])
        if not len(ran):
            raise NothingToTry(self.size)
        ranked = ran[rank(scores["objective"][ran], config.objective)]
        best = search.simulate_plan(self.indices[ranked[0]], report=ignore_progress)
        ratios = scores["sharpe"][~np.isnan(scores["sharpe"])].tolist()
        result = result_of(
            self.strategy,
            search.data,
            search.schedule,
            best,
            capital=search.capital,
            seed=self.seed,
        )
        return StudyOutput(
            result,
            OptimizationResults(
                objective=config.objective,
                method=config.method,
                sets=search.grid.size,
                tried=len(ran),
                invalid=self.size - len(ran),
                deflation=Deflation(
                    **deflated(best.result_data.sharpe_estimate, ratios),
                    days=len(best.result_data.daily),
                ),
                overfitting=self._overfitting(scores, int(ranked[0]), threads),
                ranking=self._table(scores, ranked, threads, report),
            ),
            self._chart(scores, ran),
        )

    def _chart(self, scores: Array, ran: Items) -> dict[str, object] | None:
        tried = [self.indices[item] for item in ran.tolist()]
        objectives = scores["objective"][ran]
        return heat_map(self.search.grid, tried, objectives, objective=self.config.objective)

    def _overfitting(self, scores: Array, winner: int, threads: int) -> OverfittingFigures | None:
        """Return the probability that the choice is overfitted; None with fewer days than blocks,
        or with too few sets with daily returns, which a set without equity above 0 lacks.
        """
        compared = np.flatnonzero(~np.isnan(scores["sums"][:, 0]))
        if len(compared) < LEAST_SETS:
            return None
        position = min(int(np.searchsorted(compared, winner)), len(compared) - 1)
        chosen = compared[sampled_sets(len(compared), position, seed=self.seed)]
        sums, squares = scores["sums"][chosen], scores["squares"][chosen]
        blocks = BlockSums(days_of_blocks(self._days), sums, squares)
        return overfitting(blocks, threads=threads).figures()

    def _table(
        self, scores: Array, ranked: Items, threads: int, report: ReportProgress
    ) -> list[RankedSet]:
        """Return the best sets, with a few figures from another simulation of each."""
        grid = self.search.grid
        positions = np.full(self.size, -1)
        positions[ranked] = distinct_positions(scores[ranked])
        results = int(positions.max()) + 1
        best = [self.indices[item] for item in ranked[:MOST_SHOWN]]
        judgements = search_grid(
            self.search, best, [EVERY_ROW], shown, threads=threads, report=report
        )
        return [
            {
                "rank": position + 1,
                "parameters": grid.values(index),
                "objective": objective_in(scores[ranked[position]]),
                "plateau": plateau(self._positions_near(index, positions), results),
                "performance": figures,
            }
            for position, (index, (figures,)) in enumerate(
                zip(best, filter(None, judgements), strict=True)
            )
        ]

    def _positions_near(self, index: int, positions: Items) -> set[int]:
        """Return the positions of the tried neighbours with another result."""
        items = (self._item_of(near) for near in [index, *self.search.grid.neighbours(index)])
        position, *near = (-1 if item is None else int(positions[item]) for item in items)
        return set(near) - {-1, position}

    def _item_of(self, index: int) -> int | None:
        """Return the index of a set among the ascending drawn ones."""
        item = bisect_left(self.indices, index)
        return item if item < self.size and self.indices[item] == index else None


def objective_in(score: Array) -> Figure:
    """Return the objective of a SCORE, in its original type."""
    figure = float(score["objective"])
    if isnan(figure):
        return None
    return int(figure) if score["whole"] else figure


def distinct_positions(ranked: Array) -> Items:
    """Return the position of each SCORE's result among the distinct ones; `ranked` are in order.

    Two results count as equal if their objective and their Sharpe ratio are equal.
    """
    results = np.stack([ranked["objective"], ranked["sharpe"]], axis=1)
    _, firsts, numbers = np.unique(
        np.nan_to_num(results, nan=np.inf), axis=0, return_index=True, return_inverse=True
    )
    return np.argsort(np.argsort(firsts))[numbers]


def plateau(near: Collection[int], results: int) -> float | None:
    """Return the share of the other results that a neighbour beats, on average; `near` are the
    neighbours' positions among the distinct results, from 0, the best first.

    Near 1 the set is on a plateau, and a small error in it costs little; near 0 it is an isolated
    peak, the look of luck. It uses ranks, so it is independent of the objective's unit and sign.
    None if no neighbour with another result was tried.
    """
    if not near:
        return None
    last = results - 1
    return sum(last - position for position in near) / (last * len(near))
