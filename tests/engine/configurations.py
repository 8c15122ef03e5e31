"""A complete configuration to start from, and ways to change it."""

from copy import deepcopy
from typing import Any

EMA_9 = {"type": "EMA", "period": 9}
EMA_21 = {"type": "EMA", "period": 21}
CROSS = {
    "type": "indicator_indicator",
    "indicator1": EMA_9,
    "operator": "crosses_above",
    "indicator2": EMA_21,
}
RSI_ABOVE_50 = {
    "type": "indicator_value",
    "indicator": {"type": "RSI", "period": 14},
    "operator": "above",
    "value": 50,
}
_COMPLETE: dict[str, Any] = {
    "basicInfo": {
        "strategyType": "momentum",
        "timeframe": "5m",
        "symbols": ["NSE:RELIANCE", "NSE:NIFTY24JANFUT"],
    },
    "positionSizing": {
        "method": "risk_based",
        "riskPercentage": 1,
        "pyramiding": {"enabled": False},
    },
    "entryConditions": {
        "positionType": "both",
        "logicalOperator": "AND",
        "confirmationCandles": 1,
        "conditions": [CROSS, RSI_ABOVE_50],
    },
    "exitConditions": {
        "stopLoss": {"type": "percentage", "percentage": 1.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
        "trailingStop": {
            "enabled": True,
            "type": "percentage",
            "percentage": 1,
            "activationThreshold": 1.5,
        },
    },
    "riskParameters": {
        "maxPositionSize": 100000,
        "stopLoss": 2,
        "takeProfit": 4,
        "maxDailyLoss": 5000,
        "maxOpenPositions": 3,
        "riskRewardRatio": 2,
    },
    "executionSettings": {
        "mode": "paper",
        "exchange": "NSE",
        "broker": "zerodha",
        "orderType": "market",
        "slippage": 0.05,
    },
}


def complete(**changes: object) -> dict[str, Any]:
    """Return complete steps with these changes.

    A change names its place with double underscores and replaces the value there:
    `complete(basicInfo__timeframe="1d")`. A number is an index: `conditions__0__operator`.
    """
    steps = deepcopy(_COMPLETE)
    for path, value in changes.items():
        *way, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        container: Any = steps
        for part in way:
            container = container[part]
        container[last] = value
    return steps


def without(*paths: str) -> dict[str, Any]:
    """Return complete steps without the named places (dotted)."""
    steps = deepcopy(_COMPLETE)
    for path in paths:
        *way, last = path.split(".")
        container = steps
        for part in way:
            container = container[part]
        del container[last]
    return steps


def entering(*conditions: dict[str, Any], **entry: object) -> dict[str, Any]:
    """Return complete steps that enter on these conditions."""
    changed: dict[str, object] = {
        "positionType": "long",
        "conditions": list(conditions),
        **entry,
    }
    return complete(entryConditions=changed)
