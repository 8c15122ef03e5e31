"""Plain builders for tests, by the services themselves."""

from datetime import UTC, datetime
from typing import Any

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.algorithms.serializers import AlgorithmBodySerializer

NOW = datetime(2026, 11, 2, 4, 0, tzinfo=UTC)
PASSWORD = "correct horse battery"


OUTDATED_CONDITIONS: dict[str, Any] = {
    "conditions": [
        {
            "type": "indicator_value",
            "operator": "above",
            "value": 50,
            "indicator": {"type": "RSI", "period": 1},
        }
    ]
}
"""A step that an earlier release may have accepted: its period is too short now."""


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


def kept_monte_carlo(**fields: Any) -> dict[str, Any]:
    """Return the results of a Monte Carlo simulation as an algorithm of release 1.0 kept them."""
    drawdown = dict.fromkeys(("mean", "p1", "p5", "p25", "p50", "p75", "p95", "p99"), 1.5)
    return {
        "backtestId": "6a0ec3f1b2d4e5f60718293a",
        "algorithmVersion": 1,
        "startDate": "2024-01-01",
        "endDate": "2024-12-31",
        "completedAt": "2026-11-02T04:00:00.000Z",
        "method": "shuffle",
        "runs": 1000,
        "trades": 120,
        "blockLength": None,
        "ruinThreshold": 50,
        "seed": 7,
        "finalEquity": None,
        "maxDrawdown": drawdown,
        "riskOfRuin": 0.5,
        "asTraded": {"finalEquity": 1_010_000, "maxDrawdown": 1.5},
        **fields,
    }


def kept_walk_forward(**fields: Any) -> dict[str, Any]:
    """Return the results of a walk-forward as an algorithm of release 1.0 kept them."""
    return {
        "backtestId": "6a0ec3f1b2d4e5f60718293a",
        "algorithmVersion": 1,
        "startDate": "2024-01-01",
        "endDate": "2024-12-31",
        "completedAt": "2026-11-02T04:00:00.000Z",
        "objective": "sharpeRatio",
        "anchored": False,
        "trainRatio": 0.7,
        "sets": 9,
        "windows": [],
        "equity": [],
        **fields,
    }
