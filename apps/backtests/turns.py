"""Whose backtest is next.

A job of the queue is a turn, not a backtest: there is one turn for each waiting backtest, and
which backtest a turn runs is decided when a worker takes it. So the order can be fair to every
user, and a turn too many finds nothing to do.
"""

from datetime import datetime
from typing import Final

from django.db import transaction

from apps.backtests.lifecycle import Move, Status
from apps.backtests.models import Backtest, LastTurn
from apps.core import jobs

JOB: Final = "backtests.take_turn"
QUEUE: Final = "backtests"


def grant(count: int = 1) -> None:
    """Turns commit with the backtests that need them."""
    jobs.enqueue(JOB, queue=QUEUE, arguments=[{}] * count)


@transaction.atomic
def take(*, now: datetime) -> Backtest | None:
    """Begin a new attempt at the backtest that is next; None when nothing waits."""
    while (backtest := Backtest.objects.next_in_turn()) is not None:
        begun = Backtest.objects.attempt(backtest).move(
            Move.BEGIN, attempt=backtest.attempt + 1, started_at=now, beat_at=now, progress=0
        )
        if begun:
            backtest.attempt += 1
            _remember(backtest, now)
            return backtest
    return None


def _remember(backtest: Backtest, now: datetime) -> None:
    turn = LastTurn(owner_id=backtest.owner_id, taken_at=now)
    LastTurn.objects.bulk_create(
        [turn], update_conflicts=True, unique_fields=["owner"], update_fields=["taken_at"]
    )


def missing() -> int:
    """How many turns the waiting and running backtests lack: none, unless jobs were lost."""
    alive = Backtest.objects.filter(status__in=[Status.QUEUED, Status.RUNNING]).count()
    return max(0, alive - jobs.unfinished(QUEUE))
