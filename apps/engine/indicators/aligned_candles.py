"""Candles of longer timeframes and of other symbols beside the bars of an algorithm (rule 17)."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, TIMEFRAME_SECONDS, Candles, day_start, ist_day
from apps.engine.candles.resampling import bar_ends
from apps.engine.candles.sessions import Sessions

OLDEST_DAYS: Final = 7
"""A candle of another symbol that ended so many days before a bar is not read there any more."""
OLDEST_DAYS_OF_WEEKS: Final = 14


class AlignedCandles(NamedTuple):
    """Candles beside the bars of an algorithm.

    `seen` i8[bars] is the index of the last closed candle at each bar, -1 for none.
    """

    timeframe: str
    candles: Candles
    seen: NDArray[np.int64]

    @classmethod
    def of(
        cls, bars: Candles, timeframe: str, candles: Candles, longer: str, sessions: Sessions | None
    ) -> AlignedCandles:
        """Return `candles` in the timeframe `longer`, aligned to `bars` of `timeframe`.

        A candle counts at a bar when it ends no later; a day counts from the next date on, a week
        from the next Monday on.
        """
        own, other = _Clock(timeframe, sessions), _Clock(longer, sessions)
        return cls(longer, candles, _seen(bars, own, candles, other))

    @classmethod
    def of_other(
        cls,
        bars: Candles,
        timeframe: str,
        candles: Candles,
        other_timeframe: str,
        *,
        sessions: Sessions | None,
        other_sessions: Sessions | None,
    ) -> AlignedCandles:
        """Return the candles of another symbol, of the same timeframe or a longer one, aligned to
        `bars`.

        A longer candle counts as in `of`, one of the same timeframe when it has ended: a day at its
        session's close, a week on the next Monday; below a day on its own date alone. None counts
        for long (OLDEST_DAYS).
        """
        own, other = _Clock(timeframe, sessions), _Clock(other_timeframe, other_sessions)
        seen = _seen(bars, own, candles, other)
        if len(candles):
            oldest = OLDEST_DAYS_OF_WEEKS if other_timeframe == "1w" else OLDEST_DAYS
            age = own.ends(bars.time) - other.ends(candles.time)[seen]
            fresh = age <= oldest * DAY
            if other_timeframe == timeframe and TIMEFRAME_SECONDS[timeframe] < DAY:
                fresh &= ist_day(candles.time)[seen] == ist_day(bars.time)
            seen = np.where(fresh, seen, -1)
        return cls(other_timeframe, candles, seen)


class _Clock(NamedTuple):
    """A timeframe, and the sessions that end its candles."""

    timeframe: str
    sessions: Sessions | None

    def ends(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        return bar_ends(time, self.timeframe, self.sessions)


def _seen(bars: Candles, own: _Clock, candles: Candles, other: _Clock) -> NDArray[np.int64]:
    if other.timeframe != own.timeframe and TIMEFRAME_SECONDS[other.timeframe] >= DAY:
        counts_from, moment = _next_day(candles.time, other.timeframe), bars.time
    else:
        counts_from, moment = other.ends(candles.time), own.ends(bars.time)
    return (np.searchsorted(counts_from, moment, side="right") - 1).astype(np.int64)


def _next_day(time: NDArray[np.int64], timeframe: str) -> NDArray[np.int64]:
    """Return midnight in Asia/Kolkata after a day, or after the Sunday of a week."""
    day = ist_day(time)
    later = 7 - (day + 3) % 7 if timeframe == "1w" else 1  # 1970-01-01 was a Thursday
    return day_start(day + later)
