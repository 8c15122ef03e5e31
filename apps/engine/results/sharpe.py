"""The Sharpe ratio: mean over sample deviation (n - 1), not annualised, no risk-free rate.

The certainty of an estimate, and the correction of the best of many, are from Bailey and Lopez de
Prado, "The Sharpe Ratio Efficient Frontier", Journal of Risk 15 (2), 2012, and "The Deflated Sharpe
Ratio: Correcting for Selection Bias, Backtest Overfitting, and Non-Normality", Journal of Portfolio
Management 40 (5), 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import e, sqrt
from statistics import NormalDist, variance
from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

Floats = NDArray[np.float64]

# Returns that differ by less, as a share of the largest, are equal but for their last bits.
SAME: Final = 1e-9
_EULER_MASCHERONI: Final = 0.5772156649015329
_NORMAL: Final = NormalDist()


def sharpe_ratio(returns: Floats) -> float | None:
    """Return the ratio; None for fewer than two returns, or if all are equal, except in the last
    bits.
    """
    count = len(returns)
    if count < 2:
        return None
    least, most = float(returns.min()), float(returns.max())
    if most - least <= SAME * max(abs(least), abs(most)):
        return None
    mean = float(np.add.reduce(returns)) / count
    apart = returns - mean
    return mean / sqrt(float(np.add.reduce(apart * apart)) / (count - 1))


def sharpe_ratios(returns: Floats) -> list[float | None]:
    """Return `sharpe_ratio` of each row, equal to the last bit."""
    rows, count = returns.shape
    if count < 2:
        return [None] * rows
    least, most = returns.min(axis=1), returns.max(axis=1)
    flat = most - least <= SAME * np.maximum(np.abs(least), np.abs(most))
    mean = np.add.reduce(returns, axis=1) / count
    apart = returns - mean[:, np.newaxis]
    deviation = np.sqrt(np.add.reduce(apart * apart, axis=1) / (count - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (mean / deviation).tolist()
    return [None if same else ratio for same, ratio in zip(flat.tolist(), ratios, strict=True)]


class SharpeEstimate(NamedTuple):
    """A ratio, and the inputs of its error: the number of returns, and their skewness and kurtosis
    as moments of the population. A normal kurtosis is 3.
    """

    ratio: float
    returns: int
    skewness: float
    kurtosis: float

    def probability(self, benchmark: float) -> float | None:
        """Return the probability that the true ratio is above the benchmark; None if the estimate
        has no deviation (the formula's root is of nothing).
        """
        if self.returns < 2 or self.noise <= 0:
            return None
        return _NORMAL.cdf((self.ratio - benchmark) * sqrt(self.returns - 1) / sqrt(self.noise))

    def least_returns(self, benchmark: float, confidence: float) -> float | None:
        """Return the minimum track record length: the number of returns like these that makes it
        this probable that the true ratio is above the benchmark; None if no number does.
        """
        if self.ratio <= benchmark or self.noise <= 0:
            return None
        return 1 + self.noise * (_NORMAL.inv_cdf(confidence) / (self.ratio - benchmark)) ** 2

    @property
    def noise(self) -> float:
        """The variance of the estimate, times the number of returns less one."""
        return 1 - self.skewness * self.ratio + (self.kurtosis - 1) / 4 * self.ratio**2


def sharpe_estimate(ratio: float | None, returns: Floats) -> SharpeEstimate | None:
    """Return the estimate for returns with the Sharpe ratio `ratio`, if there is one."""
    return None if ratio is None else SharpeEstimate(ratio, len(returns), *moments(returns))


def moments(returns: Floats) -> tuple[float, float]:
    """Return skewness and kurtosis, as moments of the population."""
    apart = returns - returns.mean()
    deviation = apart.std()
    return float((apart**3).mean() / deviation**3), float((apart**4).mean() / deviation**4)


def expected_maximum(trials: int, spread: float) -> float:
    """Return the expected best ratio of this many trials without any skill, with the variance
    `spread` of their ratios.
    """
    if trials < 2:
        return 0.0
    near = _NORMAL.inv_cdf(1 - 1 / trials)
    far = _NORMAL.inv_cdf(1 - 1 / (trials * e))
    return sqrt(spread) * ((1 - _EULER_MASCHERONI) * near + _EULER_MASCHERONI * far)


class DeflatedRatio(TypedDict):
    """The best Sharpe ratio beside the best that is expected by luck."""

    trials: Annotated[int, Field(ge=0, description="Sets that have a daily Sharpe ratio.")]
    sharpeRatioDaily: Annotated[float | None, Field(description="Of the best set, not annualised.")]
    expectedMaximum: Annotated[
        float, Field(description="The expected best of so many trials without any skill.")
    ]
    deflatedSharpeRatio: Annotated[float | None, Field(description="A probability, 0 to 1.")]


def deflated(best: SharpeEstimate | None, tried: Sequence[float]) -> DeflatedRatio:
    """Return the deflated figures of the chosen set; `tried` are the ratios of all sets with one,
    including the chosen one.

    `trials` counts them all as independent, although they are not: the result errs on the safe
    side.
    """
    benchmark = expected_maximum(len(tried), variance(tried) if len(tried) > 1 else 0.0)
    return DeflatedRatio(
        trials=len(tried),
        sharpeRatioDaily=None if best is None else best.ratio,
        expectedMaximum=benchmark,
        deflatedSharpeRatio=None if best is None else best.probability(benchmark),
    )
