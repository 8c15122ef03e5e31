"""The completeness of a symbol's stored history by the dated calendar, and the quality of
its bars.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from typing import Annotated, Any, Final, NotRequired, TypeAlias

import numpy as np
from django.db import connection
from django.db.models import Min, QuerySet
from pydantic import Field
from typing_extensions import TypedDict

from apps.core.times import midnight, moment, wire_time
from apps.engine.candles import DAY, IST, TIMEFRAMES, Candles, Sessions
from apps.market.candles import buffer, queries, reading
from apps.market.candles.buffer import SeriesKey
from apps.market.candles.chunks import days_from_bits
from apps.market.candles.quality import Days, Flags, Quality, inspect, missing_days, year_of
from apps.market.models import BufferedCandle, CandleChunk
from apps.market.rulebook.calendars import calendar_of, calendars_of

MOST_GAPS: Final = 100
# The newest bars of a timeframe that are inspected: a decade of minutes.
MOST_INSPECTED: Final = 1_000_000

_Count: TypeAlias = Annotated[int, Field(ge=0)]
_Date: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date"})]
_Moment: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
_NO_DAYS: Final = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Gap:
    """Sessions in a row without a bar."""

    first: date
    last: date
    sessions: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps of one timeframe: the newest MOST_GAPS, oldest first.

    `missing` counts the sessions of all gaps. The holidays of `unchecked` years are unknown, so
    these years have no gaps.
    """

    days: int
    missing: int
    gaps: tuple[Gap, ...]
    unchecked: tuple[int, ...]


def gaps_of(symbols: Collection[str]) -> Mapping[SeriesKey, Gaps]:
    """Return the gaps of each stored series except weeks, keyed by symbol and timeframe, without
    reading a bar, in a few statements for any number of symbols.
    """
    calendars = calendars_of(symbols)
    days: dict[SeriesKey, list[Days]] = defaultdict(list)
    for symbol, timeframe, first_time, _, _, start, bits in _stored_days(symbols):
        if timeframe != "1w":
            days[symbol, timeframe].append(_days_of(first_time, start, bits))
    return {
        (symbol, timeframe): _gaps(np.unique(np.concatenate(pieces)), calendars[symbol])
        for (symbol, timeframe), pieces in days.items()
    }


def timeframes_of(symbol: str) -> list[dict[str, object]]:
    """Return the stored history of the symbol by timeframe, with the gaps of each except weeks."""
    return series_of([symbol])[symbol]


def series_of(symbols: Collection[str]) -> Mapping[str, list[dict[str, object]]]:
    """Return the result of `timeframes_of` keyed by symbol, in a few statements for any number of
    symbols.
    """
    gaps = gaps_of(symbols)
    series: dict[str, list[dict[str, object]]] = {}
    for symbol, timeframes in reading.stored_timeframes_of(symbols).items():
        series[symbol] = []
        for stored in timeframes:
            checked = gaps.get((symbol, str(stored["timeframe"])))
            series[symbol].append({**stored, **({} if checked is None else asdict(checked))})
    return series


def stored_series(
    *, query: str = "", exchange: str = "", timeframe: str = ""
) -> QuerySet[CandleChunk, SeriesKey]:
    """Return (symbol, timeframe) of candle chunks in alphabetical order, filtered by a part `query`
    of the symbol, an exchange and a timeframe if given.
    """
    chunks = CandleChunk.objects.filter(symbol__contains=query.upper())
    if exchange:
        chunks = chunks.filter(symbol__startswith=f"{exchange}:")
    if timeframe:
        chunks = chunks.filter(timeframe=timeframe)
    return chunks.order_by("symbol", "timeframe").values_list("symbol", "timeframe").distinct()


def series_of_keys(keys: Sequence[SeriesKey]) -> list[dict[str, object]]:
    """Return the stored history of each series, with its `symbol`, in the same order."""
    series = {
        (symbol, row["timeframe"]): {"symbol": symbol, **row}
        for symbol, rows in series_of({symbol for symbol, _ in keys}).items()
        for row in rows
    }
    return [series[key] for key in keys if key in series]


def quality_of(symbol: str, timeframe: str) -> Quality | None:
    """Return the quality of the newest MOST_INSPECTED bars, adjusted for the known corporate
    actions; None without a bar.
    """
    page = reading.read_page(
        symbol, timeframe, start=None, end=None, limit=MOST_INSPECTED, adjusted=True
    )
    if not len(page.candles):
        return None
    return inspect(symbol, page.candles, timeframe, calendar_of(symbol))


def _gaps(days: Days, sessions: Sessions) -> Gaps:
    missing = missing_days(days, sessions)
    years = np.unique(year_of(days))
    known = years if sessions.years is None else sessions.years
    return Gaps(
        days=len(days),
        missing=len(missing),
        gaps=tuple(_runs(missing, days))[-MOST_GAPS:],
        unchecked=tuple(years[~np.isin(years, known)].tolist()),
    )


def _runs(missing: Days, days: Days) -> Sequence[Gap]:
    """Group consecutive missing sessions: the number of stored days before them is equal."""
    if not len(missing):
        return ()
    before = np.searchsorted(days, missing)
    runs = np.split(missing, np.flatnonzero(np.diff(before)) + 1)
    return [Gap(_date(int(run[0])), _date(int(run[-1])), len(run)) for run in runs]


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The stored history of a symbol for one timeframe.

    `days` are the dates covered by bars, ascending; a weekly bar covers all dates of its week.
    `bars` counts the stored bars of the longest timeframe, `first_bar` and `last_bar` are the
    starts of the outer ones (epoch seconds), and `since` is the first stored day in any timeframe;
    these are None without a bar.
    """

    days: Days = field(default_factory=_NO_DAYS.copy)
    bars: int = 0
    first_bar: int | None = None
    last_bar: int | None = None
    since: int | None = None


class CoverageRow(TypedDict):
    """The stored share of a range for a symbol, on the wire."""

    symbol: Annotated[str, Field(description="EXCHANGE:SYMBOL")]
    bars: Annotated[
        _Count,
        Field(description="The bars of the range; in the review of an algorithm, all stored bars."),
    ]
    firstBar: Annotated[_Moment | None, Field(description="The start of the first bar.")]
    lastBar: Annotated[_Moment | None, Field(description="The start of the last bar.")]
    heldSessions: Annotated[_Count, Field(description="Sessions of the range that have bars.")]
    sessions: Annotated[_Count, Field(description="Sessions of the range, by the dated calendar.")]
    percentage: Annotated[
        float | None,
        Field(description="Held sessions in percent of `sessions`; null without any."),
    ]
    since: Annotated[_Date | None, Field(description="The first stored day of the symbol.")]
    sessionsSince: Annotated[
        _Count,
        Field(
            description="Sessions of the range from `since` on: a backtest needs the percentage of"
            " them that BACKTEST_MIN_COVERAGE says."
        ),
    ]
    generatedUntil: NotRequired[
        Annotated[
            _Moment,
            Field(description="The start of the last generated candle; none after it is."),
        ]
    ]


@dataclass(frozen=True, slots=True)
class SessionCoverage:
    """The stored share of a range for a symbol.

    `sessions` counts the range, and `sessions_since` starts at the symbol's first stored day
    `since`. In years before the calendar's first hours the weekdays with bars count as sessions.
    `generated_until` is the start of the last generated bar.
    """

    symbol: str
    bars: int
    first_bar: int | None
    last_bar: int | None
    held_sessions: int
    sessions: int
    since: int | None
    sessions_since: int
    generated_until: int | None = None

    @property
    def percentage(self) -> float | None:
        """The stored share of the range's sessions; None for a range without a session."""
        return round(100 * self.held_sessions / self.sessions, 2) if self.sessions else None

    def is_under(self, percent: float, sessions: int) -> bool:
        """Return whether fewer sessions are stored than this percentage of `sessions`."""
        return 100 * self.held_sessions < percent * sessions

    def to_wire(self) -> CoverageRow:
        """Return the coverage in wire form."""
        row = CoverageRow(
            symbol=self.symbol,
            bars=self.bars,
            firstBar=_wire_moment(self.first_bar),
            lastBar=_wire_moment(self.last_bar),
            heldSessions=self.held_sessions,
            sessions=self.sessions,
            percentage=self.percentage,
            since=None if self.since is None else _date(self.since).isoformat(),
            sessionsSince=self.sessions_since,
        )
        if self.generated_until is not None:
            row["generatedUntil"] = wire_time(moment(self.generated_until))
        return row


def coverage_of(
    symbol: str, stored: StoredHistory, calendar: Sessions, *, first_day: int, last_day: int
) -> SessionCoverage:
    """Return the coverage of a range of dates (day numbers, both included)."""
    if last_day < first_day:  # as of a symbol without bars: NumPy counts no days in 0.1 ms
        bounds = stored.first_bar, stored.last_bar
        return SessionCoverage(symbol, stored.bars, *bounds, 0, 0, stored.since, 0)
    days = np.arange(first_day, last_day + 1, dtype=np.int32)
    has_bars = np.isin(days, stored.days)
    without_hours = calendar.hours(days)[0] < 0
    is_session = calendar.is_session(days) | has_bars & without_hours & ~_is_weekend(days)
    since = first_day if stored.since is None else stored.since
    return SessionCoverage(
        symbol=symbol,
        bars=stored.bars,
        first_bar=stored.first_bar,
        last_bar=stored.last_bar,
        held_sessions=int(np.count_nonzero(has_bars & is_session)),
        sessions=int(np.count_nonzero(is_session)),
        since=stored.since,
        sessions_since=int(np.count_nonzero(is_session & (days >= since))),
    )


def coverage_until(
    now: datetime, *, calendars: Mapping[str, Sessions], timeframe: str
) -> Iterator[SessionCoverage]:
    """Return the coverage of each symbol of `calendars`, in their order, from its first stored day
    to the day before `now`.
    """
    histories = stored_history_of(calendars, timeframe)
    yesterday = _day(int(now.timestamp())) - 1
    for symbol, calendar in calendars.items():
        stored = histories[symbol]
        newest = yesterday if stored.last_bar is None else max(yesterday, _day(stored.last_bar))
        first = newest + 1 if stored.since is None else stored.since
        yield coverage_of(symbol, stored, calendar, first_day=first, last_day=newest)


def history_of_bars(candles: Candles, timeframe: str, *, since: int | None) -> StoredHistory:
    """Describe bars of one timeframe; `since` is the first stored day of their symbol."""
    if not len(candles):
        return StoredHistory(since=since)
    first, last = candles.time[[0, -1]].tolist()
    days = _covered(np.unique(candles.days), timeframe)
    return StoredHistory(days, len(candles), first, last, since)


def stored_history_of(symbols: Collection[str], timeframe: str) -> Mapping[str, StoredHistory]:
    """Return the stored history for a timeframe: its own bars and the shorter ones that make it.

    It takes one statement for any number of symbols, and reads no bar.
    """
    sources = set(buffer.sources_of(timeframe))
    days: dict[str, list[Days]] = defaultdict(list)
    bars: dict[str, Counter[str]] = defaultdict(Counter)
    starts: dict[str, list[int]] = defaultdict(list)
    since: dict[str, list[int]] = defaultdict(list)
    for symbol, source, first_time, last_time, count, start, bits in _stored_days(symbols):
        since[symbol].append(first_time)
        if source not in sources:
            continue
        if count is not None:
            bars[symbol][source] += count
        days[symbol].append(_covered(_days_of(first_time, start, bits), source))
        starts[symbol] += (first_time, last_time)
    return {
        symbol: StoredHistory(
            days=np.unique(np.concatenate(days.get(symbol, [_NO_DAYS]))),
            bars=_of_the_longest(bars[symbol]),
            first_bar=min(starts[symbol], default=None),
            last_bar=max(starts[symbol], default=None),
            since=min((_day(time) for time in since[symbol]), default=None),
        )
        for symbol in symbols
    }


def _stored_days(symbols: Collection[str]) -> list[tuple[Any, ...]]:
    """Return a row for each chunk of the symbols, and one for each day in the intraday buffer."""
    with connection.cursor() as cursor:
        cursor.execute(queries.STORED_DAYS, {"symbols": list(symbols)})
        return list(cursor.fetchall())


def _days_of(first_time: int, period_start: date | None, bits: bytes | None) -> Days:
    """Return the days with bars of a row: of a chunk, or one day of the intraday buffer."""
    if bits is None or period_start is None:
        return np.array([_day(first_time)], np.int32)
    return days_from_bits(bytes(bits), midnight(period_start))


def first_stored_days(symbols: Collection[str]) -> Mapping[str, int | None]:
    """Return the first stored day in any timeframe, keyed by symbol."""
    chunks = CandleChunk.objects.filter(symbol__in=list(symbols)).order_by().values_list("symbol")
    first = {symbol: int(time.timestamp()) for symbol, time in chunks.annotate(Min("first_time"))}
    buffered = BufferedCandle.objects.filter(symbol__in=list(symbols)).values_list("symbol")
    for symbol, time in buffered.order_by().annotate(Min("time")):
        first[symbol] = min(time, first.get(symbol, time))
    return {symbol: _day(first[symbol]) if symbol in first else None for symbol in symbols}


def _of_the_longest(bars: Mapping[str, int]) -> int:
    """Return the count of the longest timeframe."""
    return bars[max(bars, key=TIMEFRAMES.__getitem__)] if bars else 0


def _covered(days: Days, timeframe: str) -> Days:
    """Return the dates covered by bars of these days: a week's bar covers Monday to Sunday."""
    if timeframe != "1w":
        return days
    return np.asarray(days[:, np.newaxis] + np.arange(7), np.int32).ravel()


def _is_weekend(days: Days) -> Flags:
    return np.asarray((days + 3) % 7 >= 5)  # 1970-01-01 was a Thursday


def _day(time: int) -> int:
    return (time + IST) // DAY


def _date(day: int) -> date:
    return date.fromordinal(date(1970, 1, 1).toordinal() + day)


def _wire_moment(time: int | None) -> str | None:
    return None if time is None else wire_time(moment(time))
