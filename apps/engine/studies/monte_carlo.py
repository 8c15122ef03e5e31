"""Monte Carlo: the trades of a result resampled many times, for the spread of outcomes.

A path starts with the capital and adds the drawn trades' net profits in rupees, one by one, as
traded: nothing is scaled to the path's equity. `shuffle` takes each trade once, in any order;
`bootstrap` draws with replacement (Efron 1979); `block_bootstrap` draws runs of adjacent trades,
with the first following the last (the circular bootstrap of Politis and Romano 1992), which keeps
streaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from apps.engine.errors import EngineError
from apps.engine.kernel.jit import entry_point, step
from apps.engine.kernel.records import Array
from apps.engine.lazy import lazy
from apps.engine.results.drawdowns import max_drawdown
from apps.engine.results.trade_figures import net_profits
from apps.engine.simulation.simulate import SimulationResult
from apps.engine.simulation.simulations import ReportProgress, ignore_progress
from apps.engine.studies.configs import PERCENTILES, MonteCarloConfig
from apps.engine.studies.fan import fan
from apps.engine.studies.figures import AsTraded, MonteCarloResults, Spread
from apps.engine.studies.study import Study, StudyOutput
from apps.engine.units import Unit, rounded

Floats = NDArray[np.float64]

LEAST_TRADES: Final = 2
DRAWS_AT_A_TIME: Final = 10_000_000
"""Trades drawn between two reports of progress: a fraction of a second."""
RESAMPLING_METHODS: Final = ("shuffle", "bootstrap", "block_bootstrap")
SHUFFLE, BOOTSTRAP, _ = range(len(RESAMPLING_METHODS))

# SplitMix64 (Steele, Lea and Flood 2014). The types are written out: an unsigned and a signed
# integer would make a float.
GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
MIX_2: Final = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


class TooFewTrades(EngineError):
    """There is nothing to draw from."""

    def __init__(self, trades: int) -> None:
        super().__init__(f"It makes {trades} trades; {LEAST_TRADES} are needed to draw from.")


class BlockTooLong(EngineError):
    """Every path would have the trades in their order, from another start."""

    def __init__(self, block: int, trades: int) -> None:
        super().__init__(
            f"It makes {trades} trades; blockLength is {block}, and must be less than that."
        )


class PathRules(NamedTuple):
    """The rules for drawing paths: `method` is an index of METHODS, `block` the length of blocks. A
    path is ruined once its equity is `threshold` rupees or less.
    """

    capital: float
    threshold: float
    method: int
    block: int
    seed: np.uint64


class Paths(NamedTuple):
    """For each path: its last equity (rupees), its largest drawdown (a fraction of the running
    peak), and whether it fell to the threshold.
    """

    last: Floats
    drawdown: Floats
    ruined: NDArray[np.bool_]


@step
def mixed(x: np.uint64) -> np.uint64:
    x = (x ^ (x >> _30)) * MIX_1
    x = (x ^ (x >> _27)) * MIX_2
    return x ^ (x >> _31)


@step
def below(n: np.uint64, drawn: np.uint64) -> np.uint64:
    """Return a number of 0 to n - 1 from the high half of a draw (Lemire 2019, without the
    rejection: for n trades of 4 billion the odds differ by n in 4 billion).
    """
    return ((drawn >> _32) * n) >> _32


@entry_point
def draw_paths(profits: Floats, rules: PathRules, first: int, paths: Paths) -> None:
    """Fill the results of the paths `first`, `first` + 1, ...; a path has its own draws, so it is
    the same for any thread.
    """
    trades, unit = np.uint64(profits.size), np.uint64(1)
    order = np.empty(profits.size, np.uint64)
    for path in range(paths.last.size):
        state = rules.seed ^ mixed(np.uint64(first + path + 1) * GOLDEN)
        if rules.method == SHUFFLE:  # Durstenfeld 1964, from the front
            for k in range(trades):
                order[k] = k
            for k in range(trades):
                state += GOLDEN
                j = k + below(trades - k, mixed(state))
                order[k], order[j] = order[j], order[k]
        elif rules.method == BOOTSTRAP:
            for k in range(trades):
                state += GOLDEN
                order[k] = below(trades, mixed(state))
        else:
            j, left = np.uint64(0), 0
            for k in range(trades):
                if left == 0:
                    state += GOLDEN
                    j, left = below(trades, mixed(state)), rules.block
                order[k] = j
                j = j + unit if j + unit < trades else np.uint64(0)
                left -= 1
        equity = peak = rules.capital
        drawdown, ruined = 0.0, False
        for trade in order:
            equity += profits[trade]
            if equity > peak:
                peak = equity
            elif peak - equity > drawdown * peak:
                drawdown = (peak - equity) / peak
            ruined = ruined or equity <= rules.threshold
        paths.last[path], paths.drawdown[path], paths.ruined[path] = equity, drawdown, ruined


def path_rules(
    method: str, *, capital: float, threshold: float = 0.0, block: int = 1, seed: int
) -> PathRules:
    number = RESAMPLING_METHODS.index(method)
    return PathRules(float(capital), float(threshold), number, block, np.uint64(seed))


def paths(
    profits: Floats,
    rules: PathRules,
    items: slice,
    *,
    threads: int = 1,
    report: ReportProgress = ignore_progress,
) -> Paths:
    """Draw the paths of these numbers, each with as many trades as there are.

    `report` gets the fraction done, in the calling thread; its exceptions end the drawing.
    """
    runs = items.stop - items.start
    drawn = Paths(np.empty(runs), np.empty(runs), np.empty(runs, np.bool_))

    def fill(share: slice) -> None:
        last, drawdown, ruined = drawn.last[share], drawn.drawdown[share], drawn.ruined[share]
        draw_paths(profits, rules, items.start + share.start, Paths(last, drawdown, ruined))

    size = max(DRAWS_AT_A_TIME // len(profits), threads)
    with ThreadPoolExecutor(threads) as pool:
        for begin in range(0, runs, size):
            end = min(begin + size, runs)
            edges = np.linspace(begin, end, threads + 1).astype(int).tolist()
            list(pool.map(fill, [slice(*edge) for edge in pairwise(edges)]))
            report(end / runs)
    return drawn


PATH_SCORE: Final = np.dtype([("last", np.float64), ("drawdown", np.float64), ("ruined", np.bool_)])
"""The fields of `Paths` for one of them."""


@dataclass(frozen=True)
class MonteCarlo(Study):
    """The study in parts; its items are the paths. Raises TooFewTrades, BlockTooLong."""

    config: MonteCarloConfig
    result: SimulationResult
    capital: float
    seed: int

    def __post_init__(self) -> None:
        trades = len(self.result.trades)
        if trades < LEAST_TRADES:
            raise TooFewTrades(trades)
        if self.config.method == "block_bootstrap" and self.block >= trades:
            raise BlockTooLong(self.block, trades)

    @property
    def size(self) -> int:
        return self.config.runs

    @lazy
    def profits(self) -> Floats:
        return net_profits(self.result.trades)

    @property
    def block(self) -> int:
        """The number of trades kept together."""
        return self.config.blockLength or usual_block(len(self.result.trades))

    def score(self, items: slice, *, threads: int, report: ReportProgress) -> Array:
        """Return a PATH_SCORE for each."""
        rules = path_rules(
            self.config.method,
            capital=self.capital,
            threshold=self.capital * (1 - self.config.ruinThreshold / 100),
            block=self.block,
            seed=self.seed,
        )
        drawn = paths(self.profits, rules, items, threads=threads, report=report)
        scores = np.empty(len(drawn.last), PATH_SCORE)
        for field, values in drawn._asdict().items():
            scores[field] = values
        return scores

    def conclude(
        self, scores: Array, *, threads: int, report: ReportProgress
    ) -> StudyOutput[MonteCarloResults]:
        """Return the result as traded, and the findings: percentiles of final equity and of
        drawdown, risk of ruin in percent of paths; the chart is the fan.

        A shuffle cannot change the final equity and has none.
        """
        config, profits = self.config, self.profits
        traded = np.cumsum(np.concatenate([[self.capital], profits]))
        is_shuffle = config.method == "shuffle"
        return StudyOutput(
            self.result,
            MonteCarloResults(
                method=config.method,
                runs=config.runs,
                trades=len(profits),
                blockLength=self.block if config.method == "block_bootstrap" else None,
                ruinThreshold=config.ruinThreshold,
                seed=self.seed,
                finalEquity=None if is_shuffle else _in_rupees(_spread(scores["last"])),
                maxDrawdown=_spread(scores["drawdown"] * 100),
                riskOfRuin=float(scores["ruined"].mean() * 100),
                asTraded=AsTraded(
                    finalEquity=rounded(float(traded[-1]), Unit.RUPEES),
                    maxDrawdown=max_drawdown(traded),
                ),
            ),
            fan(
                profits,
                capital=self.capital,
                method=config.method,
                block=self.block,
                seed=self.seed,
            ),
        )


def usual_block(trades: int) -> int:
    """Return the cube root of their number: the growth rate of the best length (Hall, Horowitz and
    Jing 1995).
    """
    return max(1, round(float(np.cbrt(trades))))


def _spread(values: Floats) -> Spread:
    """Return mean and percentiles, interpolated linearly."""
    percentiles: Sequence[float] = np.percentile(values, PERCENTILES).tolist()
    named = {f"p{p}": value for p, value in zip(PERCENTILES, percentiles, strict=True)}
    return cast(Spread, {"mean": float(values.mean()), **named})


def _in_rupees(spread: Spread) -> Spread:
    amounts = cast(dict[str, float], spread)
    return cast(Spread, {name: rounded(value, Unit.RUPEES) for name, value in amounts.items()})


def warm_up() -> None:
    """Compile, or load from the cache."""
    paths(np.ones(2), path_rules("bootstrap", capital=1.0, seed=0), slice(0, 2))
