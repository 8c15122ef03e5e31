"""Run a runner (apps/trading/live/runner.py) until a signal to stop, even without the database.

A NOTIFY of new bars wakes it. It also polls once a second, so a lost notification costs a second.
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
from procrastinate.contrib.django.utils import connector_params

from apps.core import database
from apps.core.database import is_passing
from apps.market.candles import CANDLES_CHANNEL
from apps.market.services import replayed_until
from apps.ops.database import timeouts
from apps.ops.processes import presence
from apps.ops.processes.reaper import REAPERS, reaping
from apps.ops.processes.supervisor import Backoff
from apps.trading import live

_POLL_SECONDS: Final = 1.0
# How long a transaction that brings bars may take to commit.
MARGIN: Final = timedelta(seconds=5)
_GOOD_RUN: Final = 10.0

log = logging.getLogger(__name__)


def work() -> None:
    """Trade until SIGTERM or SIGINT; bars in progress are committed first."""
    timeouts.apply(timeouts.WORKER)
    with (
        presence.present("runner") as report,
        reaping(report, *REAPERS, live.close_stranded_runs),
    ):
        _keep_trading(Signals())


def _keep_trading(signals: "Signals") -> None:
    backoff, runner = Backoff(good_run=_GOOD_RUN), live.Runner()
    lost_at: float | None = None
    while not signals.stopping:
        started = time.monotonic()
        try:
            with _listening() as notifications:
                if lost_at is not None:
                    log.warning("the database is back after %.1f s", started - lost_at)
                    lost_at = None
                _serve(runner, notifications, signals)
        except Exception as error:
            lost_at = lost_at or time.monotonic()
            log.warning("the runner restarts: %s", error, exc_info=not is_passing(error))
            connection.close()
            runner = live.Runner()
            time.sleep(min(backoff.ended(started=started, now=time.monotonic()), 5.0))
    connection.close()


class Signals:
    """The signals to end this process."""

    def __init__(self) -> None:
        self.stopping = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True


@contextmanager
def _listening() -> Iterator[psycopg.Connection]:
    with psycopg.Connection.connect(**connector_params(), autocommit=True) as notifications:
        notifications.execute(f"LISTEN {CANDLES_CHANNEL}")
        yield notifications


def _serve(runner: live.Runner, notifications: psycopg.Connection, signals: Signals) -> None:
    database.compare_clocks()
    missed = MissedNotifications()
    live.wake_all(now=database.now())
    while not signals.stopping:
        live.assign_runs(now=database.now())
        while not (signals.stopping or database.is_far_off()) and runner.work(now=database.now()):
            pass
        payloads = [
            notification.payload
            for notification in notifications.notifies(timeout=_POLL_SECONDS, stop_after=1)
        ]
        payloads += [notification.payload for notification in notifications.notifies(timeout=0)]
        for timeframe, symbols in _by_timeframe(payloads).items():
            live.wake(symbols, timeframe, now=database.now())
        missed.poll()


def _by_timeframe(payloads: Iterable[str]) -> Mapping[str, set[str]]:
    symbols_by_timeframe: dict[str, set[str]] = defaultdict(set)
    for payload in payloads:
        symbol, timeframe = payload.split()
        symbols_by_timeframe[timeframe].add(symbol)
    return symbols_by_timeframe


class MissedNotifications:
    """Looks once a second for bars and replays without a notification."""

    def __init__(self) -> None:
        self._polled_at = database.now()
        self._replayed_until = replayed_until()

    def poll(self) -> None:
        now = database.now()
        if (now - self._polled_at).total_seconds() < _POLL_SECONDS:
            return
        live.wake_for_new_bars(since=self._polled_at - MARGIN, now=now)
        if (moment := replayed_until()) != self._replayed_until:
            self._replayed_until = moment
            live.wake_all(now=now)
        self._polled_at = now
