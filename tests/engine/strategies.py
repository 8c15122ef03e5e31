"""Steps of algorithms for tests: a complete one, with the changes of a test."""

from collections.abc import Mapping
from typing import Any

from apps.engine.language.strategy import Strategy, parse


def strategy(**changes: Mapping[str, Any]) -> Strategy:
    """Return steps that buy a unit of NSE:TEST each time the close crosses above 100.

    They run on 1m candles with ample limits. `changes` update the steps, and a value of None
    removes a field.
    """
    steps: dict[str, dict[str, Any]] = {
        "basicInfo": {"strategyType": "momentum", "timeframe": "1m", "symbols": ["NSE:TEST"]},
        "positionSizing": {"method": "fixed_quantity", "quantity": 1},
        "entryConditions": {
            "positionType": "long",
            "conditions": [price("crosses_above", 100)],
        },
        "exitConditions": {"stopLoss": {"type": "percentage", "percentage": 2}},
        "riskParameters": {"maxPositionSize": 1e9, "maxDailyLoss": 1e9, "maxOpenPositions": 50},
        "executionSettings": {
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "productType": "carryforward",
        },
    }
    for step, fields in changes.items():
        steps[step].update(fields)
        steps[step] = {name: value for name, value in steps[step].items() if value is not None}
    return parse(steps)


def price(operator: str, value: float) -> dict[str, Any]:
    return {
        "type": "indicator_value",
        "indicator": {"type": "PRICE"},
        "operator": operator,
        "value": value,
    }


def sma_cross(fast: int, slow: int) -> dict[str, Any]:
    return {
        "type": "indicator_indicator",
        "indicator1": {"type": "SMA", "period": fast},
        "operator": "crosses_above",
        "indicator2": {"type": "SMA", "period": slow},
    }
