"""How many sessions of a range are held of a symbol, by the dated calendar."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

import numpy as np
from django.db.models import F, Max, Min

from apps.core.times import moment, wire_time
from apps.engine.candles import DAY, IST, TIMEFRAMES, Candles, ist_days
from apps.engine.sessions import Sessions
from apps.market import candle_chunks, intraday_buffer
from apps.market.calendars import calendars_of
from apps.market.dates import midnight
from apps.market.models import BufferedCandle, CandleChunk
from apps.market.quality import Days, Flags

_NO_DAYS: Final = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """What is held of a symbol to serve one timeframe.

    `days` are the dates that bars cover, ascending: of weekly bars all dates of the week. `bars`
    counts them, of what is stored those of the longest timeframe, `first_bar` and `last_bar` are
    the starts of the outer ones (epoch seconds), and `since` is the first day that is held in any
    timeframe; None without a bar.
    """

    days: Days = field(default_factory=_NO_DAYS.copy)
    bars: int = 0
    first_bar: int | None = None
    last_bar: int | None = None
    since: int | None = None


@dataclass(frozen=True, slots=True)
class SessionCoverage:
    """How much of a range is held of a symbol.

    `sessions` are those of the range, `sessions_since` those of them from the day `since` on, the
    first one that is held of the symbol. Of years before the calendar's first hours the weekdays
    that have bars are the sessions.
    """

    symbol: str
    bars: int
    first_bar: int | None
    last_bar: int | None
    held_sessions: int
    sessions: int
    since: int | None
    sessions_since: int

    @property
    def percentage(self) -> float | None:
        """The share of the range's sessions that is held; None of a range without a session."""
        return round(100 * self.held_sessions / self.sessions, 2) if self.sessions else None

    def is_under(self, percent: float, sessions: int) -> bool:
        """Whether fewer sessions are held than this percentage of a number of sessions."""
        return 100 * self.held_sessions < percent * sessions

    def to_wire(self) -> dict[str, object]:
        """The coverage as clients read it."""
        return {
            "symbol": self.symbol,
            "bars": self.bars,
            "firstBar": _moment(self.first_bar),
            "lastBar": _moment(self.last_bar),
            "heldSessions": self.held_sessions,
            "sessions": self.sessions,
            "percentage": self.percentage,
            "since": _date(self.since),
            "sessionsSince": self.sessions_since,
        }


def coverage_of(
    symbol: str, holdings: StoredHistory, calendar: Sessions, *, first_day: int, last_day: int
) -> SessionCoverage:
    """The coverage of a range of dates (day numbers, both included)."""
    days = np.arange(first_day, last_day + 1, dtype=np.int32)
    has_bars = np.isin(days, holdings.days)
    without_hours = calendar.hours(days)[0] < 0
    is_session = calendar.is_session(days) | has_bars & without_hours & ~_is_weekend(days)
    since = first_day if holdings.since is None else holdings.since
    return SessionCoverage(
        symbol=symbol,
        bars=holdings.bars,
        first_bar=holdings.first_bar,
        last_bar=holdings.last_bar,
        held_sessions=int(np.count_nonzero(has_bars & is_session)),
        sessions=int(np.count_nonzero(is_session)),
        since=holdings.since,
        sessions_since=int(np.count_nonzero(is_session & (days >= since))),
    )


def coverage_until(
    now: datetime, *, symbols: Sequence[str], timeframe: str
) -> Iterator[SessionCoverage]:
    """By symbol, in the given order, what is held from its first day to the day before `now`."""
    holdings, calendars = stored_history_of(symbols, timeframe), calendars_of(symbols)
    yesterday = _day(int(now.timestamp())) - 1
    for symbol in symbols:
        held = holdings[symbol]
        newest = yesterday if held.last_bar is None else max(yesterday, _day(held.last_bar))
        first = newest + 1 if held.since is None else held.since
        yield coverage_of(symbol, held, calendars[symbol], first_day=first, last_day=newest)


def history_of_bars(candles: Candles, timeframe: str, *, since: int | None) -> StoredHistory:
    """What bars in one timeframe hold; `since` is the first day that is held of their symbol."""
    if not len(candles):
        return StoredHistory(since=since)
    first, last = candles.time[[0, -1]].tolist()
    days = _covered(np.unique(ist_days(candles.time)), timeframe)
    return StoredHistory(days, len(candles), first, last, since)


def stored_history_of(symbols: Collection[str], timeframe: str) -> Mapping[str, StoredHistory]:
    """What is stored to serve a timeframe: its own bars and the shorter ones that make it.

    It takes two statements, however many symbols there are, and reads no bar.
    """
    sources = set(intraday_buffer.sources_of(timeframe))
    days: dict[str, list[Days]] = defaultdict(list)
    bars: dict[str, Counter[str]] = defaultdict(Counter)
    starts: dict[str, list[int]] = defaultdict(list)
    since: dict[str, list[int]] = defaultdict(list)
    stored = CandleChunk.objects.filter(symbol__in=list(symbols)).order_by()
    columns = ("symbol", "timeframe", "period_start", "first_time", "last_time", "bars", "days")
    for symbol, source, start, first, last, count, bits in stored.values_list(*columns):
        times = int(first.timestamp()), int(last.timestamp())
        since[symbol].append(times[0])
        if source in sources:
            days[symbol].append(
                _covered(candle_chunks.days_from_bits(bytes(bits), midnight(start)), source)
            )
            bars[symbol][source] += count
            starts[symbol] += times
    for symbol, source, day, first_time, last_time in _live_days(symbols):
        since[symbol].append(first_time)
        if source in sources:
            days[symbol].append(_covered(np.array([day], np.int32), source))
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


def _of_the_longest(bars: Mapping[str, int]) -> int:
    """The count of the longest timeframe."""
    return bars[max(bars, key=TIMEFRAMES.__getitem__)] if bars else 0


def _live_days(symbols: Collection[str]) -> Iterable[tuple[str, str, int, int, int]]:
    """Of what came in and is in no block yet: symbol, timeframe, date (as a day number), and the
    starts of the first and the last bar of it.
    """
    bars = BufferedCandle.objects.filter(symbol__in=list(symbols)).order_by()
    days = bars.values("symbol", "timeframe", day=(F("time") + IST) / DAY)
    first_and_last = days.annotate(first=Min("time"), last=Max("time"))
    return first_and_last.values_list("symbol", "timeframe", "day", "first", "last")


def _covered(days: Days, timeframe: str) -> Days:
    """The dates that bars of these days cover: of a week those from its Monday to its Sunday."""
    if timeframe != "1w":
        return days
    return np.asarray(days[:, np.newaxis] + np.arange(7), np.int32).ravel()


def _is_weekend(days: Days) -> Flags:
    return np.asarray((days + 3) % 7 >= 5)  # 1970-01-01 was a Thursday


def _day(time: int) -> int:
    return (time + IST) // DAY


def _moment(time: int | None) -> str | None:
    return None if time is None else wire_time(moment(time))


def _date(day: int | None) -> str | None:
    return None if day is None else date.fromordinal(date(1970, 1, 1).toordinal() + day).isoformat()
