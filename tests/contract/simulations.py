"""Run accepted steps on a few hundred bars: they end with a result, or with an error of
the engine.
"""

import json
from typing import Any

import numpy as np

from apps.engine.candles import DAY, IST, TIMEFRAMES, Candles
from apps.engine.errors import EngineError
from apps.engine.language.strategy import parse
from apps.engine.results.wire_records import curve_points, trade_dicts
from apps.engine.simulation.simulate import History, simulate
from apps.market.rulebook.sessions import sessions_of

BARS = 600
MONDAY = 1_704_047_400  # 2024-01-01, midnight in Asia/Kolkata
OPENING = 33_300


def simulated(steps: dict[str, Any]) -> bool:
    """Return whether there was a result; False for an error of the engine."""
    strategy = parse(steps)
    timeframe = strategy.basicInfo.timeframe
    histories = [
        History(symbol, _bars(timeframe, seed), sessions_of(symbol))
        for seed, symbol in enumerate(strategy.basicInfo.symbols)
    ]
    capital = strategy.executionSettings.initialCapital
    try:
        result = simulate(strategy, histories, start=0, end=2**40, capital=capital)
    except EngineError:
        return False
    output = (
        result.performance,
        trade_dicts(result.trades, result.symbols, result.excursions, result.fills),
    )
    json.dumps([output, curve_points(result.curve, 100), result.receipt], allow_nan=False)
    return True


def _bars(timeframe: str, seed: int) -> Candles:
    """Return a random walk of BARS bars around 1,000 rupees, with realistic volatility."""
    random = np.random.default_rng(seed)
    middle = np.round(1000 * np.exp(np.cumsum(random.standard_t(3, BARS + 1) * 0.003)), 2)
    before, after = middle[:-1], middle[1:]
    return Candles.build(
        _times(TIMEFRAMES[timeframe]),
        open=before,
        high=np.maximum(before, after) + 1,
        low=np.minimum(before, after) - 1,
        close=after,
        volume=np.round(random.uniform(0, 1000, BARS)),
    )


def _times(step: int) -> list[int]:
    """Return starts of BARS bars: days at midnight, shorter ones within weekday sessions."""
    if step >= DAY:
        days = (MONDAY + step * i for i in range(2 * BARS))
        return [day for day in days if ((day + IST) // DAY + 3) % 7 < 5][:BARS]
    a_day = -(-22_500 // step)
    weekdays = [MONDAY + DAY * i for i in range(2 * BARS) if i % 7 < 5]
    return [day + OPENING + step * i for day in weekdays for i in range(a_day)][:BARS]
