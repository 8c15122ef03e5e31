"""Follow a feed: store its bars as they close, and keep them while the database is unreachable."""

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from django.db import connection
from django.utils import timezone

from apps.core.database import is_passing
from apps.market.candles.buffer import CandleRow
from apps.market.feeds.services import receive

# Bars that wait for the database, some 65 MB of them; the oldest are dropped.
MOST_WAITING: Final = 200_000
# Seconds between two attempts.
RETRY: Final = 2.0

log = logging.getLogger(__name__)


def follow(feed: Iterable[Mapping[str, CandleRow]]) -> Iterator[Mapping[str, CandleRow]]:
    """Yield each minute's bars by symbol once they are stored, in one transaction a minute.

    A feed yields none several times a second, so that bars that wait are tried again.
    """
    waiting = _RetryQueue()
    try:
        for bars in feed:
            waiting.add(bars)
            yield from waiting.stored()
    finally:
        waiting.end()


class _RetryQueue:
    """Unstored minutes, the oldest first."""

    def __init__(self) -> None:
        self._minutes: deque[Mapping[str, CandleRow]] = deque()
        self._bars = 0
        self._lost_at: float | None = None
        self._try_at = 0.0

    def add(self, bars: Mapping[str, CandleRow]) -> None:
        if bars:
            self._minutes.append(bars)
            self._bars += len(bars)
        while self._bars > MOST_WAITING:
            log.error("too many bars wait for the database: %d are dropped", len(self._minutes[0]))
            self._pop_first()

    def stored(self) -> Iterator[Mapping[str, CandleRow]]:
        """Store and yield as many minutes as possible."""
        while self._minutes and time.monotonic() >= self._try_at:
            try:
                _store(self._minutes[0])
            except Exception as error:
                if not is_passing(error):
                    raise
                self._wait(error)
                return
            self._go_on()
            yield self._pop_first()

    def end(self) -> None:
        if self._bars:
            log.error("%d bars were not stored", self._bars)

    def _wait(self, error: Exception) -> None:
        connection.close()
        self._try_at = time.monotonic() + RETRY
        if self._lost_at is None:
            self._lost_at = time.monotonic()
            log.warning("the database is lost, and bars wait for it: %s", error)

    def _go_on(self) -> None:
        if self._lost_at is not None:
            seconds = time.monotonic() - self._lost_at
            log.warning("the database is back after %.1f s: %d bars waited", seconds, self._bars)
            self._lost_at = None

    def _pop_first(self) -> Mapping[str, CandleRow]:
        first = self._minutes.popleft()
        self._bars -= len(first)
        return first


def _store(bars: Mapping[str, CandleRow]) -> None:
    series = {symbol: [row] for symbol, row in bars.items()}
    receive(timeframe="1m", series=series, now=timezone.now())
