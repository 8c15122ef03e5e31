"""A thread in which a process reports itself and, in workers, repairs the work of lost ones."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Protocol

from django.db import connection

from apps.backtests import services as backtests
from apps.core import database
from apps.core.database import meaning_of
from apps.market import services as market
from apps.webhooks import services as webhooks

SECONDS_BETWEEN: Final = 5.0

log = logging.getLogger(__name__)


class Reap(Protocol):
    """Requeues or gives up the work of lost workers; returns the number of changes."""

    def __call__(self, *, now: datetime) -> int: ...


REAPERS: Final[Sequence[Reap]] = (
    backtests.requeue_stalled,
    webhooks.reap,
    market.requeue_replay,
)


@contextmanager
def reaping(*reapers: Reap, every: float = SECONDS_BETWEEN) -> Iterator[None]:
    """Call `reapers` at this interval, one after another, in a thread with its own connection.

    The thread never keeps the process from ending: a reaper can stop at any point.
    """
    stop = threading.Event()
    arguments = (reapers, stop, every)
    threading.Thread(target=_run, args=arguments, name="reaper", daemon=True).start()
    try:
        yield
    finally:
        stop.set()


def _run(reapers: Sequence[Reap], stop: threading.Event, every: float) -> None:
    """Continue after any error of a reaper: an end of the thread would go unnoticed.

    A warning is logged when a reaper begins to fail, and not again until it has succeeded.
    """
    failing: set[Reap] = set()
    while True:
        for reap in reapers:
            try:
                reap(now=database.now())
                failing.discard(reap)
            except Exception as error:
                if reap not in failing:
                    is_unexpected = meaning_of(error) is None
                    log.warning(
                        "the sweep fails and is tried again: %s", error, exc_info=is_unexpected
                    )
                failing.add(reap)
                connection.close()
        connection.close()
        if stop.wait(every):
            return
