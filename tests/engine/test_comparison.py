"""Comparing the returns of two results."""

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import DAY
from apps.engine.kernel.records import CURVE, Array
from apps.engine.results.comparison import (
    PATHS,
    PairedReturns,
    stationary_bootstrap,
)

CAPITAL = 100_000.0
NOON = 12 * 3600


def curve(returns: NDArray[np.float64], *, first_day: int = 20_000) -> Array:
    """Make a curve with one point a day."""
    points = np.empty(len(returns), CURVE)
    points["time"] = (first_day + np.arange(len(returns))) * DAY + NOON
    points["equity"] = CAPITAL * np.cumprod(1 + returns)
    return points


def noise(days: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(0, 0.01, days)


def compared(first: Array, second: Array, seed: int = 1) -> PairedReturns:
    result = PairedReturns.of((first, second), (CAPITAL, CAPITAL), seed=seed)
    assert result is not None
    return result


def test_a_result_is_not_better_than_itself() -> None:
    same = compared(curve(noise(250, 1)), curve(noise(250, 1)))
    assert (same.days, same.probability, same.better) == (250, 0.5, None)
    assert (*same.mean_return, *same.sharpe_ratio) == (0.0,) * 6


def test_a_steady_lead_is_enough_to_say_so_whichever_is_named_first() -> None:
    base = noise(250, 1)
    behind, ahead = curve(base), curve(base + 0.001)
    result = compared(behind, ahead)
    assert (result.probability, result.better) == (1.0, 1)
    assert result.mean_return.value == pytest.approx(0.001)
    assert compared(ahead, behind).better == 0


def test_a_common_market_move_does_not_hide_a_lead() -> None:
    """The days differ little in the lead alone, and much in each result by itself."""
    base = noise(250, 1) * 5
    result = compared(curve(base), curve(base + 0.0005 + noise(250, 2) / 20))
    assert result.better == 1


def test_equal_noise_is_called_better_about_as_often_as_it_should() -> None:
    verdicts = [
        compared(curve(noise(120, seed)), curve(noise(120, seed + 1_000))).better
        for seed in range(30)
    ]
    assert sum(verdict is not None for verdict in verdicts) <= 7  # 10 % of 30, and chance


def test_only_days_that_both_have_count() -> None:
    base = noise(60, 1)
    result = compared(curve(base, first_day=20_000), curve(base, first_day=20_030))
    assert result.days == 30
    few = curve(base, first_day=20_060 - PairedReturns.LEAST_DAYS + 1)
    assert PairedReturns.of((curve(base), few), (CAPITAL, CAPITAL), seed=1) is None


def test_a_ruined_or_idle_result_is_compared_as_far_as_possible() -> None:
    ruined = curve(noise(60, 1))
    ruined["equity"][40:] = -1.0
    assert PairedReturns.of((ruined, curve(noise(60, 2))), (CAPITAL, CAPITAL), seed=1) is None
    idle = curve(np.zeros(60))
    result = compared(idle, curve(noise(60, 2)))
    assert result.sharpe_ratio == (None, None, None)
    assert result.mean_return.value is not None


def test_a_seed_decides_the_whole_comparison() -> None:
    pair = curve(noise(100, 1)), curve(noise(100, 2))
    assert compared(*pair, seed=5) == compared(*pair, seed=5)
    assert compared(*pair, seed=5) != compared(*pair, seed=6)


def test_blocks_have_the_mean_length_of_the_formula_and_every_day_its_turn() -> None:
    days = 125
    indices = stationary_bootstrap(days, PATHS, np.random.default_rng(3))
    follows = (np.diff(indices, axis=1) % days == 1).mean()
    # A new block begins with one chance in five, and by chance at the next day.
    assert follows == pytest.approx(0.8 + 0.2 / days, abs=0.005)
    counts = np.bincount(indices.ravel(), minlength=days)
    assert counts.min() > 0.9 * PATHS
    assert counts.max() < 1.1 * PATHS
