"""Contracts whose last session ends without a bar: what is held of them settles all the same.

It settles with a row of its stream, and rows are made of bars. So where none comes any more a row
without bars is put there, as one that is under way: whoever works on the stream takes its runs
through it, and what holds at the end of a contract holds there (`cache`).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
from django.db import transaction

from apps.engine.candles import TIMEFRAMES, buckets
from apps.engine.sessions import Sessions
from apps.market import clock, store
from apps.market.calendars import calendars_of
from apps.market.contracts import expiry_dates
from apps.market.dates import day_in_india, day_number
from apps.trading.bar_rows import nominal_end, packed, unpacked, without_bars
from apps.trading.models import BarRow, BarStream, Position

GRACE: Final = 300
"""Seconds after the end of the row in which its bars may still come."""


class Expiry(NamedTuple):
    """The last row of the last session of a contract that a stream's run holds, with bars or
    without.
    """

    stream_id: int
    time: int
    closes: int


def settle(*, now: datetime) -> int:
    """Put a row where one is missing; how many. What has settled meanwhile needs none."""
    market_now = clock.market_time(now=now)
    due = [one for one in _expiries(market_now) if one.closes + GRACE <= market_now]
    return sum(_put(one, market_now=market_now, now=now) for one in sorted(set(due)))


def _expiries(market_now: int) -> Iterator[Expiry]:
    """Of each stream on which a contract is held that has expired."""
    held = Position.objects.open()
    symbols = sorted(set(held.values_list("symbol", flat=True)))
    today = day_in_india(market_now)
    for symbol, day in expiry_dates(calendars_of(symbols)).items():
        if day <= today:
            streams = BarStream.objects.filter(
                states__run__positions__in=held.filter(symbol=symbol)
            )
            for stream in streams.distinct():
                yield _expiry(stream, symbol, day_number(day), calendars_of(stream.symbols))


def _expiry(stream: BarStream, symbol: str, day: int, calendars: Mapping[str, Sessions]) -> Expiry:
    calendar = calendars[symbol]
    last = calendar.hours(np.array([day], np.int32))[1] - 1
    time = int(buckets(last, TIMEFRAMES[stream.timeframe], calendar)[0][0])
    of_all = [calendars[one] for one in stream.symbols]
    return Expiry(stream.pk, time, nominal_end(time, stream.timeframe, of_all))


@transaction.atomic
def _put(expiry: Expiry, *, market_now: int, now: datetime) -> bool:
    """Whether the row is there now. Not where a runner is at work, or has bars before it. Where the
    stream has had its last row before the last day was known, it is the next moment's.
    """
    stream = BarStream.objects.locked().get(pk=expiry.stream_id)
    if stream.row_time is None or (stream.row_time >= expiry.time and _has_been_put(stream)):
        return False
    if stream.leased_until is not None and stream.leased_until > now:
        return False
    if stream.rows.filter(time__gt=stream.row_time).exists() or _has_bars(stream, market_now):
        return False
    time = max(expiry.time, stream.row_time + 1)
    row = without_bars(time, expiry.closes, symbols=len(stream.symbols))
    BarRow.objects.create(stream=stream, time=row.time, bars=packed(row), used_at=now)
    stream.wake_at = now
    stream.save(update_fields=["wake_at"])
    return True


def _has_been_put(stream: BarStream) -> bool:
    """Whether its last row is such a one: what that did not settle, another would not."""
    last = stream.rows.order_by("time").last()
    return last is not None and bool(
        np.isnan(unpacked(bytes(last.bars), len(stream.symbols))).all()
    )


def _has_bars(stream: BarStream, market_now: int) -> bool:
    """After its last row."""
    assert stream.row_time is not None
    start, timeframe = stream.row_time + 1, stream.timeframe
    return any(
        len(store.read_closed(symbol, timeframe, start=start, clock=market_now))
        for symbol in stream.symbols
    )
