"""Backtests that were asked for, by the service itself."""

from datetime import datetime

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.submissions import Submission, read_date_range
from tests import make


def submission(owner: User, algorithm_id: str = "") -> Submission:
    """For February 2024, of a new complete algorithm unless one is given."""
    return Submission(
        algorithm_id=algorithm_id or make.algorithm(owner, **make.steps()).pk,
        date_range=read_date_range("2024-02-01", "2024-02-29", now=make.NOW),
        kind=BacktestKind.BACKTEST,
        name="",
        overrides={},
        configs={},
    )


def submit(owner: User, algorithm_id: str = "", *, now: datetime = make.NOW) -> Backtest:
    """Needs history of NSE:NIFTY at 15m around February 2024."""
    return services.submit(owner=owner, submission=submission(owner, algorithm_id), seed=7, now=now)
