"""The quality of a series of bars: gaps, bars off session, jumps.

Nothing is changed. A jump or a spike may be real (YESBANK lost half in a day in 2020); a report
only points to it. Options naturally move so much, and are checked for neither.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, TIMEFRAMES, Candles, Sessions, Symbol, in_session, ist_day

Days = NDArray[np.int32]
Flags = NDArray[np.bool_]

# A bar that opens this share or more away from the last close is a jump.
JUMP: Final = 0.3
# A close this share or more away from both its neighbours, which agree, is a spike.
SPIKE: Final = 0.3
_AGREE: Final = 0.15
# Bars in a row without volume, in a series that has volume elsewhere, that make a run.
LONG_RUN: Final = 10


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a series; days are numbers since 1970 in Asia/Kolkata, `days` those with bars.

    `missing_days` are sessions without a bar between the first and the last date. `short_days` have
    fewer bars in their session than it has periods (in thin trading, or with missing bars).
    `unlisted_days` have bars without a session in the calendar. `off_session` counts bars
    completely outside of sessions. `jumps` and `spikes` are the times of such bars, `silent_runs`
    the times at which runs without volume begin.
    """

    timeframe: str
    bars: int
    days: Days
    missing_days: Days
    short_days: Days
    unlisted_days: Days
    off_session: int
    without_volume: int
    jumps: NDArray[np.int64]
    spikes: NDArray[np.int64]
    silent_runs: NDArray[np.int64]


def inspect(symbol: str, candles: Candles, timeframe: str, sessions: Sessions) -> Quality:
    """Return the quality of a series with at least one bar."""
    days, _ = days_of(candles.time)
    inside = in_session(candles.time, timeframe, sessions)
    full, bars = days_of(candles.time[inside])
    moves = Symbol.parse(symbol).type != "options"
    return Quality(
        timeframe=timeframe,
        bars=len(candles),
        days=days,
        missing_days=missing_days(days, sessions) if timeframe != "1w" else days[:0],
        short_days=_short_days(full, bars, timeframe, sessions),
        unlisted_days=_unlisted_days(days, timeframe, sessions),
        off_session=int(np.count_nonzero(~inside)),
        without_volume=int(np.count_nonzero(candles.volume == 0)),
        jumps=candles.time[_jumps(candles)] if moves else candles.time[:0],
        spikes=candles.time[_spikes(candles)] if moves else candles.time[:0],
        silent_runs=_silent_runs(candles),
    )


def days_of(times: NDArray[np.int64]) -> tuple[Days, NDArray[np.intp]]:
    """Return the dates of bars in order of time, and the number of bars of each."""
    day = ist_day(times)
    first = np.flatnonzero(np.diff(day, prepend=-1))
    return day[first], np.diff(np.append(first, len(day)))


def missing_days(days: Days, sessions: Sessions) -> Days:
    """Return the sessions between the first and the last of `days` that are missing from them.

    Years with unknown holidays have none.
    """
    if not len(days):
        return days
    span = np.arange(days[0], days[-1] + 1, dtype=np.int32)
    missing = sessions.is_session(span) & ~np.isin(span, days)
    return span[missing & _in_known_year(span, sessions)]


def _in_known_year(days: Days, sessions: Sessions) -> Flags:
    if sessions.years is None:
        return np.ones(len(days), dtype=np.bool_)
    return np.isin(year_of(days), sessions.years)


def year_of(days: Days) -> NDArray[np.int64]:
    return days.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970


def _short_days(days: Days, bars: NDArray[np.intp], timeframe: str, sessions: Sessions) -> Days:
    """Return the dates with fewer bars than their session has periods."""
    if TIMEFRAMES[timeframe] >= DAY:
        return days[:0]
    opens, closes = sessions.hours(days)
    periods = -((opens - closes) // TIMEFRAMES[timeframe])
    return days[(bars < periods) & (opens >= 0)]


def _unlisted_days(days: Days, timeframe: str, sessions: Sessions) -> Days:
    if timeframe == "1w":
        return days[:0]
    opens, _ = sessions.hours(days)
    return days[~sessions.is_session(days) & (opens >= 0)]


def _jumps(candles: Candles) -> Flags:
    moved = np.zeros(len(candles))
    moved[1:] = candles.open[1:] / candles.close[:-1] - 1
    return np.asarray(np.abs(moved) >= JUMP)


def _spikes(candles: Candles) -> Flags:
    close = candles.close
    spikes = np.zeros(len(close), dtype=np.bool_)
    if len(close) < 3:
        return spikes
    before, current, after = close[:-2], close[1:-1], close[2:]
    nearest = np.minimum(np.abs(current / before - 1), np.abs(current / after - 1))
    spikes[1:-1] = (nearest >= SPIKE) & (np.abs(after / before - 1) < _AGREE)
    return spikes


def _silent_runs(candles: Candles) -> NDArray[np.int64]:
    silent = candles.volume == 0
    if silent.all() or not silent.any():
        return candles.time[:0]
    edges = np.flatnonzero(np.diff(silent.astype(np.int8), prepend=0, append=0))
    first, stop = edges[::2], edges[1::2]
    return candles.time[first[stop - first >= LONG_RUN]]
