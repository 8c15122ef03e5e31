"""The jobs of the service as a whole."""

from datetime import UTC, datetime
from typing import Final

from procrastinate.contrib.django import app

# UTC: in India a quarter to three, between one trading day and the next.
NIGHTLY: Final = "17 21 * * *"


@app.periodic(cron=NIGHTLY)
@app.task(name="config.purge", queue="small", queueing_lock="config.purge")
def purge(timestamp: int) -> None:
    """Delete the rows expired at `timestamp`, the scheduled time.

    Many workers enqueue it each night; the queue accepts it once.
    """
    # This import loads the compiler: web processes and commands import the jobs and never run them.
    from apps.ops import retention

    retention.purge_all(now=datetime.fromtimestamp(timestamp, tz=UTC))
