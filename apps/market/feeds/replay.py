"""Replay of history as a live feed: moment by moment, at a chosen speed, by the market's clock.

Stored bars stay in place: moving the clock lets traders see them (`reading.read_closed`). Bars of
files are received as from any feed, in the transaction that moves the clock.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from django.db import Error, connection, transaction
from django.utils import timezone

from apps.core import database
from apps.core.database import is_passing
from apps.core.times import day_in_india, midnight
from apps.engine.candles import DAY, TIMEFRAMES, Candles, buckets, ist_day
from apps.market.candles import read_bars
from apps.market.candles.buffer import CandleRow, rows_of
from apps.market.feeds import active_feed, clock
from apps.market.feeds.services import receive
from apps.market.models import Feed
from apps.market.rulebook.calendars import calendars_of

FASTEST: Final = float("inf")
# Bars of one symbol that are read at once.
_BARS_AT_ONCE: Final = 400
# Seconds between two attempts to reach a database that is away.
_SECONDS_BETWEEN_ATTEMPTS: Final = 1.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A moment (epoch seconds) with the bars that have ended by then, by symbol."""

    time: int
    bars: Mapping[str, Sequence[CandleRow]]


def replay_steps(series: Mapping[str, Candles], timeframe: str) -> Iterator[ReplayStep]:
    """Return all moments in order, each with the bars of all symbols that end then."""
    calendars = calendars_of(series)
    ended: dict[int, dict[str, list[CandleRow]]] = {}
    for symbol, bars in series.items():
        ends = buckets(bars.time, TIMEFRAMES[timeframe], calendars[symbol])[1]
        for end, row in zip(ends.tolist(), rows_of(bars), strict=True):
            ended.setdefault(end, {}).setdefault(symbol, []).append(row)
    for end in sorted(ended):
        yield ReplayStep(end, ended[end])


@transaction.atomic
def advance(
    moment: ReplayStep,
    timeframe: str,
    *,
    token: int,
    stored: bool,
    replace_sample: bool,
    now: datetime,
) -> None:
    """Advance the market's time to this moment, and receive bars that are not stored yet.

    Raises FeedEnded if the lease with this token has ended.
    """
    active_feed.renew_feed(token)
    if not stored:
        receive(timeframe=timeframe, series=moment.bars, replace_sample=replace_sample, now=now)
    clock.move(moment.time, symbols=moment.bars, timeframe=timeframe, now=now)


def advance_when_possible(
    moment: ReplayStep,
    timeframe: str,
    *,
    token: int,
    stored: bool,
    replace_sample: bool = False,
    wait: Callable[[float], None],
) -> None:
    """Advance, with retries while the database is unreachable: the replay then continues.

    Raises errors that a retry cannot repair.
    """
    lost_at: float | None = None
    while True:
        try:
            advance(
                moment,
                timeframe,
                token=token,
                stored=stored,
                replace_sample=replace_sample,
                now=timezone.now(),
            )
        except Error as error:
            if not is_passing(error):
                raise
            connection.close()
            if lost_at is None:
                lost_at = time.monotonic()
                log.warning("the database is lost, and the replay waits for it: %s", error)
            wait(_SECONDS_BETWEEN_ATTEMPTS)
        else:
            if lost_at is not None:
                log.warning("the database is back after %.1f s", time.monotonic() - lost_at)
            return


def play_requested(*, stopping: Callable[[], bool]) -> None:
    """Play the requested replay until its end, or until `stopping`: another worker then continues.

    Do nothing without a replay that waits for a worker.
    """
    feed = active_feed.take_over(now=database.now())
    if feed is None:
        return
    log.info("plays %s", feed.description)
    wait = active_feed.renewing_wait(feed.token, sleep=time.sleep, stopping=stopping)
    steps = pace(_stored_steps(feed), speed=feed.speed or FASTEST, wait=wait)
    try:
        for moment in steps:
            wait(0.0)
            advance_when_possible(moment, feed.timeframe, token=feed.token, stored=True, wait=wait)
    except active_feed.FeedEnded:
        active_feed.give_back(feed.token, now=database.now())
        log.info("the replay was ended, or another worker continues it")
        return
    active_feed.end_feed(feed.token)
    log.info("the replay has played all its candles")


def _stored_steps(feed: Feed) -> Iterator[ReplayStep]:
    """Yield the moments of a replay of stored candles that are not played yet, reading some days
    at a time.
    """
    start = max(feed.start or 0, clock.replayed_until() or 0)
    until = feed.until or 0
    length = max(DAY, _BARS_AT_ONCE * TIMEFRAMES[feed.timeframe] // DAY * DAY)
    for first in range(midnight(day_in_india(start)), until, length):
        part = {
            symbol: read_bars(
                symbol, feed.timeframe, start=max(first, start), end=min(first + length, until)
            )
            for symbol in feed.symbols
        }
        yield from replay_steps(part, feed.timeframe)


def pace(
    moments: Iterator[ReplayStep], *, speed: float, wait: Callable[[float], None]
) -> Iterator[ReplayStep]:
    """Yield each moment when it is due, at `speed` market seconds a second; without waiting between
    dates, and with FASTEST.
    """
    before: int | None = None
    for moment in moments:
        if before is not None and speed != FASTEST and _day(before) == _day(moment.time):
            wait((moment.time - before) / speed)
        before = moment.time
        yield moment


def _day(time: int) -> int:
    return int(ist_day(np.array([time]))[0])
