"""Random strategies over most of the language."""

import random
from collections.abc import Sequence
from typing import Any

FLOWS: tuple[dict[str, Any], ...] = (
    {"type": "OBV"},
    {"type": "AD"},
    {"type": "VWAP"},
    {"type": "VWAP", "anchor": "week", "output": "upper"},
    {"type": "PIVOT_POINTS", "method": "camarilla", "output": "r3"},
    {"type": "RELATIVE_VOLUME", "period": 2},
    {"type": "RENKO", "percentage": 0.1, "output": "bricks"},
    {"type": "FISHER"},
    {"type": "SQUEEZE", "output": "momentum"},
)
LONGER = {"5m": ("15m", "1h", "1d"), "15m": ("1h", "1d"), "1h": ("1d",)}


def random_steps(
    rng: random.Random, symbols: Sequence[str], timeframe: str, *, alerts: Sequence[str] = ()
) -> dict[str, Any]:
    """Return random steps, by their wire names; with conditions on alerts if names are given."""
    joined = rng.choice(["AND", "OR", "OR"])
    conditions = [_condition(rng, timeframe) for _ in range(rng.choice([1, 1, 2, 3]))]
    orders = rng.choice(["market"] * 4 + ["limit", "stop"])
    settings = {
        "mode": "paper",
        "exchange": "NSE",
        "orderType": orders,
        "slippage": rng.choice([0, 0, 0.02]),
        "limitOffset": rng.choice([0, 0.05, 0.2]),
        "productType": rng.choice(["intraday", "delivery"]),
        "initialCapital": 300_000,
        "broker": rng.choice(["none", "zerodha"]),
    }
    if settings["orderType"] == "market":
        del settings["limitOffset"]
    entry = {
        "positionType": rng.choice(["long", "short", "both", "both"]),
        "logicalOperator": joined,
        "confirmationCandles": rng.choice([1, 1, 1, 2]),
        "conditions": conditions,
    }
    exits = _exits(rng, timeframe)
    if alerts:
        entry["conditions"] = [*conditions, _alert(rng, alerts)]
        exits["conditions"] = [*exits.get("conditions", ()), _alert(rng, alerts)]
        exits["logicalOperator"] = "OR"
    if len(symbols) > 1 and entry["positionType"] != "both" and rng.random() < 0.7:
        entry["rank"] = _rank(rng)
        exits["onRank"] = rng.choice(["hold", "leave"])
    return {
        "basicInfo": {"strategyType": "momentum", "timeframe": timeframe, "symbols": list(symbols)},
        "positionSizing": _sizing(rng),
        "entryConditions": entry,
        "exitConditions": exits,
        "riskParameters": {
            "maxPositionSize": rng.choice([40_000, 250_000]),
            "maxDailyLoss": rng.choice([400, 2_500, 100_000]),
            "maxOpenPositions": rng.randint(1, 3),
            **_limits(rng),
        },
        "executionSettings": settings,
    }


def _alert(rng: random.Random, names: Sequence[str]) -> dict[str, Any]:
    """Return a condition on an alert, or on any of two."""
    single = {"type": "signal", "name": rng.choice(names), "within": rng.choice([1, 1, 3])}
    if rng.random() < 0.7:
        return {**single, "side": rng.choice(["long", "short", "both"])}
    parts = [{**single, "side": side} for side in ("long", "short")]
    return {"type": "group", "logicalOperator": "OR", "conditions": parts}


def _rank(rng: random.Random) -> dict[str, Any]:
    by = rng.choice(
        [
            {"type": "ROC", "period": rng.randint(2, 20)},
            {"type": "RSI", "period": 5},
            {
                "type": "CALC",
                "operator": "divide",
                "operands": [{"type": "ATR"}, {"type": "PRICE"}],
            },
        ]
    )
    return {"by": by, "order": rng.choice(["highest", "lowest"]), "top": 1, "every": "candle"}


def _limits(rng: random.Random) -> dict[str, Any]:
    limits: dict[str, Any] = {
        "maxEntriesPerDay": rng.choice([1, 3]),
        "maxEntriesPerSymbol": rng.choice([1, 2]),
        "cooldown": rng.choice([{"candles": 1}, {"candles": 6, "after": "loss"}]),
        "maxDailyProfit": rng.choice([400, 2_500]),
    }
    return {name: value for name, value in limits.items() if rng.random() < 0.2}


def _condition(rng: random.Random, timeframe: str) -> dict[str, Any]:
    kind = rng.randrange(7)
    if kind == 0:
        return {"type": "candle_pattern", "pattern": "CDLENGULFING", "direction": "bullish"}
    if kind == 1:
        return {"type": "time_window", "from": "09:30", "to": "14:30"}
    if kind == 2:
        rsi = {"type": "RSI", "period": rng.randint(5, 20)}
        operator = rng.choice(["above", "crosses_below", "at_or_below"])
        return {"type": "indicator_value", "indicator": rsi, "operator": operator, "value": 52}
    if kind == 3:
        return {
            "type": "indicator_value",
            "indicator": rng.choice(FLOWS),
            "operator": "rising",
        }
    fast: dict[str, Any] = {"type": rng.choice(["EMA", "SMA", "WMA"]), "period": rng.randint(2, 8)}
    slow: dict[str, Any] = {
        "type": rng.choice(["EMA", "KAMA", "SMA"]),
        "period": rng.randint(9, 40),
    }
    if kind == 4:
        slow = {"type": "EMA", "period": 5, "timeframe": rng.choice(LONGER[timeframe])}
        fast = {"type": "PRICE"}
    return {
        "type": "indicator_indicator",
        "indicator1": fast,
        "indicator2": slow,
        "operator": rng.choice(["crosses_above", "above", "crosses_above"]),
    }


def _sizing(rng: random.Random) -> dict[str, Any]:
    sizing: dict[str, Any] = rng.choice(
        [
            {"method": "risk_based", "riskPercentage": 0.5},
            {"method": "fixed_quantity", "quantity": 40},
            {"method": "fixed_amount", "amount": 60_000},
            {"method": "percentage_of_equity", "percentage": 30},
            {
                "method": "volatility_based",
                "riskPercentage": 0.5,
                "atrPeriod": 10,
                "atrMultiplier": 2,
            },
        ]
    )
    if rng.random() < 0.3:
        sizing = sizing | {"pyramiding": {"enabled": True, "maxEntries": 3}}
    elif rng.random() < 0.2:
        distance = {
            "direction": rng.choice(["favour", "against"]),
            "type": "percentage",
            "percentage": rng.choice([0.1, 0.3]),
        }
        adds = {"enabled": True, "maxEntries": 4, "distance": distance}
        sizing = sizing | {"pyramiding": adds}
    return sizing


def _exits(rng: random.Random, timeframe: str) -> dict[str, Any]:
    exits: dict[str, Any] = {
        "stopLoss": rng.choice(
            [
                {"type": "percentage", "percentage": 0.4},
                {"type": "points", "points": 3},
                {"type": "atr", "atrPeriod": 14, "atrMultiplier": 1.5},
                {
                    "type": "level",
                    "price": {"type": "MIN", "period": 10, "source": "low"},
                    "buffer": 0.1,
                },
            ]
        )
    }
    if rng.random() < 0.6:
        exits["takeProfit"] = rng.choice(
            [{"type": "risk_reward", "ratio": 1.5}, {"type": "percentage", "percentage": 0.7}]
        )
    if rng.random() < 0.4:
        exits["trailingStop"] = rng.choice(
            [
                {"enabled": True, "type": "percentage", "percentage": 0.5},
                {
                    "enabled": True,
                    "type": "level",
                    "price": {"type": "MIN", "period": 20, "source": "low"},
                },
            ]
        )
    if rng.random() < 0.3:
        exits["steps"] = [
            {"at": {"type": "risk_reward", "ratio": 0.5}, "close": 40, "moveStop": "entry"},
            {"at": {"type": "percentage", "percentage": 0.6}, "close": 20},
        ]
    if rng.random() < 0.3:
        exits["maxHoldingCandles"] = rng.randint(3, 30)
    if rng.random() < 0.3:
        exits["conditions"] = [_condition(rng, timeframe)]
    if rng.random() < 0.2:
        exits["squareOffTime"] = "14:45"
    return exits
