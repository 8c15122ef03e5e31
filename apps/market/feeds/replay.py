"""History played as if it came in now: moment by moment, at a chosen speed, by the market's clock.

Stored bars stay where they are: moving the clock lets those who trade see them (`store.closed`).
Bars of files come in as from any feed, in the transaction that moves the clock.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from django.db import transaction

from apps.engine.candles import TIMEFRAMES, Candles, buckets, ist_day
from apps.market import clock
from apps.market.calendars import calendars_of
from apps.market.feeds.services import receive
from apps.market.intraday_buffer import Row, columns_of

FASTEST: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment (epoch seconds) at which bars have ended, and those by symbol."""

    time: int
    bars: Mapping[str, Sequence[Row]]


def moments_of(series: Mapping[str, Candles], timeframe: str) -> Iterator[Moment]:
    """All moments in order; symbols of one moment are together."""
    calendars = calendars_of(series)
    ended: dict[int, dict[str, list[Row]]] = {}
    for symbol, bars in series.items():
        ends = buckets(bars.time, TIMEFRAMES[timeframe], calendars[symbol])[1]
        rows = zip(*(column.tolist() for column in columns_of(bars)), strict=True)
        for end, row in zip(ends.tolist(), rows, strict=True):
            ended.setdefault(end, {}).setdefault(symbol, []).append(row)
    for end in sorted(ended):
        yield Moment(end, ended[end])


@transaction.atomic
def reach(moment: Moment, timeframe: str, *, held: bool, now: datetime) -> None:
    """The market's time is this moment; bars that are not `held` come in."""
    if not held:
        receive(timeframe=timeframe, series=moment.bars, now=now)
    clock.move(moment.time, symbols=moment.bars, timeframe=timeframe, now=now)


def paced(
    moments: Iterator[Moment], *, speed: float, wait: Callable[[float], None]
) -> Iterator[Moment]:
    """Each moment when its time has come, `speed` market seconds a second; from one date to the
    next, and with FASTEST, at once.
    """
    before: int | None = None
    for moment in moments:
        if before is not None and speed != FASTEST and _day(before) == _day(moment.time):
            wait((moment.time - before) / speed)
        before = moment.time
        yield moment


def _day(time: int) -> int:
    return int(ist_day(np.array([time]))[0])
