"""A worker, for one turn after another, in the test's own process."""

from unittest.mock import patch

from procrastinate import jobs
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.backtests import execution, tasks, turns


def never() -> bool:
    """This worker does not stop, and nothing supersedes it."""
    return False


def turns_waiting() -> int:
    waiting = ProcrastinateJob.objects.filter(queue_name=turns.QUEUE)
    return waiting.filter(status=jobs.Status.TODO.value).count()


def run_queued() -> int:
    """Take every waiting turn; returns how many there were.

    A beat has a connection of its own, which does not see what the test has not committed.
    """
    waiting = turns_waiting()
    with patch.object(execution, "BEAT_SECONDS", 3600):
        for _ in range(waiting):
            tasks.take_one(stopping=never)
    return waiting
