"""The performance of an algorithm on paper, its alerts, and its returns in a backtest. Other apps
import only these names.
"""

from apps.algorithms.performance.alerts import Alert, raised_alerts
from apps.algorithms.performance.last_execution import LastExecution, LastFill
from apps.algorithms.performance.paper_performance import PerformanceValues, compute_performance
from apps.algorithms.performance.returns import (
    BacktestedReturns,
    backtested_returns,
    register_returns,
)

__all__ = [
    "Alert",
    "BacktestedReturns",
    "LastExecution",
    "LastFill",
    "PerformanceValues",
    "backtested_returns",
    "compute_performance",
    "raised_alerts",
    "register_returns",
]
