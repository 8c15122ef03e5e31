"""How likely it is that the best set of a study owes its place to chance.

The probability of backtest overfitting by combinatorially symmetric cross-validation: Bailey,
Borwein, Lopez de Prado and Zhu, "The Probability of Backtest Overfitting", Journal of Computational
Finance 20 (4), 2017. The days are cut into blocks, and each half of the blocks is in sample once,
the other half out of sample. Sets are compared by their daily Sharpe ratios, which follow from the
sums and the sums of squares of the blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.metrics.sharpe import SAME
from apps.engine.units import Unit, rounded

Floats = NDArray[np.float64]
Sums = NDArray[np.float32]

BLOCKS: Final = 16
LEAST_SETS, MOST_SETS = 20, 10_000
"""Of fewer sets nothing is said; of more a sample is looked at."""
_SPLITS_AT_A_TIME: Final = 64


class BlockSums(NamedTuple):
    """`days` of each block, which all sets share, and f4[sets, blocks] the sums and the sums of
    squares of their daily returns: 128 bytes a set, good for seven digits of a Sharpe ratio.
    """

    days: NDArray[np.int64]
    sums: Sums
    squares: Sums


class Splits(NamedTuple):
    """Of each split the best set in sample: its daily Sharpe ratio there and out of sample, and its
    rank out of sample, 1 for the worst (ties have the mean).
    """

    in_sample: Floats
    out_of_sample: Floats
    rank: Floats


class Overfitting(NamedTuple):
    """`probability`: the share of the splits in which the best set in sample is not above the
    median out of sample. `loss`: the share in which it loses there. `in_sample` and `out_of_sample`
    are the medians of its daily Sharpe ratio; `degradation` is the slope of the line through the
    pairs, out of sample over in sample; None where all are alike in sample.
    """

    sets: int
    splits: int
    probability: float
    loss: float
    in_sample: float
    out_of_sample: float
    degradation: float | None

    def figures(self) -> dict[str, object]:
        """Return the figures as clients read them, by their names."""
        return {
            "sets": self.sets,
            "splits": self.splits,
            "probability": rounded(self.probability, Unit.RATIO),
            "probabilityOfLoss": rounded(self.loss, Unit.RATIO),
            "sharpeRatioInSample": rounded(self.in_sample, Unit.RATIO),
            "sharpeRatioOutOfSample": rounded(self.out_of_sample, Unit.RATIO),
            "degradation": (
                None if self.degradation is None else rounded(self.degradation, Unit.RATIO)
            ),
        }

    @classmethod
    def of_figures(cls, figures: Mapping[str, Any]) -> Overfitting:
        """Return what `figures` returned. Any: JSON as it was stored."""
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
    """Return those of daily returns f8[sets, days], in blocks as even as can be; at least as many
    days as blocks.
    """
    days = days_of_blocks(returns.shape[1], blocks)
    edges = np.cumsum(days) - days
    sums = np.add.reduceat(returns, edges, axis=1)
    squares = np.add.reduceat(returns * returns, edges, axis=1)
    return BlockSums(days, sums.astype(np.float32), squares.astype(np.float32))


def days_of_blocks(days: int, blocks: int = BLOCKS) -> NDArray[np.int64]:
    """Return how many of the days are in each block."""
    return np.diff(np.arange(blocks + 1) * days // blocks)


def sampled_sets(sets: int, winner: int, *, seed: int, most: int = MOST_SETS) -> NDArray[np.int64]:
    """Return so many of the sets at random, the winner among them, in their order."""
    if sets <= most:
        return np.arange(sets)
    losers = np.random.default_rng(seed).choice(sets - 1, most - 1, replace=False)
    return np.sort(np.append(losers + (losers >= winner), winner))


def cross_validated(blocks: BlockSums, *, threads: int = 1) -> Splits:
    """Return what becomes of the best set of each split; of at least two sets. A set that never
    varies has a ratio of 0.
    """
    chosen = _halves(len(blocks.days))
    sum_of, square_of = _SubsetSums(blocks.sums), _SubsetSums(blocks.squares)
    count = _SubsetSums(blocks.days[np.newaxis]).of(chosen)
    all_sums, all_squares = blocks.sums.sum(axis=1), blocks.squares.sum(axis=1)
    splits = Splits(*np.empty((3, len(chosen))))

    def compare(begin: int) -> None:
        rows = slice(begin, begin + _SPLITS_AT_A_TIME)
        total, square = sum_of.of(chosen[rows]), square_of.of(chosen[rows])
        inside = _ratios(total, square, count[rows])
        count_outside = np.float32(blocks.days.sum()) - count[rows]
        outside = _ratios(all_sums - total, all_squares - square, count_outside)
        best = inside.argmax(axis=1)[:, np.newaxis]
        result = np.take_along_axis(outside, best, axis=1)
        below, equal = (outside < result).sum(axis=1), (outside == result).sum(axis=1)
        splits.rank[rows] = below + (equal + 1) / 2
        splits.in_sample[rows] = np.take_along_axis(inside, best, axis=1)[:, 0]
        splits.out_of_sample[rows] = result[:, 0]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(compare, range(0, len(chosen), _SPLITS_AT_A_TIME)))
    return splits


def overfitting(blocks: BlockSums, *, threads: int = 1) -> Overfitting:
    """Return what all splits say of at least two sets."""
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
    """Return which blocks are in sample in each split, as the bits of a number."""
    return np.array(
        [sum(1 << block for block in half) for half in combinations(range(blocks), blocks // 2)]
    )


class _SubsetSums:
    """The sums of blocks of each set: those of all subsets of the first and of the last half of the
    blocks, so a subset of all takes one addition. (A product of matrices takes as many as there are
    blocks, and NumPy does it on threads that wait for each other.)
    """

    def __init__(self, blocks: NDArray[Any]) -> None:
        """Of [sets, blocks]. Any: numbers of every kind."""
        self._bits = blocks.shape[1] // 2
        self._first = self._sums(blocks[:, : self._bits].T)
        self._last = self._sums(blocks[:, self._bits :].T)

    @staticmethod
    def _sums(rows: NDArray[Any]) -> NDArray[np.float32]:
        """Return those of all subsets of the rows, in the order of their bits."""
        sums = np.zeros((1, rows.shape[1]), np.float32)
        for row in rows:
            sums = np.concatenate([sums, sums + row.astype(np.float32)])
        return sums

    def of(self, subsets: NDArray[np.int64]) -> Sums:
        """Return [subsets, sets]."""
        sums: Sums = self._first[subsets & ((1 << self._bits) - 1)]
        sums += self._last[subsets >> self._bits]
        return sums


def _ratios(total: Sums, square: Sums, count: Sums) -> Sums:
    """Return the Sharpe ratios of sets over splits, by the sample deviation."""
    mean = total / count
    variance = (square - total * mean) / (count - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Sums = np.where(variance > 0, mean / np.sqrt(variance), np.float32(0))
    return ratios


def _slope(x: Floats, y: Floats) -> float | None:
    """Return that of the least squares, y over x."""
    if np.ptp(x) <= SAME * np.abs(x).max():
        return None
    return float(np.cov(x, y)[0, 1] / x.var(ddof=1))
