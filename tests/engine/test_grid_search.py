"""Sets played together give the same results as each alone."""

import gc
import weakref
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from apps.engine.candles import DAY
from apps.engine.candles.candles import frozen
from apps.engine.errors import TooManyTrades
from apps.engine.language.strategy import parse
from apps.engine.results.result_data import ResultData
from apps.engine.simulation import simulations
from apps.engine.simulation.market import join
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import NO_CHARGES, History
from apps.engine.simulation.simulations import EVERY_ROW, buffers_for, ignore_progress, row_range_of
from apps.engine.simulation.timeline import SymbolSeries
from apps.engine.studies import grid_search
from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import GridSearch, TooShort, require_days, search_grid
from apps.engine.studies.parameters import Parameter
from tests.benchmarks.random_candles import random_minutes
from tests.engine.strategies import sma_cross, strategy

CANDLES = random_minutes(3000)
ONE_HISTORY = [History("NSE:TEST", CANDLES)]
TWO = [*ONE_HISTORY, History("NSE:OTHER", CANDLES.slice(500, 2500))]
STOPPED = strategy(
    entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]},
    exitConditions={"stopLoss": {"type": "atr", "atrPeriod": 14, "atrMultiplier": 2}},
)
STEPS = STOPPED.model_dump(mode="json", exclude_none=True, by_alias=True)
STOP = "exitConditions.stopLoss"
GRID = Grid(
    tuple(
        Parameter.model_validate(sent)
        for sent in (
            {"path": f"{STOP}.atrPeriod", "from": 7, "to": 21, "step": 7},
            {"path": f"{STOP}.atrMultiplier", "from": 1, "to": 2.5, "step": 0.5},
        )
    )
)


def search_over(histories: list[History]) -> GridSearch:
    data = prepare_data(
        parse(STEPS), histories, start=0, end=2**40, report=ignore_progress, cache_bytes=10**8
    )
    return GridSearch(data, STEPS, GRID, NO_CHARGES, 1e6)


@pytest.mark.parametrize("histories", [ONE_HISTORY, TWO])
def test_sets_with_other_levels_are_played_apart(histories: list[History]) -> None:
    level = {"type": "level", "price": {"type": "MIN", "period": 5, "source": "low"}, "buffer": 0.1}
    steps = {**STEPS, "exitConditions": {"stopLoss": level}}
    sent = {"path": f"{STOP}.price.period", "from": 5, "to": 40, "step": 5}
    grid = Grid((Parameter.model_validate(sent),))
    data = prepare_data(parse(steps), histories, start=0, end=2**40, report=ignore_progress)
    search, sets = GridSearch(data, steps, grid, NO_CHARGES, 1e6), range(grid.size)
    row_ranges = [row_range_of(data.market, EVERY_ROW, by_days=True)]
    buffers = buffers_for(data.market, row_ranges, len(sets))
    signals = np.empty((len(sets), data.market.symbols, data.market.rows), np.uint8)
    played = {
        index: outputs[0].trades.tobytes()
        for index, outputs in search.simulate_plans(
            sets, row_ranges, buffers, signals, ignore_progress
        )
        if outputs
    }
    alone = {
        index: search.simulate_plan(
            index, EVERY_ROW, capital=1e6, report=ignore_progress
        ).trades.tobytes()
        for index in sets
    }
    assert played == alone
    assert len(set(played.values())) > 2


@pytest.mark.parametrize("histories", [ONE_HISTORY, TWO])
def test_sets_that_share_ranges_are_played_together(
    histories: list[History], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, together = search_over(histories), list[int]()
    simulate_plans = simulations.simulate_plans

    def noted(plans, *given, **named):  # type: ignore[no-untyped-def]
        together.append(len(plans))
        return simulate_plans(plans, *given, **named)

    monkeypatch.setattr(grid_search, "simulate_plans", noted)
    market, sets = search.data.market, range(GRID.size)
    row_ranges = [row_range_of(market, EVERY_ROW, by_days=True)]
    buffers = buffers_for(market, row_ranges, len(sets))
    signals = np.empty((len(sets), market.symbols, market.rows), np.uint8)
    simulation = dict(search.simulate_plans(sets, row_ranges, buffers, signals, ignore_progress))
    assert together == [4, 4, 4]
    together_trades = {
        index: outputs[0].trades.tobytes() for index, outputs in simulation.items() if outputs
    }
    wanted = {i: search.simulate_plan(i, report=ignore_progress).trades.tobytes() for i in sets}
    assert together_trades == wanted
    assert len(set(wanted.values())) == len(sets)


def test_a_search_that_is_given_up_puts_no_more_sets_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search, with_signals = search_over(ONE_HISTORY), list[object]()
    prepared = GridSearch._prepared

    def noted(of: GridSearch, *given):  # type: ignore[no-untyped-def]
        with_signals.append(given)
        return prepared(of, *given)

    class GivenUp(Exception):
        """Raised by the caller."""

    def unless_given_up(done: float) -> None:
        if len(with_signals) == 2:
            raise GivenUp

    monkeypatch.setattr(GridSearch, "_prepared", noted)
    market, sets = search.data.market, range(GRID.size)
    row_ranges = [row_range_of(market, EVERY_ROW, by_days=True)]
    buffers = buffers_for(market, row_ranges, len(sets))
    signals = np.empty((len(sets), market.symbols, market.rows), np.uint8)
    with pytest.raises(GivenUp):
        list(search.simulate_plans(sets, row_ranges, buffers, signals, unless_given_up))
    assert len(with_signals) == 2


def test_weeks_are_long_enough_for_a_figure_of_a_year_from_the_fifth_on() -> None:
    weeks = random_minutes(5)
    weeks = replace(weeks, time=frozen(weeks.time[0] + np.arange(5) * 7 * DAY))
    market = join([SymbolSeries.of(STOPPED, History("NSE:TEST", weeks), 0, 2**40)]).market
    require_days(market, [EVERY_ROW], "sharpeRatioAnnualized")  # 35 days
    with pytest.raises(TooShort, match="has 4"):
        require_days(market, [slice(4)], "sharpeRatioAnnualized")


def test_memory_of_a_search_is_free_as_soon_as_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its columns are many, and the garbage collector comes late."""
    monkeypatch.setattr("apps.engine.errors.MOST_TRADES", 2)
    search = search_over(ONE_HISTORY)
    held = weakref.ref(search)
    gc.disable()
    try:
        with suppress(TooManyTrades):
            search_grid(
                search, range(GRID.size), [EVERY_ROW], trades_of, threads=1, report=ignore_progress
            )
            pytest.fail("it has more trades than that")
        del search
        assert held() is None
    finally:
        gc.enable()


def trades_of(result_data: ResultData) -> int:
    return len(result_data.trades)
