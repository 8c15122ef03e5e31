"""The deflated Sharpe ratio, on the example that its authors publish."""

from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

from apps.engine.results.sharpe import (
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


def test_the_published_example_of_a_hedge_fund() -> None:
    """Bailey and Lopez de Prado 2012, "The Sharpe Ratio Efficient Frontier": two years of months,
    annualised 1.585; its skewness of -2.448 and kurtosis of 10.164 take a probability of 0.982 to
    0.913.
    """
    ratio = 1.585 / sqrt(12)
    assert SharpeEstimate(ratio, 24, 0, 3).probability(0) == pytest.approx(0.982, abs=5e-4)
    skewed = SharpeEstimate(ratio, 24, -2.448, 10.164)
    assert skewed.probability(0) == pytest.approx(0.913, abs=5e-4)


@pytest.mark.parametrize(
    ("periods", "observed", "true", "skewness", "kurtosis", "years"),
    [
        (250, 2, 1, 0, 3, 2.73),
        (52, 2, 1, 0, 3, 2.83),
        (12, 2, 1, 0, 3, 3.24),
        (12, 2, 1, -0.72, 5.78, 4.99),
        (12, 3, 2.5, -0.72, 5.78, 27.35),
    ],
)
def test_published_minimum_track_records(
    *, periods: int, observed: float, true: float, skewness: float, kurtosis: float, years: float
) -> None:
    """The tables of the same paper: years until a ratio is above another at 95 %."""
    estimate = SharpeEstimate(observed / sqrt(periods), periods, skewness, kurtosis)
    least = estimate.least_returns(true / sqrt(periods), 0.95)
    assert least is not None
    assert least / periods == pytest.approx(years, abs=5e-3)


def test_the_minimum_track_record_reaches_the_requested_probability() -> None:
    estimate = SharpeEstimate(0.1, 250, -0.5, 6)
    least = estimate.least_returns(0.02, 0.95)
    assert least is not None
    longer = SharpeEstimate(0.1, round(least), -0.5, 6).probability(0.02)
    assert longer == pytest.approx(0.95, abs=1e-3)
    assert estimate.least_returns(0.1, 0.95) is None


def test_one_trial_is_compared_with_zero() -> None:
    assert expected_maximum(1, 0.0) == 0


def test_moments_come_from_the_returns() -> None:
    """-1, 0, 0 and 1 have skewness 0 and kurtosis 0.5 / 0.25 = 2."""
    estimate = deflated(sharpe_estimate(0.2, np.array([-1.0, 0.0, 0.0, 1.0])), [0.2])
    wanted = NormalDist().cdf(0.2 * sqrt(3) / sqrt(1 + (2 - 1) / 4 * 0.2**2))
    assert estimate["deflatedSharpeRatio"] == pytest.approx(wanted)
    assert (estimate["trials"], estimate["expectedMaximum"]) == (1, 0)


def test_without_a_ratio_there_is_nothing_to_deflate() -> None:
    assert deflated(sharpe_estimate(None, np.zeros(3)), [])["deflatedSharpeRatio"] is None
