"""The gain from sharing bars and columns in a search, and from compiling a Monte Carlo."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from apps.engine.candles import ist_day
from apps.engine.language.strategy import parse
from apps.engine.results.result_data import ResultData
from apps.engine.results.table import Figure
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import NO_CHARGES, History, simulate
from apps.engine.simulation.simulations import EVERY_ROW, ignore_progress
from apps.engine.studies import WalkForwardConfig, applied
from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import CACHE_BYTES, GridSearch, objective_of, search_grid
from apps.engine.studies.monte_carlo import RESAMPLING_METHODS, path_rules, paths
from apps.engine.studies.parameters import Parameter
from apps.engine.studies.windows import windows_of
from tests.benchmarks.peers.environments import PeersMissing
from tests.benchmarks.peers.runners import peer, service_runner
from tests.benchmarks.peers.with_ours import CAPITAL, SYMBOL, strategy
from tests.benchmarks.random_candles import candles_file, random_minutes, session_bars
from tests.benchmarks.side_by_side import compare, report
from tests.engine.whole_studies import walk_forward

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

RUNS, TRADES, BLOCK = 10_000, 500, 8
PERIOD = "entryConditions.conditions[0].indicator{}.period"
STEPS = strategy().model_dump(mode="json", exclude_none=True, by_alias=True)


def drawn_in_numpy(profits: np.ndarray, method: str) -> np.ndarray:
    random = np.random.default_rng(1)
    if method == "shuffle":
        return random.permuted(np.tile(profits, (RUNS, 1)), axis=1)
    if method == "bootstrap":
        return profits[random.integers(0, TRADES, (RUNS, TRADES))]
    begins = random.integers(0, TRADES, (RUNS, -(-TRADES // BLOCK)))
    indices = (begins[:, :, np.newaxis] + np.arange(BLOCK)).reshape(RUNS, -1)[:, :TRADES]
    drawn: np.ndarray = profits[indices % TRADES]
    return drawn


def in_numpy(
    profits: np.ndarray, method: str, capital: float, threshold: float
) -> tuple[object, ...]:
    """Compute it in the usual NumPy way: all draws at once, then along each path."""
    drawn = drawn_in_numpy(profits, method)
    equity = np.cumsum(np.hstack([np.full((RUNS, 1), capital), drawn]), axis=1)
    peak = np.maximum.accumulate(equity, axis=1)
    return equity[:, -1], ((peak - equity) / peak).max(axis=1), (equity <= threshold).any(axis=1)


def test_paths_against_numpy() -> None:
    profits = np.random.default_rng(1).normal(50, 1000, TRADES)
    for method in RESAMPLING_METHODS:
        ratio = compare(
            f"{RUNS:,} paths of {TRADES} trades, {method}, compiled against NumPy",
            partial(
                paths,
                profits,
                path_rules(method, capital=1e6, threshold=5e5, block=BLOCK, seed=1),
                slice(0, RUNS),
                threads=2,
            ),
            partial(in_numpy, profits, method, 1e6, 5e5),
            rounds=7,
        )
        assert ratio > 0


def crossings(slowest: int) -> list[dict[str, object]]:
    """Return eight fast averages with slow ones from 20 on, in tens."""
    return [
        {"path": PERIOD.format(1), "from": 5, "to": 12, "step": 1},
        {"path": PERIOD.format(2), "from": 20, "to": slowest, "step": 10},
    ]


def stops_by_range() -> dict[str, object]:
    """Return the steps, stopped by a multiple of the average true range."""
    stop = {"type": "atr", "atrPeriod": 14, "atrMultiplier": 2}
    return {**STEPS, "exitConditions": {**STEPS["exitConditions"], "stopLoss": stop}}


MULTIPLES = [
    {"path": PERIOD.format(2), "from": 20, "to": 60, "step": 10},
    {"path": "exitConditions.stopLoss.atrMultiplier", "from": 1, "to": 4.5, "step": 0.5},
]


@pytest.mark.parametrize(
    ("steps", "parameters", "text"),
    [(STEPS, crossings(60), "sets"), (stops_by_range(), MULTIPLES, "sets with stops by range")],
)
def test_a_search_against_one_simulation_after_another(
    steps: dict[str, object], parameters: list[dict[str, object]], text: str
) -> None:
    """40 of each over 100,000 minutes, ranked by profit."""
    history = History(SYMBOL, random_minutes(100_000))
    grid = Grid(tuple(map(Parameter.model_validate, parameters)))

    def judge(facts: ResultData) -> Figure:
        return objective_of(facts, "netProfit")

    def shared() -> object:
        data = prepare_data(
            parse(steps),
            [history],
            start=0,
            end=2**40,
            report=ignore_progress,
            cache_bytes=CACHE_BYTES,
        )
        search = GridSearch(data, steps, grid, NO_CHARGES, CAPITAL)
        return search_grid(
            search,
            range(grid.size),
            [EVERY_ROW],
            judge,
            by_days=True,
            threads=2,
            report=ignore_progress,
        )

    def alone() -> object:
        return [
            simulate(
                parse(applied(steps, grid.values(index))),
                [history],
                start=0,
                end=2**40,
                capital=CAPITAL,
            ).performance["netProfit"]
            for index in range(grid.size)
        ]

    name = f"{grid.size} {text} over 100,000 minutes, one search against as many backtests"
    assert compare(name, shared, alone, rounds=5) > 0


def test_a_walk_forward_against_one_simulation_after_another() -> None:
    """Each set is trained in each window, and the best of a window is tested in the
    following days.
    """
    candles = session_bars(267).slice(0, 100_000)
    config = WalkForwardConfig.read(
        {"windows": 5, "parameters": crossings(40), "objective": "netProfit"},
    )
    grid, histories = Grid(config.parameters), [History(SYMBOL, candles)]
    opens = candles.time[np.flatnonzero(np.diff(ist_day(candles.time), prepend=0))].tolist()
    edges = [*opens, 2**40]
    windows = windows_of(
        len(opens), windows=config.windows, train_ratio=config.trainRatio, anchored=config.anchored
    )

    def walked() -> object:
        return walk_forward(
            STEPS, config, histories=histories, start=0, end=2**40, capital=CAPITAL, threads=2
        )

    def alone() -> object:
        strategies = [parse(applied(STEPS, grid.values(index))) for index in range(grid.size)]
        trained = [
            (strategy, window.train, window.test) for window in windows for strategy in strategies
        ]
        tested = [(strategies[0], window.test, window.end) for window in windows]
        return [
            simulate(strategy, histories, start=edges[first], end=edges[end], capital=CAPITAL)
            for strategy, first, end in trained + tested
        ]

    name = (
        f"{grid.size} sets in {len(windows)} windows of 100,000 minutes,"
        " a walk-forward against as many backtests"
    )
    assert compare(name, walked, alone, rounds=3) > 0


def test_a_search_against_vectorbt(tmp_path: Path) -> None:
    """Elapsed time of two threads; vectorbt runs 50 sets at once, on one thread, and is
    extrapolated.

    Both begin with candles and end with trades and equity of each set.
    """
    path, sets = candles_file(tmp_path, 100_000), 1000
    with ExitStack() as processes:
        try:
            vectorbt = processes.enter_context(peer("vectorbt"))
        except PeersMissing as missing:
            pytest.skip(str(missing))
        runner = processes.enter_context(service_runner("with_our_search"))
        turns = [
            (
                runner.measure("search", path),
                runner.measure("study", path),
                vectorbt.measure("sweep", path),
            )
            for _ in range(3)
        ]
        traded = runner.measure("trades", path).trades
    searched, studied, fifty = zip(*turns, strict=True)
    counted_up = [measured.seconds * sets / 50 for measured in fifty]
    name = "1,000 sets over 100,000 minutes on 2 threads, {} against vectorbt, counted up from 50"
    report(name.format("searched"), [measured.elapsed for measured in searched], counted_up)
    report(name.format("a whole study"), [measured.elapsed for measured in studied], counted_up)
    assert traded == pytest.approx(fifty[0].trades, rel=0.05)
    print(
        f"{traded:,} trades of fifty sets and {fifty[0].trades:,};"
        f" {searched[0].seconds:.2f} s of processor time;"
        f" at most {studied[-1].megabytes:,.0f} MB and {fifty[-1].megabytes:,.0f} MB"
    )
