"""`Prefer: wait=N` (RFC 7240): an answer that is held until a backtest has ended."""

import re
import threading
import time
from collections.abc import Callable
from typing import Final

from django.conf import settings

from apps.backtests.lifecycle import ENDED
from apps.backtests.models import Backtest

MOST_SECONDS: Final = 30
# Half of a web process's threads at most: the others go on answering.
_seats: Final = threading.BoundedSemaphore(max(1, settings.WEB_THREADS // 2))
_WAIT = re.compile(r'wait\s*=\s*"?([0-9]{1,9})"?')


def seconds_preferred(header: str | None) -> int:
    """How long a client is ready to wait, at most MOST_SECONDS; 0 for none.

    Preferences that are unknown or malformed are ignored, as the RFC asks; of several the first
    counts.
    """
    for preference in (header or "").split(","):
        if found := _WAIT.fullmatch(preference.partition(";")[0].strip().lower()):
            return min(int(found[1]), MOST_SECONDS)
    return 0


def until_ended(
    backtest: Backtest,
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Backtest | None:
    """The backtest when it has ended or `seconds` have passed; None when too many wait already."""
    if not _seats.acquire(blocking=False):
        return None
    try:
        begun = clock()
        unfinished = Backtest.objects.filter(pk=backtest.pk).exclude(status__in=ENDED)
        while unfinished.exists() and (left := begun + seconds - clock()) > 0:
            sleep(min(left, max(0.004, (clock() - begun) / 20)))
    finally:
        _seats.release()
    # Whoever deletes it meanwhile need not disturb the one who waits.
    return Backtest.objects.filter(pk=backtest.pk).first() or backtest
