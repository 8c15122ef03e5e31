"""The deflated Sharpe ratio, on the example that its authors publish."""

from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

from apps.engine.metrics.sharpe import (
    SharpeEstimate,
    deflated,
    expected_maximum,
    sharpe_estimate,
)

BEST, SPREAD, DAYS = 2.5 / sqrt(250), 0.5 / 250, 1250
"""Five years of days; annualised 2.5, and a variance of 1/2 over the trials."""


def chance(trials: int, *, skewness: float, kurtosis: float) -> float | None:
    benchmark = expected_maximum(trials, SPREAD)
    return SharpeEstimate(BEST, DAYS, skewness, kurtosis).probability(benchmark)


def test_the_published_example() -> None:
    """Bailey and Lopez de Prado 2014, "A numerical example": 100 trials, skewness -3, kurtosis 10;
    46 trials would have passed at 95 %, and 88 with normal returns.
    """
    assert expected_maximum(100, SPREAD) == pytest.approx(0.1132, abs=5e-5)
    assert chance(100, skewness=-3, kurtosis=10) == pytest.approx(0.9004, abs=5e-5)
    assert chance(46, skewness=-3, kurtosis=10) == pytest.approx(0.9505, abs=5e-5)
    assert chance(88, skewness=0, kurtosis=3) == pytest.approx(0.9505, abs=1e-4)


def test_one_trial_is_compared_with_nothing() -> None:
    assert expected_maximum(1, 0.0) == 0


def test_moments_are_those_of_the_returns() -> None:
    """Of -1, 0, 0, 1: skewness 0, kurtosis 0.5 / 0.25 = 2."""
    estimate = deflated(sharpe_estimate(0.2, np.array([-1.0, 0.0, 0.0, 1.0])), [0.2])
    wanted = NormalDist().cdf(0.2 * sqrt(3) / sqrt(1 + (2 - 1) / 4 * 0.2**2))
    assert estimate["deflatedSharpeRatio"] == pytest.approx(wanted)
    assert (estimate["trials"], estimate["expectedMaximum"]) == (1, 0)


def test_without_a_ratio_there_is_nothing_to_deflate() -> None:
    assert deflated(sharpe_estimate(None, np.zeros(3)), [])["deflatedSharpeRatio"] is None
