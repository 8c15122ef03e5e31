"""What a result's metrics, breakdowns and receipt cost beside its simulation."""

from dataclasses import replace

import pytest

from apps.engine.language.strategy import parse
from apps.engine.metrics.breakdowns import breakdowns
from apps.engine.sessions import Regime, Sessions
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.simulations import Played, TradedMarket, play, to_nobody
from apps.engine.simulation.receipt import hash_candles
from apps.engine.simulation.simulate import History, result_of
from apps.engine.simulation.prepared_data import Stage, stage_of
from tests.benchmarks.peers.with_ours import CAPITAL, CHARGED, SYMBOL, strategy
from tests.benchmarks.side_by_side import compare
from tests.benchmarks.walks import session_bars

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


def test_all_that_follows_a_simulation_against_the_simulation() -> None:
    """A year of minutes. The candles are hashed beside the simulation, on another thread."""
    sessions = Sessions.build([Regime(0, 40_000, 33_300, 55_800)])
    history = History(SYMBOL, session_bars(246), sessions)
    end = int(history.candles.time[-1]) + 60
    plan = plan_of(QUICK_TRADES)

    def simulation() -> tuple[Stage, Played]:
        stage = stage_of(QUICK_TRADES, [history], start=0, end=end, report=to_nobody)
        market, signals = stage.cued(required_inputs(QUICK_TRADES), plan)
        terms = terms_of(stage.symbols, stage.contracts, CHARGED)
        traded = TradedMarket(market, terms, stage.candles)
        return stage, play(plan, traded, signals, capital=CAPITAL, report=to_nobody)

    stage, played = simulation()
    candles_hash = hash_candles(stage.tracks)

    def metrics() -> object:
        fresh = played._replace(
            result_data=replace(played.result_data)
        )  # with nothing computed yet
        result = result_of(
            QUICK_TRADES, stage, CHARGED, fresh, capital=CAPITAL, seed=0,
            candles_hash=lambda: candles_hash,
        )  # fmt: skip
        return breakdowns(result.trades, result.curve, symbols=stage.symbols, capital=CAPITAL)

    name = (
        f"{len(played.trades):,} trades in {len(played.time):,} minutes, metrics, breakdowns and"
        " receipt against the simulation"
    )
    assert compare(name, metrics, simulation, rounds=31) > 0
