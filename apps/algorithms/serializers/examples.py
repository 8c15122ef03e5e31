"""Examples of algorithms for the OpenAPI document."""

from typing import Any, Final

from apps.algorithms.performance import paper_performance
from apps.core.api.resources import ID_EXAMPLE, MOMENT_EXAMPLE

EXAMPLE_STEPS: Final[dict[str, Any]] = {
    "basicInfo": {"strategyType": "momentum", "timeframe": "5m", "symbols": ["NSE:RELIANCE"]},
    "positionSizing": {"method": "risk_based", "riskPercentage": 0.2},
    "entryConditions": {
        "positionType": "both",
        "conditions": [
            {
                "type": "indicator_indicator",
                "operator": "crosses_above",
                "indicator1": {"type": "EMA", "period": 9},
                "indicator2": {"type": "EMA", "period": 21},
            }
        ],
    },
    "exitConditions": {
        "stopLoss": {"type": "percentage", "percentage": 0.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
    },
    "riskParameters": {"maxPositionSize": 500000, "maxDailyLoss": 20000, "maxOpenPositions": 1},
    "executionSettings": {"mode": "paper", "exchange": "NSE", "orderType": "market"},
}
CHANGES: Final[dict[str, Any]] = {
    "name": "Crossing averages",
    "description": "The short average crosses the long one.",
    **EXAMPLE_STEPS,
    "walkForwardConfig": {
        "windows": 4,
        "parameters": [
            {"path": "exitConditions.takeProfit.ratio", "from": 1, "to": 3, "step": 0.5}
        ],
    },
    "monteCarloConfig": {"runs": 1000},
    "isTemplate": False,
    "isPublic": False,
}
ALGORITHM_EXAMPLE: Final[dict[str, Any]] = {
    "id": ID_EXAMPLE,
    "userId": ID_EXAMPLE,
    "name": "Crossing averages",
    "description": "",
    "status": "stopped",
    "active": False,
    "version": 1,
    **EXAMPLE_STEPS,
    "performance": paper_performance.new(),
    "walkForwardConfig": None,
    "walkForwardResults": [],
    "monteCarloConfig": None,
    "monteCarloResults": None,
    "isTemplate": False,
    "isPublic": False,
    "clonedFrom": None,
    "lastExecution": None,
    "createdAt": MOMENT_EXAMPLE,
    "updatedAt": MOMENT_EXAMPLE,
}
SAVED_ALGORITHM: Final = {**ALGORITHM_EXAMPLE, "missingFields": [], "errors": [], "warnings": []}
SUMMARY: Final[dict[str, Any]] = {
    "algorithmId": ID_EXAMPLE,
    "version": 2,
    "steps": [
        {
            "step": "exitConditions",
            "isComplete": True,
            "sentences": [
                {
                    "field": "exitConditions.stopLoss",
                    "text": "A stop loss stands 0.5 % from the average entry price.",
                }
            ],
        }
    ],
}
VERSION_SUMMARY: Final = {
    **SUMMARY,
    "since": 1,
    "changes": [
        {
            "field": "exitConditions.stopLoss",
            "before": ["A stop loss stands 1 % from the average entry price."],
            "after": ["A stop loss stands 0.5 % from the average entry price."],
        }
    ],
}
ITEM: Final[dict[str, Any]] = {
    **{name: ALGORITHM_EXAMPLE[name] for name in ("id", "name", "status", "active")},
    "strategyType": "momentum",
    "timeframe": "5m",
    "symbols": ["NSE:RELIANCE"],
    "performance": {"totalTrades": 0, "winRate": 0, "totalProfit": 0, "profitFactor": 0},
    "createdAt": MOMENT_EXAMPLE,
    "updatedAt": MOMENT_EXAMPLE,
}
ALERTS: Final = {"alerts": {"maxDrawdown": {"threshold": 10, "action": "pause_algorithm"}}}
INDICATOR: Final[dict[str, Any]] = {
    "type": "SMA",
    "description": "Simple moving average",
    "parameters": [
        {"name": "period", "type": "integer", "default": 20, "minimum": 2, "maximum": 1000}
    ],
    "outputs": [
        {"name": "value", "mirror": "same", "opposite": "value", "minimum": None, "maximum": None}
    ],
    "sources": ["close", "open", "high", "low", "volume", "hl2", "hlc3", "ohlc4"],
    "offset": {"type": "integer", "default": 0, "minimum": 0, "maximum": 500},
    "opposite": "SMA",
    "timeframes": ["5m", "15m", "30m", "1h", "4h", "1d", "1w"],
}
PATTERN: Final = {
    "pattern": "CDLHAMMER",
    "description": "Hammer",
    "directions": ["bullish"],
    "opposite": "CDLSHOOTINGSTAR",
}
CATALOGUE_PAGE: Final = {
    "data": [INDICATOR],
    "pagination": {"page": 1, "limit": 20, "total": 1, "totalPages": 1},
    "candlePatterns": [PATTERN],
}
REVIEW: Final = {
    "missingFields": [],
    "errors": [],
    "warnings": [],
    "valid": True,
    "coverage": [
        {
            "symbol": "NSE:RELIANCE",
            "bars": 18450,
            "firstBar": "2024-01-01T03:45:00.000Z",
            "lastBar": "2024-12-31T09:55:00.000Z",
            "heldSessions": 246,
            "sessions": 246,
            "percentage": 100.0,
            "since": "2024-01-01",
            "sessionsSince": 246,
        }
    ],
}
