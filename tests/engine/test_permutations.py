"""The test of timing: positions laid at random, and what is known of such places."""

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import Candles
from apps.engine.metrics.trade_bars import trades_by_symbol
from apps.engine.simulation.simulate import History, simulate
from apps.engine.studies.permutations import (
    PERMUTATIONS,
    Positions,
    TimingTest,
    place_at_random,
    timing_test,
)
from tests.benchmarks.walks import session_bars
from tests.engine.strategies import sma_cross, strategy

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

CROSS = strategy(entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]})


def places(spans: list[int], free: int, *, runs: int = 4_000) -> tuple[Numbers, Numbers]:
    """The entry and the exit of the first position in each run: prices tell the bars by number."""
    bars = sum(max(span, 1) for span in spans) + free
    values = np.zeros(len(spans))
    values[0] = 1.0
    positions = Positions(np.array(spans), values, float(free))
    sums = []
    numbers, flat = np.arange(bars, dtype=np.float64), np.ones(bars)
    prices: list[tuple[Floats, Floats]] = [(1 / (1 + numbers), flat), (flat, 1 + numbers)]
    for opens, closes in prices:
        gross = np.zeros(runs)
        place_at_random(opens, closes, positions, np.uint64(5), gross)
        sums.append(np.rint(gross).astype(np.int64))
    return sums[0], sums[1]


def test_a_position_lies_anywhere_and_keeps_its_length() -> None:
    entry, leave = places([3, 0, 5], 10)
    assert (leave - entry == 3).all()
    assert (entry.min(), leave.max()) == (0, 18)
    # Half of the other six bars lie before it, and half of the 9 whole bars that gaps reach.
    assert entry.mean() == pytest.approx((6 + 9) / 2, abs=0.25)


def test_alone_it_lies_at_each_place_as_often() -> None:
    entry, _ = places([2], 8, runs=20_000)
    counts = np.bincount(entry)
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


def test_a_seed_decides_all_of_it() -> None:
    candles = session_bars(4)
    assert (timed(candles).permuted == timed(candles).permuted).all()
    assert (timed(candles).permuted != timed(candles, seed=2).permuted).any()


def test_a_market_that_only_jumps_over_night_gives_nothing_to_intraday_positions() -> None:
    """Every bar is flat at the price of its date, which is 1 % higher than that before."""
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


def test_positions_that_fill_all_bars_cannot_be_laid_elsewhere() -> None:
    candles = session_bars(4)
    trades = simulate(CROSS, [History("NSE:TEST", candles)], start=0, end=2**40, capital=1e6).trades
    (first,) = trades_by_symbol(trades[:1], [candles])
    always = first._replace(entry=first.entry * 0, exit=first.entry * 0 + len(candles) - 1)
    assert timing_test([always], intraday=False, seed=1) is not None
    twice = always._replace(
        trades=np.repeat(always.trades, 2), entry=np.repeat(0, 2), exit=np.repeat(always.exit, 2)
    )
    assert timing_test([twice], intraday=False, seed=1) is None
