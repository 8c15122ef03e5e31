"""A worker, for one turn after another, in the test's own process."""

from procrastinate import jobs
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.backtests import tasks, turns


def never() -> bool:
    """This worker does not stop, and nothing supersedes it."""
    return False


def turns_waiting() -> int:
    waiting = ProcrastinateJob.objects.filter(queue_name=turns.QUEUE)
    return waiting.filter(status=jobs.Status.TODO.value).count()


def run_queued() -> int:
    """Take every waiting turn; returns how many there were."""
    waiting = turns_waiting()
    for _ in range(waiting):
        tasks.take_one(stopping=never)
    return waiting
