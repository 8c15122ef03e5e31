"""Alternative outcomes of a result: its days resampled, and its best trades left out.

Days are drawn in blocks by the stationary bootstrap (`metrics.comparison`), so that dependent days
stay together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.results.comparison import PATHS, stationary_bootstrap

Floats = NDArray[np.float64]

_PATHS_AT_A_TIME: Final = 200


class ResampledPaths(NamedTuple):
    """The growth of the capital on each path, and its largest drawdown at the ends of days, both
    fractions: 0.1 is a gain, or a fall, of a tenth.
    """

    growth: Floats
    drawdown: Floats

    @property
    def loss(self) -> float:
        """The share of losing paths."""
        return float((self.growth < 0).mean())


def resampled_paths(returns: Floats, *, seed: int) -> ResampledPaths:
    """Draw as many daily returns as there are, PATHS times."""
    growth, drawdown = [], []
    for equity in _drawn(returns, len(returns), seed):
        peak = np.maximum.accumulate(np.maximum(equity, 1.0), axis=1)
        growth.append(equity[:, -1] - 1)
        drawdown.append((1 - equity / peak).max(axis=1))
    return ResampledPaths(np.concatenate(growth), np.concatenate(drawdown))


def growth_band(returns: Floats, days: int, share: float, *, seed: int) -> tuple[Floats, Floats]:
    """Return the two fractions around the capital's gain, after each of this many days, for this
    share of the paths.
    """
    equity = np.concatenate(list(_drawn(returns, days, seed)))
    lower, upper = np.quantile(equity, [(1 - share) / 2, (1 + share) / 2], axis=0) - 1
    return lower, upper


def net_without_best(profits: Floats, counts: Sequence[int]) -> list[float]:
    """Return the sum of the profits without the best ones, for each of the counts."""
    ascending = np.sort(profits)
    return [float(ascending[: max(len(profits) - count, 0)].sum()) for count in counts]


def _drawn(returns: Floats, days: int, seed: int) -> Iterator[Floats]:
    """Yield the value of a capital of 1 after each of the drawn days, f8[paths, days]."""
    random = np.random.default_rng(seed)
    for _ in range(0, PATHS, _PATHS_AT_A_TIME):
        draws = [
            stationary_bootstrap(len(returns), _PATHS_AT_A_TIME, random)
            for _ in range(0, days, len(returns))
        ]
        factors = 1 + returns[np.concatenate(draws, axis=1)[:, :days]]
        yield np.asarray(np.cumprod(factors, axis=1), np.float64)
