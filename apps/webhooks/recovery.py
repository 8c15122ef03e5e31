"""What is put right when a sender or the queue was lost, and the wake-up of what has come due.

Every worker process sweeps every few seconds; two sweeps at the same moment do no harm.
"""

from datetime import datetime, timedelta
from typing import Final

from apps.core import jobs
from apps.webhooks import delivery, turns

SILENCE: Final = timedelta(seconds=30)
"""After so long without a heartbeat a worker counts as lost."""


def sweep(*, now: datetime) -> int:
    """Returns how many deliveries were put back or dropped."""
    dealt = delivery.put_back_lost(now=now) + delivery.drop_switched_off()
    jobs.put_back_lost(turns.QUEUE, silence=SILENCE, now=now)
    if delivery.is_due(now=now):
        turns.grant_if_none_waits()
    return dealt
