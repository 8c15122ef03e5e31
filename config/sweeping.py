"""A thread of every worker process that puts right what lost workers left, every few seconds."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Protocol

from django.db import connection
from django.utils import timezone

from apps.core.database_errors import meaning_of

SECONDS_BETWEEN: Final = 5.0

log = logging.getLogger(__name__)


class Sweep(Protocol):
    """Returns how much it dealt with."""

    def __call__(self, *, now: datetime) -> int: ...


@contextmanager
def sweeping(sweep: Sweep, *, every: float = SECONDS_BETWEEN) -> Iterator[None]:
    """While it lasts, `sweep` runs every so many seconds, on a connection of its own.

    The thread never keeps the process from ending: what a sweep does can stop at any point.
    """
    done = threading.Event()
    arguments = (sweep, done, every)
    threading.Thread(target=_keep_sweeping, args=arguments, name="sweep", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _keep_sweeping(sweep: Sweep, done: threading.Event, every: float) -> None:
    """Whatever a sweep meets, the next one is tried: a thread that ended would not be missed.

    A warning is logged when sweeps begin to fail, not again until one has gone well.
    """
    failing = False
    while not done.wait(every):
        try:
            sweep(now=timezone.now())
            failing = False
        except Exception as error:
            if not failing:
                surprise = meaning_of(error) is None
                log.warning("the sweep fails and is tried again: %s", error, exc_info=surprise)
            failing = True
            connection.close()
    connection.close()
