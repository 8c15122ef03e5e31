"""A turn: a job of the queue that sends whatever is due, until nothing is.

Deliveries are rows; a job is only what wakes a worker. So a turn too many does nothing, and one
that is lost is granted anew by the sweep.
"""

from typing import Final

from apps.core import jobs

JOB: Final = "webhooks.take_turn"
QUEUE: Final = "webhooks"


def grant() -> None:
    """A turn commits with the deliveries that need it."""
    jobs.enqueue(JOB, queue=QUEUE, arguments=[{}])


def grant_if_none_waits() -> None:
    if not jobs.waiting(QUEUE):
        grant()
