"""The settlement of contracts whose last session ends without a bar.

A contract settles with a row of its stream, and rows are made of bars. If no bar comes any more, a
row without bars is inserted as the row under way: the runner that leases the stream steps its runs
by it, and settles the expiring contracts (`BarStreamCache.changes_at`).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
from django.db import transaction

from apps.engine.candles import TIMEFRAMES, Sessions, buckets
from apps.market.candles import read_closed
from apps.market.rulebook import calendars_of, contract_closes
from apps.market.services import market_time
from apps.trading.models import BarRow, BarStream, Position
from apps.trading.runs.bar_rows import empty_row, nominal_end, pack_bars, unpack_bars

# The time after the end of the row in which its bars may still come.
GRACE_SECONDS: Final = 300


class ContractExpiry(NamedTuple):
    """The last row of the last session of a contract that a run of a stream holds."""

    stream_id: int
    time: int
    closes: int


def insert_final_rows(*, now: datetime) -> int:
    """Insert the missing rows; return their number."""
    market_now = market_time(now=now)
    due = {
        expiry for expiry in _expiries(market_now) if expiry.closes + GRACE_SECONDS <= market_now
    }
    return sum(_insert_row(expiry, market_now=market_now, now=now) for expiry in sorted(due))


def _expiries(market_now: int) -> Iterator[ContractExpiry]:
    """Yield the expiries of held contracts, for each stream."""
    held = Position.objects.open()
    symbols = sorted(set(held.values_list("symbol", flat=True)))
    for symbol, closes in contract_closes(calendars_of(symbols)).items():
        if closes <= market_now:
            streams = BarStream.objects.filter(
                states__run__positions__in=held.filter(symbol=symbol)
            )
            for stream in streams.distinct():
                yield _expiry(stream, symbol, closes, calendars_of(stream.symbols))


def _expiry(
    stream: BarStream, symbol: str, closes: int, calendars: Mapping[str, Sessions]
) -> ContractExpiry:
    calendar = calendars[symbol]
    last_moment = np.array([closes - 1])
    time = int(buckets(last_moment, TIMEFRAMES[stream.timeframe], calendar)[0][0])
    of_stream = [calendars[name] for name in stream.symbols]
    return ContractExpiry(stream.pk, time, nominal_end(time, stream.timeframe, of_stream))


@transaction.atomic
def _insert_row(expiry: ContractExpiry, *, market_now: int, now: datetime) -> bool:
    """Insert the row and return True, unless a runner works on the stream or has bars for it.

    If the stream had its last row before the contract's last day was known, the row is the next
    moment's.
    """
    stream = BarStream.objects.locked().get(pk=expiry.stream_id)
    if stream.row_time is None or (stream.row_time >= expiry.time and _ends_without_bars(stream)):
        return False
    if stream.leased_until is not None and stream.leased_until > now:
        return False
    if stream.rows.filter(time__gt=stream.row_time).exists() or _has_bars(stream, market_now):
        return False
    time = max(expiry.time, stream.row_time + 1)
    row = empty_row(time, expiry.closes, symbols=len(stream.symbols))
    BarRow.objects.create(stream=stream, time=row.time, bars=pack_bars(row), used_at=now)
    stream.wake_at = now
    stream.save(update_fields=["wake_at"])
    return True


def _ends_without_bars(stream: BarStream) -> bool:
    """Return whether the last row is an inserted one: another such row would settle no more than
    it.
    """
    last = stream.rows.order_by("time").last()
    if last is None:
        return False
    return bool(np.isnan(unpack_bars(bytes(last.bars), len(stream.symbols))).all())


def _has_bars(stream: BarStream, market_now: int) -> bool:
    """Return whether bars came after the stream's last row."""
    assert stream.row_time is not None
    start, timeframe = stream.row_time + 1, stream.timeframe
    return any(
        len(read_closed(symbol, timeframe, start=start, clock=market_now))
        for symbol in stream.symbols
    )
