"""Figures of daily returns beside a benchmark's of the same days: each formula alone.

Both are fractions, f8[days] of equal length, with `periods` a year; no risk-free rate is
subtracted. None for fewer than two, and if the divisor does not vary, except in the last bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles
from apps.engine.results.equity import deviation, of_a_year
from apps.engine.results.sharpe import SAME, sharpe_ratio

Floats = NDArray[np.float64]

MOST_DAILY_RETURN = 10.0
"""The mean daily return that is still compounded: a year of it is near the largest number."""


def beta(returns: Floats, benchmark: Floats) -> float | None:
    """Return covariance with the benchmark over its variance (Sharpe 1964)."""
    if _is_flat(benchmark):
        return None
    return float(np.cov(returns, benchmark)[0, 1] / benchmark.var(ddof=1))


def alpha(returns: Floats, benchmark: Floats, beta: float | None, periods: int) -> float | None:
    """Return percent a year beyond beta x the benchmark: the excess of a period, compounded (Jensen
    1968, empyrical). None for an excess that cannot be compounded: MOST_DAILY_RETURN or more, or a
    loss of all.
    """
    if beta is None:
        return None
    excess = float(returns.mean() - beta * benchmark.mean())
    return ((1 + excess) ** periods - 1) * 100 if -1 < excess < MOST_DAILY_RETURN else None


def correlation(returns: Floats, benchmark: Floats) -> float | None:
    """Return Pearson's correlation, -1 to 1."""
    if _is_flat(returns) or _is_flat(benchmark):
        return None
    return float(np.corrcoef(returns, benchmark)[0, 1])


def tracking_error(returns: Floats, benchmark: Floats, periods: int) -> float | None:
    """Return percent a year: the deviation of the difference."""
    return of_a_year(deviation(returns - benchmark), periods)


def information_ratio(returns: Floats, benchmark: Floats, periods: int) -> float | None:
    """Return the mean difference over its deviation, for a year (empyrical's excess Sharpe)."""
    apart = returns - benchmark
    return None if _is_flat(apart, scale=returns) else of_a_year(sharpe_ratio(apart), periods)


def _is_flat(returns: Floats, *, scale: Floats | None = None) -> bool:
    scale = returns if scale is None else scale
    return len(returns) < 2 or bool(np.ptp(returns) <= SAME * np.abs(scale).max())


def buy_and_hold(candles: Sequence[Candles], start: int, ends: NDArray[np.int64]) -> Floats:
    """Return the value of one rupee at each of `ends` (starts of rows, epoch seconds), f8[ends].

    It is divided equally among the symbols and never rebalanced: each part buys at the open of the
    symbol's first bar from `start` on, is cash until then, and pays no charges.
    """
    worth = [_held(bars, start, ends) for bars in candles]
    mean: Floats = np.mean(worth, axis=0)
    return mean


def _held(bars: Candles, start: int, ends: NDArray[np.int64]) -> Floats:
    first = int(np.searchsorted(bars.time, start))
    last = np.searchsorted(bars.time, ends, side="right") - 1
    if first == len(bars):
        return np.ones(len(ends))
    worth: Floats = np.where(last < first, 1.0, bars.close[last] / bars.open[first])
    return worth
