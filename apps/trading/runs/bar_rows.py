"""The rows of a bar stream: the bars of one moment, of all its symbols (engine rule 16).

A row closes when each symbol has its bar, or a later one, and at the latest GRACE_PERIOD after its
nominal end. Bars that arrive after the close do not change the row.

Conditions may read other symbols. A row waits for their candles too, and has those that ended by
its close and came since the row before. Their candles alone make no row.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import (
    DAY,
    TIMEFRAME_SECONDS,
    TIMEFRAMES,
    Candles,
    Sessions,
    bar_ends,
    buckets,
    in_session,
    ist_day,
)
from apps.engine.live import BarSnapshot
from apps.market.candles import GRACE_PERIOD, SeriesKey
from apps.trading.models import BarRow, BarStream

# Bars of sessions that may be missing in a row before a run fails.
MAX_MISSING_BARS: Final = 10

# This many dates include at least one session.
_DAYS_AHEAD: Final = 10
# Each week has a session, and so a bar of every timeframe; the first may be half over.
_WEEKS_AHEAD: Final = MAX_MISSING_BARS + 1


# The columns of a candle of a read symbol: its index, its start, and its numbers.
_READ_COLUMNS: Final = 2 + len(Candles.NUMBERS)


def empty_row(time: int, closes: int, *, symbols: int) -> BarSnapshot:
    return BarSnapshot(time, closes, np.full((symbols, len(Candles.NUMBERS)), np.nan))


def visible_bars(
    stream: BarStream, candles: Candles, timeframe: str, calendar: Sessions
) -> Candles:
    """Return the bars of a symbol that the stream's runs see, as in a backtest (rule 9)."""
    if stream.include_out_of_session:
        return candles
    return candles.select(in_session(candles.time, timeframe, calendar))


def has_in_rows(timeframe: str, read_timeframe: str) -> bool:
    """Return whether rows have candles of a read symbol in this timeframe.

    A day counts from the next date on, so beside shorter bars it is read from the store.
    """
    return read_timeframe == timeframe or TIMEFRAME_SECONDS[read_timeframe] < DAY


def candle_ends(candles: Candles, timeframe: str, calendar: Sessions) -> NDArray[np.int64]:
    return buckets(candles.time, TIMEFRAME_SECONDS[timeframe], calendar)[1]


@dataclass(slots=True)
class UnreadCandles:
    """The complete candles of a read symbol that no row has yet.

    `newest` is the start of its newest candle that is known, in a row or not. Rows have the candles
    that ended after `segment_start`, by default the start of the first row.
    """

    candles: Candles
    timeframe: str
    calendar: Sessions
    newest: int
    segment_start: int | None
    _ends: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self._ends = candle_ends(self.candles, self.timeframe, self.calendar)
        self.newest = max([self.newest, *self.candles.time[-1:].tolist()])

    def are_complete(self, closes: int, *, now: int) -> bool:
        """Return whether no candle is awaited any more that ended by `closes` on its date."""
        due = _last_candle(closes, self.timeframe, self.calendar)
        return due is None or self.newest >= due[0] or now >= due[1] + GRACE_PERIOD

    def take(self, time: int, closes: int) -> Candles:
        """Return the candles of the next row, which begins at `time`, and remove them."""
        self.segment_start = time if self.segment_start is None else self.segment_start
        bounds = self.segment_start, closes
        first, last = np.searchsorted(self._ends, bounds, side="right").tolist()
        taken = self.candles.slice(first, last)
        self.candles = self.candles.slice(last, len(self.candles))
        self._ends = self._ends[last:]
        return taken


@lru_cache(maxsize=1024)  # streams of one timeframe ask the same
def _last_candle(closes: int, timeframe: str, calendar: Sessions) -> tuple[int, int] | None:
    """Return start and end of the last candle that ended by `closes`, in the session of that date
    or in the week; None without one.
    """
    length, moment = TIMEFRAME_SECONDS[timeframe], np.array([closes - 1])
    day = ist_day(moment)
    if length <= DAY and not calendar.is_session(day)[0]:
        return None
    if length < DAY:
        opens, ends_at = (int(hour[0]) for hour in calendar.hours(day))
        moment = np.arange(opens, min(ends_at, closes), length)
    starts, ends = buckets(moment, length, calendar)
    past = np.flatnonzero(ends <= closes)[-1:].tolist()
    return (int(starts[past[0]]), int(ends[past[0]])) if past else None


class ClosedRows(NamedTuple):
    """The closed rows, in order, and the time of the next poll (market's time, epoch seconds).

    `next_poll` is the close of the row under way or, without one, the end of the next row's grace
    period.
    """

    rows: list[BarSnapshot]
    next_poll: int | None


def find_closed_rows(
    series: Sequence[Candles],
    timeframe: str,
    calendars: Sequence[Sessions],
    *,
    start: int,
    now: int,
    after: int = -1,
    unread: Sequence[UnreadCandles] = (),
) -> ClosedRows:
    """Return the closed rows of bars that begin at `start` or later (epoch seconds) by `now`,
    without those that close by `after`.

    `series` are the bars of each symbol, and `unread` those of the read symbols.
    """
    rows: list[BarSnapshot] = []
    for time in np.unique(np.concatenate([bars.time for bars in series])).tolist():
        closes = nominal_end(time, timeframe, calendars)
        if closes > now:
            return ClosedRows(rows, closes)
        complete = all(len(bars) and bars.time[-1] >= time for bars in series)
        complete = complete and all(candles.are_complete(closes, now=now) for candles in unread)
        if not complete and now < closes + GRACE_PERIOD:
            return ClosedRows(rows, closes + GRACE_PERIOD)
        start = time + 1
        if closes > after:
            read = tuple(candles.take(time, closes) for candles in unread)
            rows.append(BarSnapshot(time, closes, _bars_at(series, time), read=read))
    return ClosedRows(rows, _next_poll(timeframe, calendars, start, now))


def nominal_end(time: int, timeframe: str, calendars: Sequence[Sessions]) -> int:
    """Return when the last of the symbols' bars that start at `time` ends (epoch seconds)."""
    start = np.array([time])
    return max(int(bar_ends(start, timeframe, calendar)[0]) for calendar in calendars)


def next_bar_end(timeframe: str, calendars: Iterable[Sessions], *, since: int) -> int | None:
    """Return the end of the first session bar that begins at `since` or later, or is under way
    then; None if no session is known.
    """
    ends = (_first_bar_end(timeframe, calendar, 0, since) for calendar in set(calendars))
    return min((end for end in ends if end is not None), default=None)


def _next_poll(timeframe: str, calendars: Iterable[Sessions], start: int, now: int) -> int | None:
    """Return the end of the first grace period that is not over, of session bars from `start` on.

    Only this time shows that such a bar is complete: if its last minute has no trade, no later bar
    completes it.
    """
    ends = (
        _first_bar_end(timeframe, calendar, start, now - GRACE_PERIOD)
        for calendar in set(calendars)
    )
    return min((end + GRACE_PERIOD for end in ends if end is not None), default=None)


@lru_cache(maxsize=1024)  # streams of one timeframe ask the same
def _first_bar_end(timeframe: str, calendar: Sessions, start: int, over: int) -> int | None:
    """Return the end of the first bar that begins at `start` or later and ends after `over`.

    It is the bar of the first moment when both can hold, the bar after it, or the first of a later
    session.
    """
    length, since = TIMEFRAMES[timeframe], max(start, over)
    days = _session_days(since - length, _DAYS_AHEAD + length // DAY, calendar)
    opens, closes = calendar.hours(days)
    first = np.clip(since, opens, closes - 1)
    times = np.concatenate([first, buckets(first, length, calendar)[1]])
    begins, ends = buckets(times, length, calendar)
    right = (times < np.tile(closes, 2)) & (begins >= start) & (ends > over)
    return int(ends[right].min()) if right.any() else None


def gives_up_at(
    timeframe: str, calendars: Sequence[Sessions], *, since: int, now: int
) -> int | None:
    """Return the time when MAX_MISSING_BARS bars after `since` will have passed without a row
    (epoch seconds).

    The bars are of one session, counted from its opening or from `since`; if no session has so
    many, they are counted across sessions. None if no session is certain.
    """
    ends = [
        end
        for calendar in calendars
        for end in _ends_within_a_session(timeframe, calendar, since, now)
    ] or [end for calendar in calendars for end in _ends_over_sessions(timeframe, calendar, since)]
    return min(ends, default=None)


def _ends_within_a_session(timeframe: str, calendar: Sessions, since: int, now: int) -> list[int]:
    opens, closes = _certain_hours(now, _DAYS_AHEAD, calendar)
    ends = np.maximum(opens, since) + MAX_MISSING_BARS * TIMEFRAMES[timeframe]
    inside: list[int] = ends[ends <= closes].tolist()
    return inside


def _ends_over_sessions(timeframe: str, calendar: Sessions, since: int) -> list[int]:
    length = TIMEFRAMES[timeframe]
    opens, closes = _certain_hours(since, _WEEKS_AHEAD * 7, calendar)
    pairs = zip(opens.tolist(), closes.tolist(), strict=True)
    starts = np.array([start for hours in pairs for start in range(*hours, length)], np.int64)
    ends = np.unique(buckets(starts, length, calendar)[1])
    later: list[int] = ends[ends > since][MAX_MISSING_BARS - 1 :].tolist()
    return later


def _certain_hours(
    moment: int, count: int, calendar: Sessions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return openings and closes of the sessions among this many dates.

    Sessions at unknown hours, such as Muhurat trading, are left out: their bars are never late.
    """
    days = _session_days(moment, count, calendar)
    return calendar.hours(days[calendar.certain_closes(days) >= 0])


def _session_days(moment: int, count: int, calendar: Sessions) -> NDArray[np.int32]:
    first = int(ist_day(np.array([moment]))[0])
    days = np.arange(first, first + count, dtype=np.int32)
    return days[calendar.is_session(days)]


def _bars_at(series: Sequence[Candles], time: int) -> NDArray[np.float64]:
    row = np.full((len(series), len(Candles.NUMBERS)), np.nan)
    for symbol, bars in enumerate(series):
        index = int(np.searchsorted(bars.time, time))
        if index < len(bars) and bars.time[index] == time:
            row[symbol] = [getattr(bars, name)[index] for name in Candles.NUMBERS]
    return row


def pack_bars(row: BarSnapshot) -> bytes:
    return row.bars.tobytes()


def unpack_bars(data: bytes, symbols: int) -> NDArray[np.float64]:
    return np.frombuffer(data, np.float64).reshape(symbols, len(Candles.NUMBERS))


def pack_read(row: BarSnapshot) -> bytes | None:
    """Return the candles of the read symbols, None without any."""
    columns = [
        np.column_stack(
            [
                np.full(len(candles), index),
                candles.time,
                *(getattr(candles, name) for name in Candles.NUMBERS),
            ]
        )
        for index, candles in enumerate(row.read)
        if len(candles)
    ]
    return np.concatenate(columns).astype(np.float64).tobytes() if columns else None


def unpack_read(parts: Iterable[bytes | memoryview | None], symbols: int) -> tuple[Candles, ...]:
    """Return the candles of each read symbol in consecutive rows."""
    data = b"".join(bytes(part) for part in parts if part is not None)
    table = np.frombuffer(data, np.float64).reshape(-1, _READ_COLUMNS)
    return tuple(
        Candles.unchecked(own[:, 1].astype(np.int64), own[:, 2:].T)
        for own in (table[table[:, 0] == index] for index in range(symbols))
    )


def read_after(
    row: BarSnapshot, series: Sequence[SeriesKey], calendars: Sequence[Sessions], *, after: int
) -> Iterator[tuple[str, Candles]]:
    """Yield the symbols of a stream's `read_series` and their candles in a row that ended later
    than `after`.
    """
    for (symbol, timeframe), calendar, candles in zip(series, calendars, row.read, strict=True):
        yield symbol, candles.select(candle_ends(candles, timeframe, calendar) > after)


def row_as_used(row: BarRow, stream: BarStream, calendars: Sequence[Sessions]) -> BarSnapshot:
    """Return a stored row; `calendars` are those of the traded symbols."""
    closes = nominal_end(row.time, stream.timeframe, calendars)
    bars = unpack_bars(bytes(row.bars), len(stream.symbols))
    read = unpack_read([row.read_candles], len(stream.read_symbols))
    return BarSnapshot(row.time, closes, bars, read=read)
