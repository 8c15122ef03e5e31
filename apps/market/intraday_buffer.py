"""Bars that came in and are not in their blocks yet: reading and keeping their rows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np
from django.db import connection
from django.db.models import Max
from numpy.typing import NDArray

from apps.engine.candles import TIMEFRAMES, Candles
from apps.market.candle_chunks import EMPTY
from apps.market.models import BufferedCandle

CHANNEL: Final = "live_bars"
"""Where it is told that bars came in; the payload is `symbol timeframe`."""

_TABLE: Final = BufferedCandle._meta.db_table
_COLUMNS: Final = "time, open, high, low, close, volume"
_SINCE: Final = f"""
    SELECT symbol, timeframe, {_COLUMNS}
    FROM {_TABLE} JOIN unnest(%s::text[], %s::text[], %s::int8[])
        AS wanted (symbol, timeframe, start) USING (symbol, timeframe)
    WHERE time >= start ORDER BY symbol, timeframe, time
"""
_BEGUN: Final = f"""
    SELECT symbol, timeframe
    FROM unnest(%s::text[], %s::text[], %s::int8[], %s::int8[])
        AS wanted (symbol, timeframe, midnight, start)
    WHERE EXISTS (
        SELECT FROM {_TABLE} AS bar
        WHERE bar.symbol = wanted.symbol AND bar.timeframe = wanted.timeframe
            AND bar.time >= midnight AND bar.time < start
    )
"""
_AT: Final = f"""
    SELECT symbol, {_COLUMNS}
    FROM {_TABLE} JOIN unnest(%s::text[], %s::int8[]) AS wanted (symbol, time) USING (symbol, time)
    WHERE timeframe = %s ORDER BY symbol, time
"""
_KEEP: Final = f"""
    INSERT INTO {_TABLE} (timeframe, received_at, symbol, {_COLUMNS})
    SELECT %s, %s, bar.*
    FROM unnest(%s::text[], %s::int8[], {", ".join(["%s::float8[]"] * 5)}) AS bar
    ON CONFLICT (symbol, timeframe, time) DO UPDATE
    SET open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
        volume = excluded.volume, received_at = excluded.received_at
"""
_TAKE: Final = (
    f"DELETE FROM {_TABLE} WHERE symbol = ANY(%s) RETURNING symbol, timeframe, {_COLUMNS}"
)
_TELL: Final = "SELECT pg_notify(%s, symbol || ' ' || %s) FROM unnest(%s::text[]) AS symbol"

CandleRow = tuple[int, float, float, float, float, float]
"""Start in epoch seconds, open, high, low, close, volume."""


SeriesKey = tuple[str, str]
"""A symbol and a timeframe."""


class BufferedBars(NamedTuple):
    """Bars from a moment on, and whether there are any of its day before it."""

    bars: Candles
    begun: bool


def read_since(
    since: Mapping[SeriesKey, int], midnights: Mapping[SeriesKey, int]
) -> Mapping[SeriesKey, BufferedBars]:
    """What came in of each series from its moment on; `midnights` begin the moments' days."""
    symbols, timeframes = map(list, zip(*since, strict=True))
    starts, firsts = list(since.values()), [midnights[series] for series in since]
    found: dict[SeriesKey, list[CandleRow]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_SINCE, [symbols, timeframes, starts])
        for symbol, timeframe, *bar in cursor.fetchall():
            found[symbol, timeframe].append(tuple(bar))
        cursor.execute(_BEGUN, [symbols, timeframes, firsts, starts])
        begun = set(cursor.fetchall())
    return {
        series: BufferedBars(candles_of(found.get(series, ())), series in begun)
        for series in found.keys() | begun
    }


def read(symbol: str, timeframes: Collection[str]) -> Mapping[str, Candles]:
    """The bars of one symbol by timeframe, those alone that have any."""
    rows = BufferedCandle.objects.filter(symbol=symbol, timeframe__in=timeframes).order_by("time")
    found: dict[str, list[CandleRow]] = defaultdict(list)
    for timeframe, time, opened, high, low, close, volume in rows.values_list(
        "timeframe", "time", "open", "high", "low", "close", "volume"
    ):
        found[timeframe].append((time, opened, high, low, close, volume))
    return {timeframe: candles_of(bars) for timeframe, bars in found.items()}


def last_start(symbol: str) -> int | None:
    """The start of the last bar, in whatever timeframe."""
    last: int | None = BufferedCandle.objects.filter(symbol=symbol).aggregate(last=Max("time"))[
        "last"
    ]
    return last


def read_at(series: Mapping[str, Candles], timeframe: str) -> Mapping[str, Candles]:
    """By symbol, what is held of the moments of its bars."""
    symbols = [symbol for symbol, bars in series.items() for _ in range(len(bars))]
    times = [time for bars in series.values() for time in bars.time.tolist()]
    found: dict[str, list[CandleRow]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_AT, [symbols, times, timeframe])
        for symbol, *bar in cursor.fetchall():
            found[symbol].append(tuple(bar))
    return {symbol: candles_of(found.get(symbol, ())) for symbol in series}


def last_starts(symbols: Collection[str], timeframe: str) -> Mapping[str, int]:
    """By symbol, the start of its last bar of the timeframe, of those alone that have any."""
    rows = BufferedCandle.objects.filter(symbol__in=symbols, timeframe=timeframe).order_by()
    return dict(rows.values("symbol").annotate(last=Max("time")).values_list("symbol", "last"))


def save(series: Mapping[str, Candles], timeframe: str, *, now: datetime) -> None:
    """By symbol its bars; at a moment that is held already, the newer values win."""
    rows = [
        (symbol, *row)
        for symbol, bars in series.items()
        for row in zip(*(column.tolist() for column in columns_of(bars)), strict=True)
    ]
    if rows:
        columns = map(list, zip(*rows, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(_KEEP, [timeframe, now, *columns])


def columns_of(bars: Candles) -> tuple[NDArray[Any], ...]:
    """In the order of a Row. Any: whole numbers, and floats."""
    return bars.time, bars.open, bars.high, bars.low, bars.close, bars.volume


def pop(symbols: Iterable[str]) -> Mapping[str, Mapping[str, Candles]]:
    """Remove all bars of the symbols: by timeframe, then by symbol."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [list(symbols)])
        rows = cursor.fetchall()
    found: dict[str, dict[str, list[CandleRow]]] = defaultdict(lambda: defaultdict(list))
    for symbol, timeframe, *bar in rows:
        found[timeframe][symbol].append(tuple(bar))
    return {
        timeframe: {symbol: candles_of(sorted(bars)) for symbol, bars in series.items()}
        for timeframe, series in found.items()
    }


def notify(symbols: Iterable[str], timeframe: str) -> None:
    """Wake whoever listens, when the transaction commits."""
    with connection.cursor() as cursor:
        cursor.execute(_TELL, [CHANNEL, timeframe, list(symbols)])


def sources_of(timeframe: str) -> Sequence[str]:
    """The timeframe, and those that its bars can be made from."""
    longest = TIMEFRAMES[timeframe]
    return [name for name, seconds in TIMEFRAMES.items() if seconds <= longest]


def candles_of(rows: Sequence[CandleRow]) -> Candles:
    """Rows in order of time as a series."""
    if not rows:
        return EMPTY
    time, *numbers = zip(*rows, strict=True)
    opens, highs, lows, closes, volumes = numbers
    return Candles.build(
        np.array(time, dtype=np.int64),
        open=opens,
        high=highs,
        low=lows,
        close=closes,
        volume=volumes,
    )
