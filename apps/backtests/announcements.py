"""The events of a backtest. They stand in the sequence of its algorithm, which knows of nothing
else that is counted.
"""

from collections.abc import Mapping
from datetime import datetime

from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest
from apps.webhooks import outbox
from apps.webhooks.event_types import EventType


def completed(backtest: Backtest, *, now: datetime) -> None:
    """The last write of the transaction that completes it."""
    _write(EventType.BACKTEST_COMPLETED, backtest, Status.COMPLETED, None, now)


def failed(backtest: Backtest, error: Mapping[str, str], *, now: datetime) -> None:
    """The last write of the transaction that gives it up; `error` has code and message."""
    _write(EventType.BACKTEST_FAILED, backtest, Status.FAILED, error, now)


def _write(
    type: EventType,
    backtest: Backtest,
    status: Status,
    error: Mapping[str, str] | None,
    now: datetime,
) -> None:
    outbox.write(
        type,
        owner_id=backtest.owner_id,
        algorithm_id=backtest.algorithm_id,
        backtest_id=backtest.pk,
        data={
            "backtestId": backtest.pk,
            "algorithmId": backtest.algorithm_id,
            "algorithmName": backtest.algorithm.name,
            "status": status,
            "error": error,
        },
        now=now,
    )
