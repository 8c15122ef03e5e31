"""The probability that the best set of a study is best by chance.

The probability of backtest overfitting by combinatorially symmetric cross-validation: Bailey,
Borwein, Lopez de Prado and Zhu, "The Probability of Backtest Overfitting", Journal of Computational
Finance 20 (4), 2017. The days are cut into blocks, and each half of the blocks is in sample once,
the other half out of sample. Sets are compared by their daily Sharpe ratios, computed from the sums
and the sums of squares of the blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.kernel.jit import entry_point, step
from apps.engine.results.sharpe import SAME
from apps.engine.studies.figures import OverfittingFigures
from apps.engine.units import Unit, rounded

Floats = NDArray[np.float64]
Sums = NDArray[np.float32]

BLOCKS: Final = 16
LEAST_SETS, MOST_SETS = 20, 10_000
"""Of fewer sets nothing is said; of more a sample is looked at."""
ONE_DAY, NO_RATIO = np.float32(1), np.float32(0)


class BlockSums(NamedTuple):
    """`days` of each block, common to all sets, and f4[sets, blocks] the sums and the sums of
    squares of their daily returns: 128 bytes a set, enough for seven digits of a Sharpe ratio.
    """

    days: NDArray[np.int64]
    sums: Sums
    squares: Sums


class SubsetSums(NamedTuple):
    """Sums of blocks, f4[subsets, sets], and f4[sets] of `all` blocks.

    They cover all subsets of the `first` and of the `last` half of the blocks, by the bits of a
    number, so any subset takes one addition.
    """

    first: Sums
    last: Sums
    all: Sums


class Halves(NamedTuple):
    """For each split: the blocks in sample, as the bits of a number, and the days in and out of
    sample.
    """

    blocks: NDArray[np.int64]
    days_inside: Sums
    days_outside: Sums


class Splits(NamedTuple):
    """For each split the best set in sample: its daily Sharpe ratio there and out of sample, and
    its rank out of sample, 1 for the worst (ties have the mean).
    """

    in_sample: Floats
    out_of_sample: Floats
    rank: Floats


class Overfitting(NamedTuple):
    """The overfitting of a study.

    `probability`: the share of the splits in which the best set in sample is not above the median
    out of sample. `loss`: the share in which it loses there. `in_sample` and `out_of_sample` are
    the medians of its daily Sharpe ratio; `degradation` is the slope of the line through the pairs,
    out of sample over in sample; None if all are equal in sample.
    """

    sets: int
    splits: int
    probability: float
    loss: float
    in_sample: float
    out_of_sample: float
    degradation: float | None

    def figures(self) -> OverfittingFigures:
        """Return the figures in wire form."""
        return OverfittingFigures(
            sets=self.sets,
            splits=self.splits,
            probability=rounded(self.probability, Unit.RATIO),
            probabilityOfLoss=rounded(self.loss, Unit.RATIO),
            sharpeRatioInSample=rounded(self.in_sample, Unit.RATIO),
            sharpeRatioOutOfSample=rounded(self.out_of_sample, Unit.RATIO),
            degradation=(
                None if self.degradation is None else rounded(self.degradation, Unit.RATIO)
            ),
        )

    @classmethod
    def of_figures(cls, figures: Mapping[str, Any]) -> Overfitting:
        """Return the overfitting with these `figures`. Any: JSON as stored."""
        return cls(
            figures["sets"],
            figures["splits"],
            figures["probability"],
            figures["probabilityOfLoss"],
            figures["sharpeRatioInSample"],
            figures["sharpeRatioOutOfSample"],
            figures["degradation"],
        )


def block_sums(returns: Floats, blocks: int = BLOCKS) -> BlockSums:
    """Return the sums of daily returns f8[sets, days], in blocks as even as possible; at least as
    many days as blocks.
    """
    days = days_of_blocks(returns.shape[1], blocks)
    edges = np.cumsum(days) - days
    sums = np.add.reduceat(returns, edges, axis=1)
    squares = np.add.reduceat(returns * returns, edges, axis=1)
    return BlockSums(days, sums.astype(np.float32), squares.astype(np.float32))


@cache
def days_of_blocks(days: int, blocks: int = BLOCKS) -> NDArray[np.int64]:
    """Return the number of days in each block."""
    return np.diff(np.arange(blocks + 1) * days // blocks)


def sampled_sets(sets: int, winner: int, *, seed: int, most: int = MOST_SETS) -> NDArray[np.int64]:
    """Return this many of the sets at random, the winner among them, in their order."""
    if sets <= most:
        return np.arange(sets)
    losers = np.random.default_rng(seed).choice(sets - 1, most - 1, replace=False)
    return np.sort(np.append(losers + (losers >= winner), winner))


@step
def _ratio(total: np.float32, square: np.float32, days: np.float32) -> np.float32:
    """Return the Sharpe ratio over this many days, by the sample deviation."""
    mean = total / days
    variance = (square - total * mean) / (days - ONE_DAY)
    return mean / np.sqrt(variance) if variance > 0 else NO_RATIO


@entry_point
def compare_splits(halves: Halves, sums: SubsetSums, squares: SubsetSums, splits: Splits) -> None:
    """Fill in the results of the best set of each split."""
    subsets, sets = sums.first.shape
    inside, outside = np.empty(sets, np.float32), np.empty(sets, np.float32)
    for split in range(halves.blocks.size):
        first, last = halves.blocks[split] % subsets, halves.blocks[split] // subsets
        count, other = halves.days_inside[split], halves.days_outside[split]
        for k in range(sets):
            total = sums.first[first, k] + sums.last[last, k]
            square = squares.first[first, k] + squares.last[last, k]
            inside[k] = _ratio(total, square, count)
            outside[k] = _ratio(sums.all[k] - total, squares.all[k] - square, other)
        best = 0
        for k in range(sets):
            if inside[k] > inside[best]:
                best = k
        below = equal = 0
        for k in range(sets):
            below += outside[k] < outside[best]
            equal += outside[k] == outside[best]
        splits.in_sample[split], splits.out_of_sample[split] = inside[best], outside[best]
        splits.rank[split] = below + (equal + 1) / 2


def cross_validated(blocks: BlockSums, *, threads: int = 1) -> Splits:
    """Return the results of the best set of each split; of at least two sets.

    A set that never varies has a ratio of 0.
    """
    chosen = _halves(len(blocks.days))
    is_inside = chosen[:, np.newaxis] >> np.arange(len(blocks.days)) & 1
    days = (is_inside @ blocks.days).astype(np.float32)
    days_outside = np.float32(blocks.days.sum()) - days
    splits = Splits(*np.empty((3, len(chosen))))
    sums, squares = _subset_sums(blocks.sums), _subset_sums(blocks.squares)

    def compare(share: slice) -> None:
        halves = Halves(chosen[share], days[share], days_outside[share])
        compare_splits(halves, sums, squares, Splits(*(column[share] for column in splits)))

    edges = np.linspace(0, len(chosen), threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(compare, [slice(*edge) for edge in pairwise(edges)]))
    return splits


def overfitting(blocks: BlockSums, *, threads: int = 1) -> Overfitting:
    """Return the figures over all splits of at least two sets."""
    splits, sets = cross_validated(blocks, threads=threads), len(blocks.sums)
    return Overfitting(
        sets=sets,
        splits=len(splits.rank),
        probability=float((splits.rank <= (sets + 1) / 2).mean()),
        loss=float((splits.out_of_sample < 0).mean()),
        in_sample=float(np.median(splits.in_sample)),
        out_of_sample=float(np.median(splits.out_of_sample)),
        degradation=_slope(splits.in_sample, splits.out_of_sample),
    )


@cache
def _halves(blocks: int) -> NDArray[np.int64]:
    """Return the blocks in sample in each split, as the bits of a number."""
    return np.array(
        [sum(1 << block for block in half) for half in combinations(range(blocks), blocks // 2)]
    )


def _subset_sums(blocks: Sums) -> SubsetSums:
    """Return the sums of all subsets of f4[sets, blocks]."""
    half = blocks.shape[1] // 2
    first, last = _sums_of_subsets(blocks.T[:half]), _sums_of_subsets(blocks.T[half:])
    return SubsetSums(first, last, blocks.sum(axis=1))


def _sums_of_subsets(rows: Sums) -> Sums:
    """Return the sum of each subset of the rows, in the order of their bits."""
    sums = np.zeros((1, rows.shape[1]), np.float32)
    for row in rows:
        sums = np.concatenate([sums, sums + row])
    return sums


def _slope(x: Floats, y: Floats) -> float | None:
    """Return the slope of least squares, y over x."""
    if np.ptp(x) <= SAME * np.abs(x).max():
        return None
    return float(np.cov(x, y)[0, 1] / x.var(ddof=1))


def warm_up() -> None:
    """Compile, or load from the cache."""
    cross_validated(block_sums(np.zeros((2, 2)), 2))
