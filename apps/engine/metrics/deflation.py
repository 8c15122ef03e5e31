"""What is left of the best Sharpe ratio when it is known how many were tried.

Bailey and Lopez de Prado, "The Deflated Sharpe Ratio: Correcting for Selection Bias, Backtest
Overfitting, and Non-Normality", Journal of Portfolio Management 40 (5), 2014. Nothing here is
annualised.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import e, sqrt
from statistics import NormalDist, variance
from typing import Final

import numpy as np
from numpy.typing import NDArray

_EULER: Final = 0.5772156649015329
"""The Euler-Mascheroni constant."""
_NORMAL: Final = NormalDist()


def expected_maximum(trials: int, spread: float) -> float:
    """The best Sharpe ratio to be expected of so many trials without any skill, whose ratios have
    the variance `spread`.
    """
    if trials < 2:
        return 0.0
    near = _NORMAL.inv_cdf(1 - 1 / trials)
    far = _NORMAL.inv_cdf(1 - 1 / (trials * e))
    return sqrt(spread) * ((1 - _EULER) * near + _EULER * far)


def probability(
    sharpe: float, benchmark: float, *, returns: int, skewness: float, kurtosis: float
) -> float | None:
    """That the true Sharpe ratio is above the benchmark; a normal kurtosis is 3.

    None where the estimate has no deviation (the formula's root is of nothing).
    """
    noise = 1 - skewness * sharpe + (kurtosis - 1) / 4 * sharpe**2
    if returns < 2 or noise <= 0:
        return None
    return _NORMAL.cdf((sharpe - benchmark) * sqrt(returns - 1) / sqrt(noise))


def deflated(
    best: NDArray[np.float64], sharpe: float | None, tried: Sequence[float]
) -> dict[str, float | None]:
    """What is told of the chosen set: `best` are its returns, `sharpe` their ratio, `tried` the
    ratios of all sets that have one, the chosen one among them.

    `trials` counts them all as independent, which they are not: the result errs on the safe side.
    """
    spread = variance(tried) if len(tried) > 1 else 0.0
    benchmark = expected_maximum(len(tried), spread)
    chance = None
    if sharpe is not None:
        skewness, kurtosis = moments(best)
        chance = probability(
            sharpe, benchmark, returns=len(best), skewness=skewness, kurtosis=kurtosis
        )
    return {
        "trials": len(tried),
        "sharpeRatioDaily": sharpe,
        "expectedMaximum": benchmark,
        "deflatedSharpeRatio": chance,
    }


def moments(returns: NDArray[np.float64]) -> tuple[float, float]:
    """Skewness and kurtosis, as moments of the population."""
    apart = returns - returns.mean()
    deviation = apart.std()
    return float((apart**3).mean() / deviation**3), float((apart**4).mean() / deviation**4)
