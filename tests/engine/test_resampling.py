"""Days drawn anew, and results without their best trades."""

from math import sqrt

import numpy as np
import pytest

from apps.engine.evidence.resampling import growth_band, net_without_best, resampled_paths
from apps.engine.results.comparison import PATHS

RETURNS = np.random.default_rng(1).normal(0.0005, 0.01, 500)


def test_paths_are_as_long_and_vary_as_much_as_the_sum_of_the_days_does() -> None:
    paths = resampled_paths(RETURNS, seed=1)
    assert len(paths.growth) == len(paths.drawdown) == PATHS
    growth = np.log1p(paths.growth)
    assert growth.mean() == pytest.approx(np.log1p(RETURNS).sum(), abs=0.02)
    assert growth.std() == pytest.approx(RETURNS.std() * sqrt(500), rel=0.15)
    assert paths.loss == (paths.growth < 0).mean()


def test_quantiles_agree_with_an_independent_library() -> None:
    """`StationaryBootstrap(500 ** (1 / 3), RETURNS, seed=2)` of arch 8.0.0 (University of Illinois
    licence), 20,000 paths: percentiles 1, 5, 25, 50, 75, 95 and 99.
    """
    growth = [-0.31211, -0.22047, -0.07256, 0.05114, 0.18658, 0.42287, 0.62346]
    drawdown = [0.07768, 0.09365, 0.12949, 0.16570, 0.21531, 0.30393, 0.36793]
    paths = [resampled_paths(RETURNS, seed=seed) for seed in range(10)]
    percentiles = (1, 5, 25, 50, 75, 95, 99)
    all_growth = np.concatenate([path.growth for path in paths])
    all_drawdown = np.concatenate([path.drawdown for path in paths])
    assert np.percentile(all_growth, percentiles) == pytest.approx(growth, abs=0.012)
    assert np.percentile(all_drawdown, percentiles) == pytest.approx(drawdown, abs=0.006)


def test_a_drawdown_counts_from_the_capital() -> None:
    paths = resampled_paths(np.full(8, -0.01), seed=1)
    assert paths.growth == pytest.approx(0.99**8 - 1)
    assert paths.drawdown == pytest.approx(1 - 0.99**8)
    assert paths.loss == 1.0


def test_a_seed_decides_all_paths() -> None:
    first, again, other = (resampled_paths(RETURNS, seed=seed).growth for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_band_holds_its_share_of_resampled_results() -> None:
    lower, upper = growth_band(RETURNS, 60, 0.9, seed=1)
    assert len(lower) == len(upper) == 60
    days = np.random.default_rng(2).choice(RETURNS, (1_000, 60))
    growth = np.cumprod(1 + days, axis=1) - 1
    inside = ((growth >= lower) & (growth <= upper)).mean(axis=0)
    assert inside == pytest.approx(0.87, abs=0.06)


def test_a_band_may_be_longer_than_the_record() -> None:
    lower, upper = growth_band(RETURNS[:40], 100, 0.9, seed=1)
    assert len(lower) == 100
    assert (upper > lower).all()


def test_the_best_trades_are_left_out() -> None:
    assert net_without_best(np.array([3.0, -1.0, 5.0]), (0, 1, 2, 10)) == [7.0, 2.0, -1.0, 0.0]
