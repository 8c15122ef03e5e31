"""One stage for many strategies: what they share changes no result."""

import numpy as np

from apps.engine.signals.values import ColumnCache
from apps.engine.signals.watch import watch_of
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.plays import play, to_nobody
from apps.engine.simulation.simulate import NO_CHARGES, History, simulate
from apps.engine.simulation.stage import stage_of
from tests.benchmarks.walks import minutes
from tests.engine.strategies import sma_cross, strategy

CANDLES = minutes(3000)
HISTORIES = [History("NSE:TEST", CANDLES), History("NSE:OTHER", CANDLES.slice(500, 2500))]
CROSS = strategy(entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]})


def test_what_was_computed_before_is_read_and_gives_the_same_signals() -> None:
    cold, warm = (
        stage_of(CROSS, HISTORIES, start=0, end=2**40, report=to_nobody, cache_bytes=size)
        for size in (0, 10**8)
    )
    wanted = cold.cued(watch_of(CROSS), plan_of(CROSS))[1]
    assert wanted.any()
    for _ in range(2):
        assert np.array_equal(warm.cued(watch_of(CROSS), plan_of(CROSS))[1], wanted)


def test_rows_played_alone_are_a_simulation_of_their_range() -> None:
    first, last = 1000, 2200
    start, end = (int(CANDLES.time[row]) for row in (first, last))
    wanted = simulate(CROSS, HISTORIES, start=start, end=end, capital=1e6)
    stage = stage_of(CROSS, HISTORIES, start=0, end=2**40, report=to_nobody)
    plan = plan_of(CROSS)
    market, signals = stage.cued(watch_of(CROSS), plan)
    played = play(
        plan, market, signals, terms_of(stage.contracts, NO_CHARGES),
        capital=1e6, report=to_nobody, rows=slice(first, last),
    )  # fmt: skip
    assert len(wanted.trades) > 10
    assert played.trades.tobytes() == wanted.trades.tobytes()
    assert played.equity.tobytes() == wanted.curve["equity"].tobytes()


def test_a_cache_keeps_what_was_read_last_within_its_bytes() -> None:
    cache, columns = ColumnCache(2 * 80), (np.zeros(10),)
    keys = [(series, 0) for series in "abc"]
    for key in keys[:2]:
        cache.keep(key, columns)
    assert cache.get(keys[0]) is columns
    cache.keep(keys[2], columns)
    assert [cache.get(key) is columns for key in keys] == [True, False, True]
    assert cache.keep(keys[1], (np.zeros(100),))[0].size == 100
    assert cache.get(keys[1]) is None
