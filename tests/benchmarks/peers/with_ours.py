"""The work in our engine: a whole backtest, and without figures and receipt."""

from __future__ import annotations

import numpy as np

from apps.engine.candles import Candles
from apps.engine.charges import NO_CHARGES
from apps.engine.language.strategy import Strategy, parse
from apps.engine.simulation.plan import Contract, plan_of, terms_of
from apps.engine.simulation.simulate import History, play, simulate, to_nobody
from apps.engine.simulation.stage import stage_of
from tests.benchmarks.peers.serve import Work, serve
from tests.engine.steps import CROSS

CAPITAL = 10_000_000.0
SYMBOL = "NSE:WALK"


def strategy() -> Strategy:
    """EMA 9 crosses above EMA 21: long 100 shares, stop 1 %, target 2 %."""
    steps = {
        "basicInfo": {"strategyType": "momentum", "timeframe": "1m", "symbols": [SYMBOL]},
        "positionSizing": {"method": "fixed_quantity", "quantity": 100},
        "entryConditions": {"positionType": "long", "conditions": [CROSS]},
        "exitConditions": {
            "stopLoss": {"type": "percentage", "percentage": 1},
            "takeProfit": {"type": "percentage", "percentage": 2},
        },
        "riskParameters": {"maxPositionSize": 1e9, "maxDailyLoss": 1e9, "maxOpenPositions": 1},
        "executionSettings": {
            "mode": "paper", "exchange": "NSE", "orderType": "market", "productType": "delivery",
        },
    }  # fmt: skip
    return parse(steps)


def history_of(path: str) -> tuple[History, int, int]:
    time, open_, high, low, close, volume = np.load(path)
    candles = Candles.build(time, open=open_, high=high, low=low, close=close, volume=volume)
    return History(SYMBOL, candles), int(time[0]), int(time[-1]) + 60


def whole_backtest(path: str) -> Work:
    history, start, end = history_of(path)
    crossing = strategy()

    def run() -> int:
        result = simulate(crossing, [history], start=start, end=end, capital=CAPITAL)
        return len(result.trades)

    return run


def candles_to_curve(path: str) -> Work:
    history, start, end = history_of(path)
    crossing = strategy()

    def run() -> int:
        plan = plan_of(crossing)
        stage = stage_of(crossing, [history], start=start, end=end, report=to_nobody)
        cued = stage.cued(crossing, plan)
        played = play(
            plan, *cued, terms_of([Contract()], NO_CHARGES), capital=CAPITAL, report=to_nobody
        )
        return len(played.trades)

    return run


if __name__ == "__main__":
    serve({"curve": candles_to_curve, "backtest": whole_backtest})
