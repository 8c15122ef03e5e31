"""The jobs of this app."""

import logging
from datetime import UTC, datetime
from typing import Final

from procrastinate import JobContext
from procrastinate.contrib.django import app

from apps.market.candles.replaced import forget_old_loads
from apps.market.feeds import replay, services
from apps.market.feeds.requests import PLAY_JOB, REPLAY_QUEUE

# UTC; 02:07 in India, when every exchange has closed.
_NIGHTLY: Final = "37 20 * * *"

log = logging.getLogger(__name__)


@app.periodic(cron=_NIGHTLY)
@app.task(name="market.compact", queue="small", queueing_lock="market.compact")
def compact_nightly(timestamp: int) -> None:
    """Compact the intraday buffer each night, and forget chunks replaced by old loads.

    `timestamp` is the scheduled time; many workers request the job, and the queue accepts it once.
    """
    now = datetime.fromtimestamp(timestamp, tz=UTC)
    bars = services.compact_ended(now=now)
    forget_old_loads(now=now)
    log.info("compacted %d buffered bars into their chunks", bars)


@app.task(name=PLAY_JOB, queue=REPLAY_QUEUE, queueing_lock=PLAY_JOB, pass_context=True)
def play_replay(context: JobContext) -> None:
    """Play the replay that was requested from the console."""
    replay.play_requested(stopping=context.should_abort)
