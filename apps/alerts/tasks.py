"""The jobs of this app, for the workers."""

from typing import Final

from procrastinate.contrib.django import app

from apps.alerts import missing
from apps.core import database

EVERY_MINUTE: Final = "* * * * *"


@app.periodic(cron=EVERY_MINUTE)
@app.task(name="alerts.missing", queue="small", queueing_lock="alerts.missing")
def write_notices_of_alerts(timestamp: int) -> None:
    """Tell users of alerts that did not come by their time.

    `timestamp` is the scheduled time; a job that waited must not miss messages that came meanwhile.
    """
    missing.notice_missing_alerts(now=database.now())
