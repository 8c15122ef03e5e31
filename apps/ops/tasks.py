"""The jobs of the service as a whole."""

from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from procrastinate.contrib.django import app

from apps.ops import retention
from apps.ops.backups import schedule

# UTC: in India a quarter to three, between one trading day and the next.
NIGHTLY: Final = "17 21 * * *"
EVERY_MINUTE: Final = "* * * * *"


@app.periodic(cron=NIGHTLY)
@app.task(name="config.purge", queue="small", queueing_lock="config.purge")
def purge(timestamp: int) -> None:
    """Delete what has expired by `timestamp`, when the job was due.

    Many workers enqueue it each night; the queue takes it once.
    """
    retention.purge_all(now=datetime.fromtimestamp(timestamp, tz=UTC))


@app.task(name="ops.backup", queue="backups", queueing_lock="ops.backup")
def back_up_on_schedule(timestamp: int) -> None:
    """Make the backup of the schedule if it is due. Workers of machines with a BACKUP_DIR alone
    take this queue.
    """
    schedule.back_up_if_due()


if settings.BACKUP_DIR:
    app.periodic(cron=EVERY_MINUTE)(back_up_on_schedule)
