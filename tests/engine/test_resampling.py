"""Days drawn anew, and results without their best trades."""

from math import sqrt

import numpy as np
import pytest

from apps.engine.evidence.resampling import growth_band, net_without_best, resampled_paths
from apps.engine.metrics.comparison import PATHS

RETURNS = np.random.default_rng(1).normal(0.0005, 0.01, 500)


def test_paths_are_as_long_and_vary_as_much_as_the_sum_of_the_days_does() -> None:
    paths = resampled_paths(RETURNS, seed=1)
    assert len(paths.growth) == len(paths.drawdown) == PATHS
    growth = np.log1p(paths.growth)
    assert growth.mean() == pytest.approx(np.log1p(RETURNS).sum(), abs=0.02)
    assert growth.std() == pytest.approx(RETURNS.std() * sqrt(500), rel=0.15)
    assert paths.loss == (paths.growth < 0).mean()


def test_a_drawdown_counts_from_the_capital() -> None:
    paths = resampled_paths(np.full(8, -0.01), seed=1)
    assert paths.growth == pytest.approx(0.99**8 - 1)
    assert paths.drawdown == pytest.approx(1 - 0.99**8)
    assert paths.loss == 1.0


def test_a_seed_decides_all_paths() -> None:
    first, again, other = (resampled_paths(RETURNS, seed=seed).growth for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_band_holds_its_share_of_what_comes_of_the_same_days() -> None:
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
