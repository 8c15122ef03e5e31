"""Searches in our engine: 1,000 pairs of averages, each ranked and deflated as in a study."""

from __future__ import annotations

import gc
from functools import partial

from apps.engine.results.result_data import ResultData
from apps.engine.simulation.charges import NO_CHARGES
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulations import EVERY_ROW, ignore_progress
from apps.engine.simulation.timeline import History
from apps.engine.studies import OptimizationConfig
from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import CACHE_BYTES, GridSearch, search_grid
from apps.engine.studies.optimise import Optimisation
from manage import OBJECTS_BETWEEN_COLLECTIONS
from tests.benchmarks.peers.serve import Work, serve
from tests.benchmarks.peers.with_ours import CAPITAL, history_of, strategy
from tests.engine.whole_studies import optimise

THREADS = 2
PERIOD = "entryConditions.conditions[0].indicator{}.period"
CONFIG = OptimizationConfig.read(
    {
        "objective": "netProfit",
        "parameters": [
            {"path": PERIOD.format(1), "from": 5, "to": 44, "step": 1},
            {"path": PERIOD.format(2), "from": 50, "to": 170, "step": 5},
        ],
    },
)
STEPS = strategy().model_dump(mode="json", exclude_none=True, by_alias=True)
Read = tuple[History, int, int]


def search_over(read: Read) -> GridSearch:
    """Run a search with its data prepared again."""
    history, start, end = read
    data = prepare_data(
        strategy(), [history], start=start, end=end, report=ignore_progress, cache_bytes=CACHE_BYTES
    )
    grid = Grid(CONFIG.parameters)
    return GridSearch(data, STEPS, grid, NO_CHARGES, CAPITAL)


def ranked_sets(path: str, most: int) -> Work:
    """Run only the search: profit and daily returns of each set."""
    read = history_of(path)

    def run() -> int:
        study = Optimisation(CONFIG, strategy(), search_over(read), seed=0)
        return len(study.score(slice(0, most), threads=THREADS, report=ignore_progress))

    return run


def whole_study(path: str) -> Work:
    """Run it with the ranked table and the best set's figures and receipt."""
    history, start, end = history_of(path)

    def run() -> int:
        output = optimise(
            STEPS,
            CONFIG,
            histories=[history],
            start=start,
            end=end,
            capital=CAPITAL,
            threads=THREADS,
        )
        return len(output.result.trades)

    return run


def trades_of_some(path: str) -> Work:
    """Return the trades of the peer's fifty sets: those of the fast averages 5 and 24."""
    search = search_over(history_of(path))

    def traded(facts: ResultData) -> int:
        return len(facts.trades)

    def run() -> int:
        sets = [*range(25), *range(19 * 25, 20 * 25)]
        results = search_grid(
            search, sets, [EVERY_ROW], traded, by_days=True, threads=THREADS, report=ignore_progress
        )
        return sum(result[0] for result in results if result)

    return run


if __name__ == "__main__":
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)  # as a worker does
    serve(
        {
            "search": partial(ranked_sets, most=1_000),
            "tenth": partial(ranked_sets, most=100),
            "study": whole_study,
            "trades": trades_of_some,
        }
    )
