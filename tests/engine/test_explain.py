"""Explanations of a bar in words agree with the signals."""

from itertools import pairwise
from typing import Any, Literal

import numpy as np

from apps.engine.candles import Candles
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import CandleSource
from apps.engine.kernel.codes import ENTER_LONG, ENTER_SHORT
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.language.conditions import Side
from apps.engine.language.strategy import Strategy, parse
from apps.engine.signals.columns import SymbolBars
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import signals_of
from apps.engine.simulation.explain import (
    ListedCondition,
    exits_at,
    opposite_at,
    sides_at,
    signals_at,
)
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.simulate import History, simulate
from apps.engine.simulation.timeline import SymbolSeries
from apps.engine.simulation.trade_levels import Entry, Levels, levels_of
from apps.engine.simulation.verdict import StoredResult
from tests.engine.configurations import CROSS, RSI_ABOVE_50, complete

MONDAY = 1_704_080_700  # 2024-01-01, 09:15 in Asia/Kolkata


def walk(n: int) -> Candles:
    rng = np.random.default_rng(3)
    close = np.round(100 * np.exp(np.cumsum(rng.normal(0, 0.002, n))), 2)
    opens = np.r_[close[:1], close[:-1]]
    return Candles.build(
        MONDAY + np.arange(n) * 300,
        open=opens,
        high=np.maximum(opens, close) + 0.05,
        low=np.minimum(opens, close) - 0.05,
        close=close,
        volume=np.full(n, 10.0),
    )


def symbol_series(candles: Candles) -> SymbolSeries:
    longer = AlignedCandles.of(candles, "5m", candles, "1h", None)
    return SymbolSeries(
        "NSE:TEST", candles, candles, np.empty(0, np.uint8), {CandleSource(timeframe="1h"): longer}
    )


def entering(*conditions: dict[str, Any], **entry: Any) -> Strategy:
    steps = {"positionType": "both", "conditions": list(conditions), **entry}
    return parse(complete(entryConditions=steps))


RISING = {
    "type": "indicator_value",
    "indicator": {"type": "EMA", "period": 5, "source": "hl2"},
    "operator": "rising",
    "candles": 2,
}
MORNING = {"type": "time_window", "from": "09:15", "to": "12:00"}
EITHER = {"type": "group", "logicalOperator": "OR", "conditions": [RISING, MORNING]}
ENGULFING = {"type": "candle_pattern", "pattern": "CDLENGULFING", "direction": "bullish"}
LONG_ALONE = {**RSI_ABOVE_50, "side": "long"}


def test_a_side_has_a_signal_exactly_where_signals_have_its_bit() -> None:
    candles = walk(260)
    for strategy in (
        entering(CROSS, RSI_ABOVE_50),
        entering(RSI_ABOVE_50, EITHER, confirmationCandles=3),
        entering(CROSS, LONG_ALONE, ENGULFING, logicalOperator="OR"),
    ):
        bits = signals_of(required_inputs(strategy), SymbolBars(candles), 0, len(candles))
        seen, changes = symbol_series(candles), np.flatnonzero(np.diff(bits))[:12]
        for bar in {*range(0, len(candles), 20), *changes.tolist(), *(changes + 1).tolist()}:
            long, short = sides_at(strategy, seen, bar)
            assert long["signal"] is bool(bits[bar] & ENTER_LONG)
            assert short["signal"] is bool(bits[bar] & ENTER_SHORT)


def conditions_at(strategy: Strategy, side: int) -> list[ListedCondition]:
    return sides_at(strategy, symbol_series(walk(260)), 200)[side]["conditions"]


def path_of(index: int) -> str:
    return f"entryConditions.conditions[{index}]"


def test_each_condition_is_described_with_its_values() -> None:
    upper = {"type": "BBANDS", "period": 20, "output": "upper", "offset": 2}
    band = {**CROSS, "indicator1": {"type": "PRICE"}, "indicator2": upper}
    strategy = entering(band, LONG_ALONE, ENGULFING, EITHER)
    long, short = (conditions_at(strategy, side) for side in (0, 1))
    assert [(condition["condition"], condition["text"]) for condition in long] == [
        (path_of(0), "PRICE crosses above BBANDS(20, 2, SMA).upper, 2 back"),
        (path_of(1), "RSI(14) above 50"),
        (path_of(2), "CDLENGULFING, bullish"),
        (path_of(3), "any of these 2"),
    ]
    assert [part["text"] for part in long[3]["parts"]] == [
        "EMA(5) of hl2 rising over 2 candles",
        "starts from 09:15 to before 12:00",
    ]
    assert [(condition["condition"], condition["text"]) for condition in short[:2]] == [
        (path_of(0), "PRICE crosses below BBANDS(20, 2, SMA).lower, 2 back"),
        (path_of(2), "CDLENGULFING, bearish"),
    ]
    price, band_value = long[0]["operands"]
    close = walk(260).close
    assert price == {"name": "PRICE", "value": close[200], "before": close[199]}
    assert band_value["value"] is not None


def test_unknown_values_are_empty_and_do_not_hold() -> None:
    strategy = entering(RSI_ABOVE_50)
    (condition,) = sides_at(strategy, symbol_series(walk(260)), 13)[0]["conditions"]
    (operand,) = condition["operands"]
    assert (condition["holds"], operand["value"], operand["before"]) == (False, None, None)


def test_holding_at_a_bar_differs_from_being_confirmed() -> None:
    strategy = entering(RSI_ABOVE_50, confirmationCandles=2)
    series = [
        sides_at(strategy, symbol_series(walk(120)), bar)[0]["conditions"][0]
        for bar in range(20, 120)
    ]
    held = [condition["holds"] for condition in series]
    confirmed = [condition["confirmed"] for condition in series[1:]]
    assert confirmed == [a and b for a, b in pairwise(held)]
    assert any(condition["holds"] and not condition["confirmed"] for condition in series)


LEAVING = {
    "stopLoss": {"type": "atr", "atrPeriod": 5, "atrMultiplier": 1.5},
    "takeProfit": {"type": "risk_reward", "ratio": 1},
    "trailingStop": {"enabled": True, "type": "percentage", "percentage": 0.3},
    "conditions": [
        {
            "type": "indicator_value",
            "indicator": {"type": "RSI", "period": 5},
            "operator": "above",
            "value": 60,
        },
        {"type": "group", "logicalOperator": "AND", "conditions": [MORNING, RISING]},
    ],
    "logicalOperator": "AND",
}


def leaving(**changes: Any) -> Strategy:
    """Return steps that enter often, on both sides, and leave in every way."""
    entry = {"positionType": "both", "conditions": [{**CROSS, "indicator2": {"type": "PRICE"}}]}
    settings = {
        "mode": "paper",
        "exchange": "NSE",
        "orderType": "market",
        "slippage": 0,
        "productType": "carryforward",
    }
    steps = complete(entryConditions=entry, exitConditions=LEAVING, executionSettings=settings)
    return parse({**steps, **changes})


def test_every_exit_is_explained_by_its_candle_and_levels() -> None:
    given, candles = leaving(), walk(600)
    result = simulate(
        given, [History("NSE:TEST", candles)], start=0, end=2**40, capital=1_000_000.0
    )
    seen = SymbolSeries.of(given, History("NSE:TEST", candles), 0, 2**40)
    stored = StoredResult(result.trades, result.curve, 1_000_000.0, {})
    met = set()
    for index, trade in enumerate(result.trades):
        entry, leave = np.searchsorted(candles.time, [trade["entry_time"], trade["exit_time"]])
        reason = EXIT_REASONS[trade["reason"]]
        side: Literal["long", "short"] = "long" if trade["side"] > 0 else "short"
        met.add(reason)
        for bar in range(entry, leave):
            due = reason if bar == leave - 1 else "nothing"
            said = exits_at(side, given, seen, bar)["signal"]
            assert said is (due == "signal")
            assert opposite_at(side, given, seen, bar) in (due == "opposite_signal", said)
            assert index in stored.held_at(0, int(candles.time[bar]))
        assert index in stored.held_at(0, int(trade["exit_time"]))
        levels = levels_of(entry_of(trade), given, Contract(), seen, int(leave))
        assert levels is not None
        assert_price(trade, levels, reason, float(candles.open[leave]))
    ways = {"signal", "opposite_signal", "stop_loss", "take_profit", "trailing_stop"}
    assert met >= ways


def entry_of(trade: Any) -> Entry:
    side: Side = "long" if trade["side"] > 0 else "short"
    return Entry(side, int(trade["entry_time"]), float(trade["entry_price"]))


def assert_price(trade: Any, levels: Levels, reason: str, opened: float) -> None:
    """Check that a level is filled at its price, unless the open is beyond it."""
    places = {
        "stop_loss": levels.stop,
        "trailing_stop": levels.trailed,
        "take_profit": levels.target,
    }
    if reason in places:
        assert trade["exit_price"] in (places[reason], opened)


def test_levels_of_a_position_with_possible_adds_are_not_given() -> None:
    pyramid = {
        "method": "fixed_quantity",
        "quantity": 1,
        "pyramiding": {"enabled": True, "maxEntries": 2},
    }
    given, candles = leaving(positionSizing=pyramid), walk(300)
    result = simulate(
        given, [History("NSE:TEST", candles)], start=0, end=2**40, capital=1_000_000.0
    )
    seen = SymbolSeries.of(given, History("NSE:TEST", candles), 0, 2**40)
    assert levels_of(entry_of(result.trades[0]), given, Contract(), seen, 100) is None


def test_an_entry_and_its_opposite_at_one_close_are_reported_as_both() -> None:
    volume = {"type": "indicator_value", "indicator": {"type": "VOLUME"}, "operator": "above"}
    for position, closes, wanted in (
        ("long", True, ["long", "short"]),
        ("long", False, ["long"]),
        ("both", True, ["long", "short"]),
    ):
        given = parse(
            complete(
                entryConditions={"positionType": position, "conditions": [{**volume, "value": 0}]},
                exitConditions={**LEAVING, "conditions": [], "exitOnOppositeSignal": closes},
            )
        )
        seen = symbol_series(walk(30))
        assert signals_at(sides_at(given, seen, 20), given, seen, 20) == wanted
        assert opposite_at("long", given, seen, 20) is (False if closes else None)


def test_an_opposite_signal_is_reported_only_if_it_closes() -> None:
    one_sided = {"positionType": "long", "conditions": [RSI_ABOVE_50]}
    for written, expected in ((None, None), (True, True)):
        exits = {**LEAVING, "conditions": [], "exitOnOppositeSignal": written}
        exits = {name: value for name, value in exits.items() if value is not None}
        given = parse(complete(entryConditions=one_sided, exitConditions=exits))
        answers = [
            opposite_at("long", given, symbol_series(walk(120)), bar) for bar in range(20, 120)
        ]
        assert (True in answers, None in answers) == (expected is True, expected is None)
