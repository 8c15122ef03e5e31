"""The cost of a result's metrics, breakdowns and receipt beside its simulation."""

from dataclasses import replace

import pytest

from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.language.strategy import parse
from apps.engine.results.breakdowns import trade_breakdowns
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import PreparedData, prepare_data
from apps.engine.simulation.receipt import hash_candles
from apps.engine.simulation.simulate import History, result_of
from apps.engine.simulation.simulations import (
    Simulation,
    TradedMarket,
    ignore_progress,
    simulate_plan,
)
from tests.benchmarks.peers.with_ours import CAPITAL, CHARGED, SYMBOL, strategy
from tests.benchmarks.random_candles import session_bars
from tests.benchmarks.side_by_side import compare

pytestmark = pytest.mark.bench

STEPS = strategy().model_dump(mode="json", exclude_none=True, by_alias=True)
QUICK_TRADES = parse(
    {
        **STEPS,
        "entryConditions": {**STEPS["entryConditions"], "positionType": "both"},
        "exitConditions": {
            "stopLoss": {"type": "percentage", "percentage": 0.1},
            "takeProfit": {"type": "percentage", "percentage": 0.2},
            "maxHoldingCandles": 12,
        },
        "executionSettings": {**STEPS["executionSettings"], "productType": "intraday"},
    }
)


def test_the_time_after_a_simulation_against_the_simulation() -> None:
    """A year of minutes. Another thread hashes the candles during the simulation."""
    sessions = Sessions.build([Regime(0, 40_000, 33_300, 55_800)])
    history = History(SYMBOL, session_bars(246), sessions)
    end = int(history.candles.time[-1]) + 60
    plan = plan_of(QUICK_TRADES)

    def simulated() -> tuple[PreparedData, Simulation]:
        data = prepare_data(QUICK_TRADES, [history], start=0, end=end, report=ignore_progress)
        market, signals = data.with_signals(required_inputs(QUICK_TRADES), plan)
        terms = terms_of(data.symbols, data.contracts, CHARGED)
        traded = TradedMarket(market, terms, data.candles)
        return data, simulate_plan(plan, traded, signals, capital=CAPITAL, report=ignore_progress)

    data, simulation = simulated()
    candle_series = hash_candles(data.all_series, QUICK_TRADES.basicInfo.timeframe)

    def metrics() -> object:
        fresh = simulation._replace(
            result_data=replace(simulation.result_data)
        )  # with nothing computed yet
        result = result_of(
            QUICK_TRADES,
            data,
            CHARGED,
            fresh,
            capital=CAPITAL,
            seed=0,
            candle_series=lambda: candle_series,
        )
        return trade_breakdowns(result.trades, result.curve, symbols=data.symbols, capital=CAPITAL)

    name = (
        f"{len(simulation.trades):,} trades in {len(simulation.time):,} minutes, metrics,"
        " breakdowns and receipt against the simulation"
    )
    assert compare(name, metrics, simulated, rounds=31) > 0
