"""The intraday buffer: bars from a feed that compaction has not yet moved to chunks."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, cast

import numpy as np
from django.db import connection
from django.db.models import Max
from django.db.models.functions import Now

from apps.engine.candles import TIMEFRAME_SECONDS, TIMEFRAMES, Candles
from apps.market.candles import queries
from apps.market.candles.chunks import EMPTY
from apps.market.models import BufferedCandle

# The channel that announces received bars; the payload is `symbol timeframe`.
CANDLES_CHANNEL: Final = "live_bars"

# Start in epoch seconds, open, high, low, close, volume.
CandleRow = tuple[int, float, float, float, float, float]

# A symbol and a timeframe.
SeriesKey = tuple[str, str]


class BufferedBars(NamedTuple):
    """Bars from a moment on, and whether the buffer has earlier bars of the same day."""

    bars: Candles
    begun: bool


def read_since(
    since: Mapping[SeriesKey, int], midnights: Mapping[SeriesKey, int]
) -> Mapping[SeriesKey, BufferedBars]:
    """Return the buffered bars of each series from its moment on; `midnights` are the starts of
    those days.
    """
    symbols, timeframes = map(list, zip(*since, strict=True))
    starts, day_starts = list(since.values()), [midnights[key] for key in since]
    rows: dict[SeriesKey, list[CandleRow]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(queries.BUFFERED_SINCE, [symbols, timeframes, starts])
        for symbol, timeframe, *bar in cursor.fetchall():
            rows[symbol, timeframe].append(tuple(bar))
        arguments = [symbols, timeframes, day_starts, starts]
        cursor.execute(queries.BUFFERED_EARLIER_THAT_DAY, arguments)
        begun = set(cursor.fetchall())
    return {
        key: BufferedBars(candles_of(rows.get(key, ())), key in begun)
        for key in rows.keys() | begun
    }


def read(symbol: str, timeframes: Collection[str]) -> Mapping[str, Candles]:
    """Return the bars of one symbol keyed by timeframe, for timeframes with bars."""
    buffered = BufferedCandle.objects.filter(symbol=symbol, timeframe__in=timeframes)
    rows: dict[str, list[CandleRow]] = defaultdict(list)
    for timeframe, *bar in buffered.order_by("time").values_list(
        "timeframe", "time", "open", "high", "low", "close", "volume"
    ):
        rows[timeframe].append(cast(CandleRow, tuple(bar)))
    return {timeframe: candles_of(bars) for timeframe, bars in rows.items()}


def read_at(series: Mapping[str, Candles], timeframe: str) -> Mapping[str, Candles]:
    """Return the buffered bars at the times of the given bars, keyed by symbol."""
    symbols = [symbol for symbol, bars in series.items() for _ in range(len(bars))]
    times = [time for bars in series.values() for time in bars.time.tolist()]
    rows: dict[str, list[CandleRow]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(queries.BUFFERED_AT, [symbols, times, timeframe])
        for symbol, *bar in cursor.fetchall():
            rows[symbol].append(tuple(bar))
    return {symbol: candles_of(rows.get(symbol, ())) for symbol in series}


def last_start(symbol: str) -> int | None:
    """Return the start of the symbol's last buffered bar in any timeframe."""
    buffered = BufferedCandle.objects.filter(symbol=symbol)
    last: int | None = buffered.aggregate(last=Max("time"))["last"]
    return last


def last_starts(symbols: Collection[str], timeframe: str) -> Mapping[str, int]:
    """Return the start of the last bar of the timeframe, keyed by symbol, for symbols with bars."""
    rows = BufferedCandle.objects.filter(symbol__in=symbols, timeframe=timeframe).order_by()
    return dict(rows.values("symbol").annotate(last=Max("time")).values_list("symbol", "last"))


def store_bars(series: Mapping[str, Candles], timeframe: str, *, now: datetime) -> None:
    """Store bars by symbol; newer values replace a buffered bar of the same time."""
    rows = [(symbol, *row) for symbol, bars in series.items() for row in rows_of(bars)]
    if rows:
        columns = map(list, zip(*rows, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(queries.SAVE_BUFFERED, [timeframe, now, *columns])


def pop(symbols: Iterable[str]) -> Mapping[str, Mapping[str, Candles]]:
    """Remove all bars of the symbols and return them, keyed by timeframe, then by symbol."""
    with connection.cursor() as cursor:
        cursor.execute(queries.POP_BUFFERED, [list(symbols)])
        removed = cursor.fetchall()
    rows: dict[str, dict[str, list[CandleRow]]] = defaultdict(lambda: defaultdict(list))
    for symbol, timeframe, *bar in removed:
        rows[timeframe][symbol].append(tuple(bar))
    return {
        timeframe: {symbol: candles_of(sorted(bars)) for symbol, bars in series.items()}
        for timeframe, series in rows.items()
    }


def notify(symbols: Iterable[str], timeframe: str) -> None:
    """Announce new bars to the listeners of CANDLES_CHANNEL when the transaction commits."""
    with connection.cursor() as cursor:
        cursor.execute(queries.NOTIFY, [CANDLES_CHANNEL, timeframe, list(symbols)])


def sources_of(timeframe: str) -> Sequence[str]:
    """Return the timeframe and the shorter ones that can make its bars."""
    longest = TIMEFRAME_SECONDS[timeframe]
    return [name for name, seconds in TIMEFRAMES.items() if longest % seconds == 0]


def rows_of(bars: Candles) -> Iterable[CandleRow]:
    """Return the bars as rows."""
    columns = (bars.time, bars.open, bars.high, bars.low, bars.close, bars.volume)
    return zip(*(column.tolist() for column in columns), strict=True)


def candles_of(rows: Sequence[CandleRow]) -> Candles:
    """Return rows in order of time as a series."""
    if not rows:
        return EMPTY
    time, opens, highs, lows, closes, volumes = zip(*rows, strict=True)
    return Candles.build(
        np.array(time, dtype=np.int64),
        open=opens,
        high=highs,
        low=lows,
        close=closes,
        volume=volumes,
    )


def received_since(since: datetime) -> list[tuple[str, str, int]]:
    """Return timeframe, symbol and newest start of the bars received since then, ordered by
    timeframe.
    """
    received = BufferedCandle.objects.filter(received_at__gte=since).order_by("timeframe")
    return list(received.values_list("timeframe", "symbol").annotate(Max("time")))


def time_since_receipt() -> timedelta | None:
    """Return the time since the newest buffered bar was received; None for an empty buffer."""
    age: timedelta | None = BufferedCandle.objects.aggregate(age=Now() - Max("received_at"))["age"]
    return age
