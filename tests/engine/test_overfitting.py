"""The probability of backtest overfitting, on published examples and beside plain arithmetic."""

from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.results.sharpe import sharpe_ratio
from apps.engine.studies.overfitting import block_sums, cross_validated, overfitting, sampled_sets

Floats = NDArray[np.float64]


def normals_of_r(seed: int, count: int) -> Floats:
    """Return the numbers of `set.seed(seed); rnorm(count)` in R.

    It uses the Mersenne Twister, seeded by a linear congruential generator, and the inverse of the
    normal distribution.
    """
    words = np.empty(51 + 624, np.uint64)
    for index in range(len(words)):
        seed = (69069 * seed + 1) % 2**32
        words[index] = seed
    generator = np.random.MT19937()
    state = generator.state
    state["state"] = {"key": words[51:].astype(np.uint32), "pos": 624}
    generator.state = state
    uniform = generator.random_raw(2 * count) * 2.3283064365386963e-10
    joined = (np.floor(2**27 * uniform[::2]) + uniform[1::2]) / 2**27
    return np.array([NormalDist().inv_cdf(share) for share in joined.tolist()])


def test_the_generator_is_that_of_r() -> None:
    assert normals_of_r(42, 3) == pytest.approx([1.37095845, -0.56469817, 0.36312841], abs=5e-9)


def test_the_example_of_the_package_for_r() -> None:
    """CRAN's pbo 1.3.5, "Using the PBO package": 100 trials of 2,400 days without any difference;
    it prints p_bo 1, slope -0.0030456 (the intercept of in sample over out of sample), ar^2 0.97
    and p_loss 1.
    """
    days = normals_of_r(765, 100 * 2400).reshape(100, 2400)
    returns = days * (1 / 252**0.5 / days.std(axis=1, ddof=1, keepdims=True))
    blocks = block_sums(returns - returns.mean(axis=1, keepdims=True) - 0.03 / 252, 8)
    result, splits = overfitting(blocks), cross_validated(blocks)
    assert (result.splits, result.probability, result.loss) == (70, 1.0, 1.0)
    intercept, explained = regressed(splits.in_sample, splits.out_of_sample)
    assert intercept == pytest.approx(-0.0030456, abs=5e-7)
    assert explained == pytest.approx(0.97, abs=0.005)


def test_the_test_of_the_package_for_r() -> None:
    """Its tests/test_pbo_function.R: half of six splits, an intercept of 0.19 to 0.20 and an
    adjusted r squared of -0.24 to -0.22.
    """
    blocks = block_sums(normals_of_r(852, 40 * 200).reshape(200, 40).T - 0.03 / 252, 4)
    result, splits = overfitting(blocks), cross_validated(blocks)
    assert (result.splits, result.probability, result.loss) == (6, 0.5, 0.5)
    intercept, explained = regressed(splits.in_sample, splits.out_of_sample)
    assert 0.19 < intercept < 0.20
    assert -0.24 < explained < -0.22


def regressed(y: Floats, x: Floats) -> tuple[float, float]:
    """Return the intercept of y over x, and the adjusted r squared."""
    slope = np.cov(x, y)[0, 1] / x.var(ddof=1)
    unexplained = 1 - np.corrcoef(x, y)[0, 1] ** 2
    return y.mean() - slope * x.mean(), 1 - unexplained * (len(x) - 1) / (len(x) - 2)


def test_sums_equal_the_days_themselves() -> None:
    """The blocks have 5 and 6 days: each split by the Sharpe ratios of its days."""
    returns = np.random.default_rng(4).normal(0.001, 0.02, (7, 45))
    edges = [8 * 45 // 8 * block // 8 for block in range(9)]
    splits = cross_validated(block_sums(returns, 8))
    for index, chosen in enumerate(combinations(range(8), 4)):
        inside = np.zeros(45, np.bool_)
        for block in chosen:
            inside[edges[block] : edges[block + 1]] = True
        first = [sharpe_ratio(days) or 0.0 for days in returns[:, inside]]
        second = [sharpe_ratio(days) or 0.0 for days in returns[:, ~inside]]
        best = int(np.argmax(first))
        assert splits.in_sample[index] == pytest.approx(first[best], rel=1e-5)
        assert splits.out_of_sample[index] == pytest.approx(second[best], rel=1e-4, abs=1e-6)
        assert splits.rank[index] == 1 + sum(ratio < second[best] for ratio in second)


def test_noise_is_a_coin_toss_and_an_edge_is_not_overfitted() -> None:
    rng = np.random.default_rng(5)
    returns = rng.normal(0, 0.01, (300, 500))
    noise = overfitting(block_sums(returns))
    assert noise.splits == 12_870
    assert 0.2 < noise.probability < 0.8
    returns[7] += 0.004
    edge = overfitting(block_sums(returns))
    assert edge.probability < 0.01
    assert edge.out_of_sample > 0.2


def test_sets_that_never_traded_rank_in_the_middle_and_equal_sets_share_a_rank() -> None:
    result = overfitting(block_sums(np.zeros((4, 64))))
    assert (result.probability, result.degradation) == (1.0, None)


def test_a_sample_has_the_winner_and_each_set_once() -> None:
    chosen = sampled_sets(50_000, 77, seed=3, most=100)
    assert (len(chosen), len(set(chosen.tolist())), 77 in chosen) == (100, 100, True)
    assert (chosen == sampled_sets(50_000, 77, seed=3, most=100)).all()
    assert (chosen != sampled_sets(50_000, 77, seed=4, most=100)).any()
    assert sampled_sets(5, 2, seed=3).tolist() == [0, 1, 2, 3, 4]
