"""A market prepared for many strategies: sharing it changes no result."""

import numpy as np

from apps.engine.signals.columns import ColumnCache
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import NO_CHARGES, History, simulate
from apps.engine.simulation.simulations import TradedMarket, ignore_progress, simulate_plan
from tests.benchmarks.random_candles import random_minutes
from tests.engine.strategies import sma_cross, strategy

CANDLES = random_minutes(3000)
HISTORIES = [History("NSE:TEST", CANDLES), History("NSE:OTHER", CANDLES.slice(500, 2500))]
CROSS = strategy(entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]})


def test_stored_columns_are_read_and_give_the_same_signals() -> None:
    cold, warm = (
        prepare_data(CROSS, HISTORIES, start=0, end=2**40, report=ignore_progress, cache_bytes=size)
        for size in (0, 10**8)
    )
    wanted = cold.with_signals(required_inputs(CROSS), plan_of(CROSS))[1]
    assert wanted.any()
    for _ in range(2):
        assert np.array_equal(warm.with_signals(required_inputs(CROSS), plan_of(CROSS))[1], wanted)


def test_simulating_a_slice_of_rows_equals_a_simulation_of_that_range() -> None:
    first, last = 1000, 2200
    start, end = (int(CANDLES.time[row]) for row in (first, last))
    wanted = simulate(CROSS, HISTORIES, start=start, end=end, capital=1e6)
    data = prepare_data(CROSS, HISTORIES, start=0, end=2**40, report=ignore_progress)
    plan = plan_of(CROSS)
    market, signals = data.with_signals(required_inputs(CROSS), plan)
    terms = terms_of(data.symbols, data.contracts, NO_CHARGES)
    traded, rows = TradedMarket(market, terms, data.candles), slice(first, last)
    simulation = simulate_plan(
        plan, traded, signals, capital=1e6, report=ignore_progress, rows=rows
    )
    assert len(wanted.trades) > 10
    assert simulation.trades.tobytes() == wanted.trades.tobytes()
    assert simulation.equity.tobytes() == wanted.curve["equity"].tobytes()


def test_a_cache_keeps_the_last_reads_within_its_bytes() -> None:
    cache, columns = ColumnCache(2 * 80), (np.zeros(10),)
    for key in "ab":
        cache.add(key, columns)
    assert cache.get("a") is columns
    cache.add("c", columns)
    assert [cache.get(key) is columns for key in "abc"] == [True, False, True]
    cache.add("b", (np.zeros(100),))
    assert cache.get("b") is None
