"""The comparison of the returns of two results, day by day.

Both are resampled together, so that the market's effect on a day stays common to both: the
stationary bootstrap of Politis and Romano, "The Stationary Bootstrap", Journal of the American
Statistical Association 89 (428), 1994. Blocks have a geometric length, with the cube root of the
number of days as mean, the growth rate of the best length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import ist_day
from apps.engine.kernel.records import Array
from apps.engine.results.equity import daily_returns, day_ends
from apps.engine.results.sharpe import sharpe_ratio, sharpe_ratios

Floats = NDArray[np.float64]

PATHS: Final = 2_000
SURE: Final = 0.95
_INTERVAL: Final = (0.05, 0.95)
_PATHS_AT_A_TIME: Final = 200


class Interval(NamedTuple):
    """A difference, second less first, with its 5 % and 95 % quantiles over the paths."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class PairedReturns:
    """Two results on their common days.

    `mean_return` is the difference of the mean daily returns (fractions), `sharpe_ratio` the
    difference of the daily Sharpe ratios. `probability` is the share of paths with a higher mean of
    the second; equal means count half.
    """

    # Fewer common days say nothing.
    LEAST_DAYS: ClassVar = 20

    days: int
    mean_return: Interval
    sharpe_ratio: Interval
    probability: float

    @property
    def better(self) -> int | None:
        """The index of the surely better result: in SURE of the paths or more."""
        if self.probability >= SURE:
            return 1
        return 0 if self.probability <= 1 - SURE else None

    @property
    def paths(self) -> int:
        """The number of resampled histories."""
        return PATHS

    @classmethod
    def of(
        cls, curves: tuple[Array, Array], capitals: tuple[float, float], *, seed: int
    ) -> PairedReturns | None:
        """Compare two curves (CURVE records); None with fewer common days
        than LEAST_DAYS.
        """
        (days, returns), (other_days, other_returns) = (
            _returns_by_day(curve, capital) for curve, capital in zip(curves, capitals, strict=True)
        )
        common, rows, other_rows = np.intersect1d(days, other_days, return_indices=True)
        if len(common) < cls.LEAST_DAYS:
            return None
        pair = np.stack([returns[rows], other_returns[other_rows]])
        means, ratios = _resampled(pair, np.random.default_rng(seed))
        return cls(
            days=len(common),
            mean_return=_interval(float(pair[1].mean() - pair[0].mean()), means),
            sharpe_ratio=_interval(_difference(*map(sharpe_ratio, pair)), ratios),
            probability=float((means > 0).mean() + (means == 0).mean() / 2),
        )


def stationary_bootstrap(days: int, paths: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return the indices of the days of each path, [paths, days]; the first day follows the last.

    A path continues with the next day or, with a chance of one in the mean length of a block, with
    any day.
    """
    length = max(1.0, float(np.cbrt(days)))
    places = np.arange(days)
    begins = random.random((paths, days)) < 1 / length
    begins[:, 0] = True
    starts = random.integers(days, size=(paths, days))
    begun = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    indices: NDArray[np.intp] = (np.take_along_axis(starts, begun, axis=1) + places - begun) % days
    return indices


def _returns_by_day(curve: Array, capital: float) -> tuple[NDArray[np.int32], Floats]:
    """Return the dates of a curve, and the daily returns; empty for a ruined result."""
    ends = day_ends(np.ascontiguousarray(curve["time"]))
    returns = daily_returns(np.ascontiguousarray(curve["equity"]), ends, capital)
    return ist_day(curve["time"][ends])[: len(returns)], returns


def _resampled(pair: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the differences of the means and of the Sharpe ratios on PATHS paths."""
    means, ratios = [], []
    for _ in range(0, PATHS, _PATHS_AT_A_TIME):
        paths = pair[:, stationary_bootstrap(pair.shape[1], _PATHS_AT_A_TIME, random)]
        means.append(paths[1].mean(axis=1) - paths[0].mean(axis=1))
        first, second = (np.array(sharpe_ratios(path), np.float64) for path in paths)
        ratios.append(second - first)
    return np.concatenate(means), np.concatenate(ratios)


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else second - first


def _interval(value: float | None, resampled: Floats) -> Interval:
    """Return the interval.

    A path without a Sharpe ratio is NaN, and then the interval is unknown.
    """
    if value is None or np.isnan(resampled).any():
        return Interval(value, None, None)
    return Interval(value, *np.quantile(resampled, _INTERVAL).tolist())
