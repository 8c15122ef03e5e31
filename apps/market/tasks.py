"""The jobs of this app."""

import logging
from datetime import UTC, datetime
from typing import Final

from procrastinate.contrib.django import app

from apps.market.feeds import services

# UTC; 02:07 in India, when every exchange has closed.
_NIGHTLY: Final = "37 20 * * *"

log = logging.getLogger(__name__)


@app.periodic(cron=_NIGHTLY)
@app.task(name="market.fold", queue="small", queueing_lock="market.fold")
def compact_nightly(timestamp: int) -> None:
    """Compact the intraday buffer each night. `timestamp` is when the job was due; many workers ask
    for it, and the queue takes it once.
    """
    bars = services.compact_ended(now=datetime.fromtimestamp(timestamp, tz=UTC))
    log.info("compacted %d buffered bars into their chunks", bars)
