"""Plain builders for tests, by the services themselves."""

from datetime import UTC, datetime
from typing import Any

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.algorithms.serializers import AlgorithmBodySerializer

NOW = datetime(2026, 11, 2, 4, 0, tzinfo=UTC)
PASSWORD = "correct horse battery"


def user(name: str = "alice") -> User:
    return User.objects.create_user(
        email=f"{name}@example.com", password=PASSWORD, name=name.title(), now=NOW
    )


def steps(**replaced: object) -> dict[str, Any]:
    """Return the steps of a complete algorithm, by their wire names; a keyword replaces a whole
    step.
    """
    return {
        "basicInfo": {"strategyType": "momentum", "timeframe": "15m", "symbols": ["NSE:NIFTY"]},
        "positionSizing": {"method": "risk_based", "riskPercentage": 0.5},
        "entryConditions": {
            "positionType": "both",
            "logicalOperator": "AND",
            "conditions": [
                {
                    "type": "indicator_indicator",
                    "indicator1": {"type": "EMA", "period": 9},
                    "operator": "crosses_above",
                    "indicator2": {"type": "EMA", "period": 21},
                },
                {
                    "type": "indicator_value",
                    "indicator": {"type": "RSI", "period": 14},
                    "operator": "above",
                    "value": 50,
                },
            ],
        },
        "exitConditions": {
            "stopLoss": {"type": "percentage", "percentage": 1},
            "takeProfit": {"type": "risk_reward", "ratio": 2},
        },
        "riskParameters": {
            "maxPositionSize": 500_000,
            "maxDailyLoss": 10_000,
            "maxOpenPositions": 3,
        },
        "executionSettings": {"mode": "paper", "exchange": "NSE", "orderType": "market"},
    } | replaced


def algorithm(owner: User, **fields: object) -> Algorithm:
    """Return a stored algorithm with these fields, by their wire names; without fields, an empty
    draft.
    """
    return algorithms.create(owner=owner, changes=AlgorithmBodySerializer.read(fields), now=NOW)
