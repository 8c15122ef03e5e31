"""A thread of every worker process that puts right what lost workers left, every few seconds."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Protocol

from django.db import connection
from django.utils import timezone

from apps.backtests import recovery as backtests
from apps.core.database_errors import meaning_of
from apps.webhooks import delivery

SECONDS_BETWEEN: Final = 5.0

log = logging.getLogger(__name__)


class Sweep(Protocol):
    """Returns how much it dealt with."""

    def __call__(self, *, now: datetime) -> int: ...


SWEEPS: Final[Sequence[Sweep]] = (backtests.sweep, delivery.reap)


@contextmanager
def sweeping(*sweeps: Sweep, every: float = SECONDS_BETWEEN) -> Iterator[None]:
    """While it lasts, `sweeps` run every so many seconds, one after another, on a connection of
    their own.

    The thread never keeps the process from ending: what a sweep does can stop at any point.
    """
    done = threading.Event()
    arguments = (sweeps, done, every)
    threading.Thread(target=_keep_sweeping, args=arguments, name="sweep", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _keep_sweeping(sweeps: Sequence[Sweep], done: threading.Event, every: float) -> None:
    """Whatever a sweep meets, the others and the next one are tried: a thread that ended would not
    be missed.

    A warning is logged when a sweep begins to fail, not again until it has gone well.
    """
    failing: set[Sweep] = set()
    while not done.wait(every):
        for sweep in sweeps:
            try:
                sweep(now=timezone.now())
                failing.discard(sweep)
            except Exception as error:
                if sweep not in failing:
                    surprise = meaning_of(error) is None
                    log.warning("the sweep fails and is tried again: %s", error, exc_info=surprise)
                failing.add(sweep)
                connection.close()
    connection.close()
