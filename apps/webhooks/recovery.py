"""What is put right when a sender or the queue was lost, and the wake-up of what has come due.

Every worker process sweeps every few seconds; two sweeps at the same moment do no harm.
"""

from datetime import datetime, timedelta
from typing import Final

from apps.core import jobs
from apps.webhooks import delivery, outbox

SILENCE: Final = timedelta(seconds=30)
"""After so long without a heartbeat a worker counts as lost."""


def sweep(*, now: datetime) -> int:
    """Returns how many deliveries were put back or dropped."""
    dealt = delivery.put_back_lost(now=now) + delivery.drop_switched_off()
    jobs.put_back_lost(outbox.DISPATCH_QUEUE, silence=SILENCE, now=now)
    if delivery.is_due(now=now):
        outbox.ensure_dispatch()
    return dealt
