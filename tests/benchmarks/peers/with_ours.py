"""The work in our engine: a complete backtest, and one without figures and receipt."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from apps.engine.candles import Candles, CandleTable
from apps.engine.language.strategy import Strategy, parse
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.charges import NO_CHARGES, ChargeRow, Schedule
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import PreparedData, prepare_data
from apps.engine.simulation.simulate import History, simulate
from apps.engine.simulation.simulations import TradedMarket, ignore_progress, simulate_plan
from manage import OBJECTS_BETWEEN_COLLECTIONS
from tests.benchmarks.peers.serve import Work, serve
from tests.engine.configurations import CROSS

CAPITAL = 10_000_000.0
MOST_BARS = 10_000_000
SYMBOL = "NSE:WALK"
CHARGED: Schedule = (
    ChargeRow(
        "",
        0,
        brokerage=0.0003,
        brokerage_cap=20.0,
        tax_sell=0.00025,
        exchange=0.0000297,
        regulator=0.000001,
        stamp_buy=0.00003,
        gst=0.18,
    ),
)


def strategy(symbols: int = 1) -> Strategy:
    """Return a strategy: EMA 9 crosses above EMA 21: long 100 shares, stop 1 %, target 2 %, all
    symbols at once.
    """
    return parse(_steps(symbols))


def every_rule() -> Strategy:
    """Return the same with trailing stop, adds, a longest holding, slippage and a daily limit that
    is reached.
    """
    steps = _steps(1)
    steps["positionSizing"]["pyramiding"] = {"enabled": True, "maxEntries": 3}
    steps["exitConditions"] |= {
        "trailingStop": {
            "enabled": True,
            "type": "percentage",
            "percentage": 0.8,
            "activationThreshold": 0.4,
        },
        "maxHoldingCandles": 2_000,
    }
    steps["riskParameters"]["maxDailyLoss"] = 20_000
    steps["executionSettings"]["slippage"] = 0.03
    return parse(steps)


def _steps(symbols: int) -> dict[str, dict[str, Any]]:
    return {
        "basicInfo": {"strategyType": "momentum", "timeframe": "1m", "symbols": _names(symbols)},
        "positionSizing": {"method": "fixed_quantity", "quantity": 100},
        "entryConditions": {"positionType": "long", "conditions": [CROSS]},
        "exitConditions": {
            "stopLoss": {"type": "percentage", "percentage": 1},
            "takeProfit": {"type": "percentage", "percentage": 2},
        },
        "riskParameters": {
            "maxPositionSize": 1e9,
            "maxDailyLoss": 1e9,
            "maxOpenPositions": symbols,
        },
        "executionSettings": {
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "productType": "delivery",
        },
    }


def _names(symbols: int) -> list[str]:
    return [SYMBOL + str(number or "") for number in range(symbols)]


def history_of(path: str) -> tuple[History, int, int]:
    """The candles of a file, and their range."""
    histories, start, end = histories_of(path)
    return histories[0], start, end


def histories_of(path: str) -> tuple[list[History], int, int]:
    """Return the candles of a file, or of all files in a folder, and their range."""
    files = sorted(Path(path).glob("*.npz")) or [Path(path)]
    candles = list(_read(files))
    time = candles[0].time
    histories = [History(*pair) for pair in zip(_names(len(files)), candles, strict=True)]
    return histories, int(time[0]), int(time[-1]) + 60


def _read(files: Sequence[Path]) -> Iterator[Candles]:
    """Read many symbols into one table, as the service does."""
    table = CandleTable.build(MOST_BARS)
    for file in files:
        candles = Candles.build(**np.load(file))
        yield table.add(candles) if len(files) > 1 else candles


def whole_backtest(path: str) -> Work:
    histories, start, end = histories_of(path)
    crossing = strategy(len(histories))

    def run() -> int:
        result = simulate(crossing, histories, start=start, end=end, capital=CAPITAL)
        return len(result.trades)

    return run


def candles_to_curve(path: str) -> Work:
    histories, start, end = histories_of(path)
    crossing = strategy(len(histories))

    def run() -> int:
        data = prepare_data(crossing, histories, start=start, end=end, report=ignore_progress)
        return _traded(crossing, data, NO_CHARGES)

    return run


def joined_to_curve(path: str) -> Work:
    """Simulate with data prepared beforehand."""
    histories, start, end = histories_of(path)
    crossing = strategy(len(histories))
    data = prepare_data(crossing, histories, start=start, end=end, report=ignore_progress)

    def run() -> int:
        return _traded(crossing, data, NO_CHARGES)

    return run


def by_every_rule(path: str) -> Work:
    """Simulate with charges too."""
    histories, start, end = histories_of(path)
    full = every_rule()

    def run() -> int:
        data = prepare_data(full, histories, start=start, end=end, report=ignore_progress)
        return _traded(full, data, CHARGED)

    return run


def _traded(crossing: Strategy, data: PreparedData, schedule: Schedule) -> int:
    plan = plan_of(crossing)
    market, signals = data.with_signals(required_inputs(crossing), plan)
    traded = TradedMarket(market, terms_of(data.symbols, data.contracts, schedule))
    return len(simulate_plan(plan, traded, signals, capital=CAPITAL, report=ignore_progress).trades)


if __name__ == "__main__":
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)  # as a worker does
    serve(
        {
            "curve": candles_to_curve,
            "joined": joined_to_curve,
            "rules": by_every_rule,
            "backtest": whole_backtest,
        }
    )
