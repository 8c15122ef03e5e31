"""Rows of a stream: the bars of one moment, of all its symbols, once they are in (engine rule 16).

A row closes when each symbol has its bar, or a later one, and at the latest PATIENCE after its
nominal end. It is then used as it is; what comes later does not change it.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, TIMEFRAMES, Candles, bar_ends, buckets, ist_day
from apps.engine.sessions import Sessions, session_bars
from apps.market.store import GRACE_PERIOD
from apps.trading.models import BarStream

GIVEN_UP_AFTER: Final = 10
"""Bars of sessions that may be missing in a row before a run is given up."""

_DAYS_AHEAD: Final = 10
"""Among so many dates there is a session."""
_WEEKS_AHEAD: Final = GIVEN_UP_AFTER + 1
"""Each has a session, and so a bar of every timeframe; the first may be half over."""

PRICES: Final = ("open", "high", "low", "close", "volume")


class BarSnapshot(NamedTuple):
    """`time` and `closes` are the start and the nominal end of its bars (epoch seconds); `bars`
    f8[symbols, 5] are open, high, low, close, volume, NaN without a bar.
    """

    time: int
    closes: int
    bars: NDArray[np.float64]

    @property
    def day(self) -> int:
        """The date in Asia/Kolkata, as a day number."""
        return int(ist_day(np.array([self.time]))[0])

    def has(self, symbol: int) -> bool:
        return not np.isnan(self.bars[symbol, 0])


def without_bars(time: int, closes: int, *, symbols: int) -> BarSnapshot:
    return BarSnapshot(time, closes, np.full((symbols, len(PRICES)), np.nan))


def visible_bars(
    stream: BarStream, candles: Candles, timeframe: str, calendar: Sessions
) -> Candles:
    """Those of one of its symbols that the stream's runs see: of a backtest the same (rule 9)."""
    if stream.include_out_of_session:
        return candles
    return session_bars(candles, timeframe, calendar)


class ClosedRows(NamedTuple):
    """The rows that are closed, in order, and when the one that waits will close, or where none
    waits, the next one's patience is over (the market's time, epoch seconds).
    """

    rows: list[BarSnapshot]
    next_look: int | None


def closed(
    series: Sequence[Candles],
    timeframe: str,
    calendars: Sequence[Sessions],
    *,
    start: int,
    now: int,
) -> ClosedRows:
    """The rows of finished bars that begin at `start` or later (epoch seconds), one series a
    symbol, as things stand at `now`.
    """
    rows: list[BarSnapshot] = []
    for time in np.unique(np.concatenate([bars.time for bars in series])).tolist():
        closes = nominal_end(time, timeframe, calendars)
        if closes > now:
            return ClosedRows(rows, closes)
        complete = all(len(bars) and bars.time[-1] >= time for bars in series)
        if not complete and now < closes + GRACE_PERIOD:
            return ClosedRows(rows, closes + GRACE_PERIOD)
        rows.append(BarSnapshot(time, closes, _bars_at(series, time)))
        start = time + 1
    return ClosedRows(rows, _look_at_next(timeframe, calendars, start, now))


def nominal_end(time: int, timeframe: str, calendars: Sequence[Sessions]) -> int:
    """When the last of the symbols' bars that start at `time` ends (epoch seconds)."""
    start = np.array([time])
    if TIMEFRAMES[timeframe] > DAY:
        return time + TIMEFRAMES[timeframe]
    if TIMEFRAMES[timeframe] == DAY:
        ends = [int(calendar.hours(ist_day(start))[1][0]) for calendar in calendars]
        return max(end if end >= 0 else time + DAY for end in ends)
    return max(int(bar_ends(start, timeframe, calendar)[0]) for calendar in calendars)


def _look_at_next(
    timeframe: str, calendars: Iterable[Sessions], start: int, now: int
) -> int | None:
    """When the patience is over with the first bar of a session that begins at `start` or later,
    one with which it is not over yet. That the bar is there then nothing else may tell: without a
    trade in its last minute none comes that completes it.
    """
    bars = (_first_bar(timeframe, one, start, now - GRACE_PERIOD) for one in set(calendars))
    return min((end + GRACE_PERIOD for end in bars if end is not None), default=None)


@lru_cache(maxsize=1024)  # streams of one timeframe ask the same
def _first_bar(timeframe: str, calendar: Sessions, start: int, over: int) -> int | None:
    """The end of the first bar that begins at `start` or later and ends after `over`: that of the
    moment from which both can hold, the one after it, or the first of a session to come.
    """
    length, since = TIMEFRAMES[timeframe], max(start, over)
    opens, closes = _hours_from(since - length, _DAYS_AHEAD + length // DAY, calendar)
    first = np.clip(since, opens, closes - 1)
    times = np.concatenate([first, buckets(first, length, calendar)[1]])
    begins, ends = buckets(times, length, calendar)
    right = (times < np.tile(closes, 2)) & (begins >= start) & (ends > over)
    return int(ends[right].min()) if right.any() else None


def silent_at(timeframe: str, calendars: Sequence[Sessions], *, since: int, now: int) -> int | None:
    """When it will be too long that no row came after `since` (epoch seconds): GIVEN_UP_AFTER bars
    of one session, counted from its opening or from `since`. Where no session has so many, they are
    counted from session to session. None where no session is certain.
    """
    found = [end for one in calendars for end in _within_a_session(timeframe, one, since, now)]
    found = found or [end for one in calendars for end in _over_sessions(timeframe, one, since)]
    return min(found, default=None)


def _within_a_session(timeframe: str, calendar: Sessions, since: int, now: int) -> list[int]:
    opens, closes = _certain_hours_from(now, _DAYS_AHEAD, calendar)
    ends = np.maximum(opens, since) + GIVEN_UP_AFTER * TIMEFRAMES[timeframe]
    found: list[int] = ends[ends <= closes].tolist()
    return found


def _over_sessions(timeframe: str, calendar: Sessions, since: int) -> list[int]:
    length = TIMEFRAMES[timeframe]
    opens, closes = _certain_hours_from(since, _WEEKS_AHEAD * 7, calendar)
    pairs = zip(opens.tolist(), closes.tolist(), strict=True)
    starts = np.array([start for hours in pairs for start in range(*hours, length)], np.int64)
    ends = np.unique(buckets(starts, length, calendar)[1])
    found: list[int] = ends[ends > since][GIVEN_UP_AFTER - 1 :].tolist()
    return found


def _hours_from(
    moment: int, count: int, calendar: Sessions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Openings and closes of the sessions among so many dates."""
    return calendar.hours(_sessions_from(moment, count, calendar))


def _certain_hours_from(
    moment: int, count: int, calendar: Sessions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Without sessions at hours that nobody knows, such as Muhurat trading's: no bar of them is
    ever late.
    """
    days = _sessions_from(moment, count, calendar)
    return calendar.hours(days[calendar.certain_closes(days) >= 0])


def _sessions_from(moment: int, count: int, calendar: Sessions) -> NDArray[np.int32]:
    first = int(ist_day(np.array([moment]))[0])
    days = np.arange(first, first + count, dtype=np.int32)
    return days[calendar.is_session(days)]


def _bars_at(series: Sequence[Candles], time: int) -> NDArray[np.float64]:
    found = np.full((len(series), len(PRICES)), np.nan)
    for symbol, bars in enumerate(series):
        at = int(np.searchsorted(bars.time, time))
        if at < len(bars) and bars.time[at] == time:
            found[symbol] = [getattr(bars, name)[at] for name in PRICES]
    return found


def packed(row: BarSnapshot) -> bytes:
    return row.bars.tobytes()


def unpacked(data: bytes, symbols: int) -> NDArray[np.float64]:
    return np.frombuffer(data, np.float64).reshape(symbols, len(PRICES))
