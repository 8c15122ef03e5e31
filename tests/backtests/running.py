"""A worker, for one job after another, in the test's own process."""

from procrastinate import jobs
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.backtests import tasks


def never() -> bool:
    """This worker does not stop."""
    return False


def run_queued() -> int:
    """Run every waiting backtest; returns how many there were."""
    waiting = ProcrastinateJob.objects.filter(queue_name="backtests", status=jobs.Status.TODO.value)
    arguments = list(waiting.order_by("id").values_list("args", flat=True))
    for one in arguments:
        tasks.perform(**one, stopping=never)
    return len(arguments)
