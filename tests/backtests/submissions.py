"""Backtests submitted by the service itself."""

from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.running.submissions import read_date_range
from tests import make


def submit(
    owner: User, algorithm_id: str = "", *, now: datetime = make.NOW, **options: Any
) -> Backtest:
    """Submit a backtest for February 2024, by default of a new complete algorithm; it needs history
    of NSE:NIFTY at 15m. `options` are arguments of the service.
    """
    defaults: dict[str, Any] = {
        "date_range": read_date_range("2024-02-01", "2024-02-29", now=make.NOW),
        "kind": BacktestKind.BACKTEST,
        "name": "",
        "overrides": {},
        "configs": {},
        "seed": 7,
    }
    return services.submit(
        owner=owner,
        algorithm_id=algorithm_id or make.algorithm(owner, **make.steps()).pk,
        now=now,
        **defaults | options,
    )
