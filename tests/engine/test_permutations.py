"""The test of timing: positions laid at random, and known facts on such places."""

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import Candles
from apps.engine.results.trade_bars import trades_by_symbol
from apps.engine.simulation.simulate import History, simulate
from apps.engine.studies.permutations import (
    PERMUTATIONS,
    Positions,
    TimingTest,
    place_at_random,
    timing_test,
)
from tests.benchmarks.random_candles import session_bars
from tests.engine.strategies import sma_cross, strategy

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

CROSS = strategy(entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]})


def places(bars: list[int], free: int, *, runs: int = 4_000) -> tuple[Numbers, Numbers]:
    """Return the first and the last bar of the first position in each run, numbered by their
    prices.
    """
    count = sum(bars) + free
    values = np.zeros(len(bars))
    values[0] = 1.0
    positions = Positions(np.array(bars), values, free)
    sums = []
    numbers, flat = np.arange(count, dtype=np.float64), np.ones(count)
    prices: list[tuple[Floats, Floats]] = [(1 / (1 + numbers), flat), (flat, 1 + numbers)]
    for opens, closes in prices:
        gross = np.zeros(runs)
        place_at_random(opens, closes, positions, np.uint64(5), gross)
        sums.append(np.rint(gross).astype(np.int64))
    return sums[0], sums[1]


def test_a_position_lies_anywhere_and_keeps_its_length() -> None:
    first, last = places([4, 1, 6], 9)
    assert (last - first == 3).all()
    assert (first.min(), last.max()) == (0, 19)
    # Half of the other seven bars lie before it, and half of the nine free ones.
    assert first.mean() == pytest.approx((7 + 9) / 2, abs=0.25)


def test_a_single_position_lies_at_each_place_equally_often() -> None:
    first, _ = places([3], 7, runs=20_000)
    counts = np.bincount(first)
    assert len(counts) == 8
    assert counts.min() > 2_250
    assert counts.max() < 2_750


def timed(candles: Candles, *, seed: int = 1, intraday: bool = False) -> TimingTest:
    result = simulate(CROSS, [History("NSE:TEST", candles)], start=0, end=2**40, capital=1e6)
    test = timing_test(trades_by_symbol(result.trades, [candles]), intraday=intraday, seed=seed)
    assert test is not None
    return test


def test_a_random_walk_is_not_timed() -> None:
    values = [timed(session_bars(4, seed=seed)).p_value for seed in range(40)]
    assert 0.3 < np.mean(values) < 0.7
    assert min(values) >= 1 / (PERMUTATIONS + 1)


def test_a_seed_decides_the_whole_test() -> None:
    candles = session_bars(4)
    assert (timed(candles).permuted == timed(candles).permuted).all()
    assert (timed(candles).permuted != timed(candles, seed=2).permuted).any()


def test_a_market_that_only_jumps_over_night_gives_nothing_to_intraday_positions() -> None:
    """Every bar is flat at the price of its date, 1 % higher than the date before."""
    walk = session_bars(4)
    dates = np.repeat(np.arange(4), len(walk) // 4)
    price = 1000 * 1.01**dates
    flat = Candles.build(
        walk.time, open=price, high=price, low=price, close=price, volume=walk.volume
    )
    trades = simulate(CROSS, [History("NSE:TEST", walk)], start=0, end=2**40, capital=1e6).trades
    over_night, intraday = (
        timing_test(trades_by_symbol(trades, [flat]), intraday=intraday, seed=1)
        for intraday in (False, True)
    )
    assert over_night is not None
    assert intraday is not None
    assert np.abs(intraday.permuted).max() < 1e-6
    assert np.abs(over_night.permuted).max() > 10


def test_slippage_is_paid_at_random_places_too() -> None:
    candles = session_bars(4)
    trades = simulate(CROSS, [History("NSE:TEST", candles)], start=0, end=2**40, capital=1e6).trades
    free, slipped = (
        timing_test(trades_by_symbol(trades, [candles]), slippage=rate, intraday=False, seed=1)
        for rate in (0.0, 0.001)
    )
    assert free is not None
    assert slipped is not None
    paid = free.permuted - slipped.permuted
    assert paid == pytest.approx(0.002 * trades["value"].sum())


@pytest.mark.parametrize(("free", "known"), [(20, True), (19, False)])
def test_positions_that_fill_nearly_all_bars_cannot_be_laid_elsewhere(
    *, free: int, known: bool
) -> None:
    candles = session_bars(4)
    trades = simulate(CROSS, [History("NSE:TEST", candles)], start=0, end=2**40, capital=1e6).trades
    alone = trades[:1].copy()
    alone["bars"] = len(candles) - free
    test = timing_test(trades_by_symbol(alone, [candles]), intraday=False, seed=1)
    assert (test is not None) == known
