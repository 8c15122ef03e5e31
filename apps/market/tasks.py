"""The jobs of this app, as the workers find them."""

import logging
from datetime import UTC, datetime
from typing import Final

from procrastinate.contrib.django import app

from apps.market.feeds import services

NIGHTLY: Final = "37 20 * * *"
"""UTC: in India seven past two, when every exchange has closed."""

log = logging.getLogger(__name__)


@app.periodic(cron=NIGHTLY)
@app.task(name="market.fold", queue="small", queueing_lock="market.fold")
def compact(timestamp: int) -> None:
    """`timestamp`: when it was due. Many workers ask for it each night; the queue takes it once."""
    bars = services.compact_ended(now=datetime.fromtimestamp(timestamp, tz=UTC))
    log.info("folded %d live bars into their blocks", bars)
