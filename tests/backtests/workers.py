"""A worker in the test's own process, for one slot after another."""

from datetime import datetime
from unittest.mock import patch

from procrastinate import jobs
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.backtests import tasks
from apps.backtests.models import Backtest, Evidence, EvidenceStatus
from apps.backtests.running import execution, queue
from tests import make


def never() -> bool:
    """Return False: this worker does not stop, and its attempt is not stale."""
    return False


def begin(*, now: datetime = make.NOW) -> Backtest:
    """Begin the next backtest, which must exist and not be a shard."""
    backtest = queue.begin_next(now=now)
    assert isinstance(backtest, Backtest)
    return backtest


def count_slots() -> int:
    waiting = ProcrastinateJob.objects.filter(queue_name=queue.QUEUE)
    return waiting.filter(status=jobs.Status.TODO.value).count()


def run_queued() -> int:
    """Use every waiting slot; return their number.

    A heartbeat has its own connection, which does not see the test's uncommitted rows.
    """
    waiting = count_slots()
    with patch.object(execution, "HEARTBEAT_SECONDS", 3600):
        for _ in range(waiting):
            tasks.run_next(is_stopping=never)
    return waiting


def run_all_queued() -> None:
    """Use every waiting slot, and make all requested evidence."""
    run_queued()
    for evidence in Evidence.objects.filter(status=EvidenceStatus.QUEUED):
        tasks.run_evidence_job(evidence.backtest_id)
