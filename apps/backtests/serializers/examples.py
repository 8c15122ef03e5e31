"""The examples of the OpenAPI document."""

from typing import Any, Final

from apps.algorithms.serializers import EXAMPLE_STEPS
from apps.core.api.resources import ID_EXAMPLE, MOMENT_EXAMPLE

DATE: Final = "2026-11-20"
NAME: Final = "First try"
REQUEST: Final[dict[str, Any]] = {
    "algorithmId": ID_EXAMPLE,
    "startDate": "2024-01-01",
    "endDate": "2024-12-31",
    "name": NAME,
}
_PARAMETERS: Final = [
    {"path": "entryConditions.conditions[0].indicator1.period", "from": 5, "to": 20, "step": 5}
]
WALK_FORWARD_REQUEST: Final = {
    **REQUEST,
    "kind": "walk_forward",
    "symbols": ["NSE:RELIANCE", "NSE:TCS"],
    "timeframe": "15m",
    "initialCapital": 500_000,
    "slippage": 0.05,
    "charges": "standard",
    "walkForwardConfig": {
        "windows": 5,
        "trainRatio": 0.7,
        "objective": "sharpeRatio",
        "parameters": _PARAMETERS,
    },
}
MONTE_CARLO_REQUEST: Final = {
    **REQUEST,
    "kind": "monte_carlo",
    "monteCarloConfig": {"runs": 10_000, "method": "bootstrap", "ruinThreshold": 30},
}
OPTIMIZATION_REQUEST: Final = {
    **REQUEST,
    "kind": "optimization",
    "optimizationConfig": {"parameters": _PARAMETERS, "objective": "sharpeRatioAnnualized"},
}
BACKTEST: Final[dict[str, Any]] = {
    "id": ID_EXAMPLE,
    "algorithmId": ID_EXAMPLE,
    "algorithmVersion": 1,
    "name": NAME,
    "kind": "backtest",
    "status": "queued",
    "progress": 0,
    "estimatedSeconds": None,
    "startDate": "2024-01-01",
    "endDate": "2024-12-31",
    "symbols": EXAMPLE_STEPS["basicInfo"]["symbols"],
    "timeframe": EXAMPLE_STEPS["basicInfo"]["timeframe"],
    "initialCapital": 1_000_000,
    "config": None,
    "performance": None,
    "results": None,
    "error": None,
    "createdAt": MOMENT_EXAMPLE,
    "startedAt": None,
    "completedAt": None,
    "kept": False,
    "expiresAt": None,
    "receipt": None,
}
WHOLE_BACKTEST: Final = {**BACKTEST, "warnings": [], "breakdowns": None}
TRADE_EXAMPLE: Final[dict[str, Any]] = {
    "symbol": "NSE:RELIANCE",
    "side": "long",
    "quantity": 100,
    "entryTime": MOMENT_EXAMPLE,
    "entryDate": DATE,
    "entryPrice": 1400.5,
    "exitTime": MOMENT_EXAMPLE,
    "exitDate": DATE,
    "exitPrice": 1414.5,
    "exitReason": "take_profit",
    "grossProfit": 1400,
    "charges": 0,
    "profit": 1400,
    "returnPercentage": 0.999643,
    "bars": 7,
    "maxAdverseExcursion": 0.2,
    "maxFavorableExcursion": 1.1,
    "entryDelayBars": 0,
    "entryDelayMinutes": 0,
    "entryBarVolume": 48_200,
    "entryVolumeShare": 0.2075,
    "exitDelayBars": None,
    "exitDelayMinutes": None,
    "exitBarVolume": 51_900,
    "exitVolumeShare": 0.1927,
}
EQUITY_POINT: Final[dict[str, Any]] = {
    "time": MOMENT_EXAMPLE,
    "equity": 1_001_400,
    "low": 1_000_000,
    "high": 1_001_400,
    "drawdown": 0,
}
