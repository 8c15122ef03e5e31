"""The backlog and its age by the database's clock: jobs by queue, deliveries, live bars."""

from typing import Final, NamedTuple

from django.db import connection
from django.db.models import Min
from django.db.models.functions import Now

from apps.market.candles import time_since_receipt
from apps.trading.models import BarStream
from apps.webhooks.services import count_due

# Jobs of a worker that has not been heard of for so long are stalled.
_SECONDS_OF_SILENCE: Final = 30

QUEUE_COUNTS: Final = """
    SELECT job.queue_name,
        count(*) FILTER (WHERE job.status = 'todo'),
        coalesce(max(extract(epoch FROM now() - coalesce(
            job.scheduled_at,
            (SELECT min(at) FROM procrastinate_events WHERE job_id = job.id)
        ))) FILTER (WHERE job.status = 'todo'), 0)::float8,
        count(*) FILTER (WHERE job.status = 'doing' AND (
            worker.id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => %s)
        ))
    FROM procrastinate_jobs AS job
    LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
    WHERE job.status = 'doing' OR job.status = 'todo'
        AND (job.scheduled_at IS NULL OR job.scheduled_at <= now())
    GROUP BY job.queue_name
"""


class QueueBacklog(NamedTuple):
    """The runnable jobs of a queue, the time since the oldest became due, and stalled jobs."""

    waiting: int
    oldest_seconds: float
    stalled: int


class Backlog(NamedTuple):
    """The backlog of the service.

    `bar_lag` is the seconds since the longest-waiting stream with runs was due, `feed_age` the
    seconds since the last received bar; None without stored bars.
    """

    queues: dict[str, QueueBacklog]
    deliveries_due: int
    bar_lag: float
    feed_age: float | None


def read_backlog() -> Backlog:
    with connection.cursor() as cursor:
        cursor.execute(QUEUE_COUNTS, [_SECONDS_OF_SILENCE])
        queues = {name: QueueBacklog(*counts) for name, *counts in cursor.fetchall()}
    waiting = BarStream.objects.filter(wake_at__lte=Now(), states__isnull=False)
    lag = waiting.aggregate(lag=Now() - Min("wake_at"))["lag"]
    age = time_since_receipt()
    return Backlog(
        queues=queues,
        deliveries_due=count_due(),
        bar_lag=lag.total_seconds() if lag else 0.0,
        feed_age=age.total_seconds() if age else None,
    )
