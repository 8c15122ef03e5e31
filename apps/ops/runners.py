"""Runs a runner (apps/trading/live/runner.py) until it is told to stop, whatever the database does.

What wakes it is a notice that bars came in. It also looks once a second, so a notice that was lost
costs a second.
"""

import logging
import signal
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Final

import psycopg
from django.db import connection
from django.utils import timezone
from procrastinate.contrib.django.utils import connector_params

from apps.core.database_errors import is_passing
from apps.market import clock
from apps.market.intraday_buffer import CHANNEL
from apps.ops.supervisor import Backoff
from apps.trading import bar_streams
from apps.trading.live.runner import Runner

# Seconds between two looks when nothing is told.
POLL: Final = 1.0
# How long a transaction that brings bars may take to commit.
MARGIN: Final = timedelta(seconds=5)
GOOD_RUN: Final = 10.0

log = logging.getLogger(__name__)


def work() -> None:
    """Returns after SIGTERM or SIGINT, when the rows that are being worked on are written."""
    signals = Signals()
    backoff, runner = Backoff(good_run=GOOD_RUN), Runner()
    lost_at: float | None = None
    while not signals.stopping:
        started = time.monotonic()
        try:
            with _listening() as notices:
                if lost_at is not None:
                    log.warning("the database is back after %.1f s", started - lost_at)
                    lost_at = None
                _serve(runner, notices, signals)
        except Exception as error:
            lost_at = lost_at or time.monotonic()
            log.warning("the runner begins anew: %s", error, exc_info=not is_passing(error))
            connection.close()
            runner = Runner()
            time.sleep(min(backoff.ended(started=started, now=time.monotonic()), 5.0))
    connection.close()


class Signals:
    """Whether somebody wants this process to end."""

    def __init__(self) -> None:
        self.stopping = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True


@contextmanager
def _listening() -> Iterator[psycopg.Connection]:
    with psycopg.Connection.connect(**connector_params(), autocommit=True) as notices:
        notices.execute(f"LISTEN {CHANNEL}")
        yield notices


def _serve(runner: Runner, notices: psycopg.Connection, signals: Signals) -> None:
    news = News()
    bar_streams.wake_all(now=timezone.now())
    while not signals.stopping:
        bar_streams.assign_runs(now=timezone.now())
        while not signals.stopping and runner.work(now=timezone.now()):
            pass
        told = [notice.payload for notice in notices.notifies(timeout=POLL, stop_after=1)]
        told += [notice.payload for notice in notices.notifies(timeout=0)]
        for timeframe, symbols in _by_timeframe(told).items():
            bar_streams.wake(symbols, timeframe, now=timezone.now())
        news.look()


def _by_timeframe(payloads: Iterable[str]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for payload in payloads:
        symbol, timeframe = payload.split()
        found[timeframe].add(symbol)
    return found


class News:
    """What notices may have missed, looked for once a second."""

    def __init__(self) -> None:
        self._looked_at = timezone.now()
        self._replayed_until = clock.replayed_until()

    def look(self) -> None:
        now = timezone.now()
        if (now - self._looked_at).total_seconds() < POLL:
            return
        bar_streams.wake_for_new_bars(since=self._looked_at - MARGIN, now=now)
        if (moment := clock.replayed_until()) != self._replayed_until:
            self._replayed_until = moment
            bar_streams.wake_all(now=now)
        self._looked_at = now
