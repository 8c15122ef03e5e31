"""How late the fills of trades came, and how much was traded in their bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import (
    DAY,
    IST,
    TIMEFRAMES,
    Candles,
    bar_ends,
    ist_day,
    ist_days,
)
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Array
from apps.engine.sessions import Sessions

Floats = NDArray[np.float64]

LATE_BARS = 3
"""A fill is late after more bars than these."""
THIN_SHARE = 0.1
"""A fill is thin that takes more of its bar's volume than this fraction."""

_DECIDED_AT_A_CLOSE = [
    EXIT_REASONS.index(name)
    for name in ("signal", "opposite_signal", "max_holding", "daily_loss_limit", "stopped")
]
"""Exits that a close decides and the symbol's next open fills."""
_NO_FILLS = [EXIT_REASONS.index(name) for name in ("end_of_data", "expiry")]
"""Exits that no order in the bar makes."""


class FillQuality(NamedTuple):
    """One column a fact, one value a trade; NaN where it is not known, or where there is none.

    Delays are bars and minutes of sessions between the end of the symbol's last bar before the
    fill, which gave the signal, and the start of the bar of the fill. Volumes are those of the bars
    of the fills.
    """

    entry_delay_bars: Floats
    entry_delay_minutes: Floats
    entry_volume: Floats
    exit_delay_bars: Floats
    exit_delay_minutes: Floats
    exit_volume: Floats

    def of(self, rows: slice | NDArray[np.intp]) -> FillQuality:
        """The facts of some of the trades."""
        return FillQuality(*(column[rows] for column in self))


def fill_quality_of(
    trades: Array,
    candles: Sequence[Candles],
    calendars: Sequence[Sessions | None],
    timeframe: str,
) -> FillQuality:
    """The facts of TRADE records, by the bars that were simulated and the calendars of their
    symbols, both in the order of the symbols.
    """
    fills = unknown_fill_quality(len(trades))
    for index, (bars, sessions) in enumerate(zip(candles, calendars, strict=True)):
        rows = np.flatnonzero(trades["symbol"] == index)
        if len(rows):
            of_symbol = _of_symbol(trades.take(rows), bars, sessions, timeframe)
            for column, values in zip(fills, of_symbol, strict=True):
                column[rows] = values
    return fills


def unknown_fill_quality(count: int) -> FillQuality:
    """Of so many trades of which nothing is known."""
    return FillQuality(*(np.full(count, np.nan) for _ in FillQuality._fields))


def volume_shares(quantity: Floats, volume: Floats) -> Floats:
    """Fractions of the volume; NaN where there is no volume."""
    shares = np.full(len(volume), np.nan)
    np.divide(quantity, volume, out=shares, where=volume > 0)
    return shares


def is_thin(quantity: Floats, volume: Floats) -> NDArray[np.bool_]:
    """Whether fills take more than THIN_SHARE of a volume, or more than none at all."""
    return quantity > THIN_SHARE * volume  # never true of NaN


def is_late(bars: Floats) -> NDArray[np.bool_]:
    """Whether fills came after more than LATE_BARS bars."""
    return bars > LATE_BARS  # never true of NaN


def _of_symbol(
    trades: Array, bars: Candles, sessions: Sessions | None, timeframe: str
) -> FillQuality:
    entry = np.searchsorted(bars.time, trades["entry_time"])
    leave = np.searchsorted(bars.time, trades["exit_time"])
    volume = bars.volume if bars.volume.any() else np.full(len(bars), np.nan)
    volume_at_exit = np.where(np.isin(trades["reason"], _NO_FILLS), np.nan, volume[leave])
    decided = np.isin(trades["reason"], _DECIDED_AT_A_CLOSE)
    if sessions is None:
        unknown = np.full(len(trades), np.nan)
        return FillQuality(unknown, unknown, volume[entry], unknown, unknown, volume_at_exit)
    clock = _SessionClock(bars, sessions, timeframe)
    entry_bars, entry_minutes = clock.delays(entry)
    exit_bars, exit_minutes = clock.delays(leave)
    return FillQuality(
        entry_bars,
        entry_minutes,
        volume[entry],
        np.where(decided, exit_bars, np.nan),
        np.where(decided, exit_minutes, np.nan),
        volume_at_exit,
    )


class _SessionClock:
    """Time that stands still outside of sessions, from a symbol's first bar to its last.

    Sessions are those of which the calendar is certain, and dates on which the symbol has a bar:
    where nobody knows the holidays, a date without a bar is taken for one.
    """

    def __init__(self, bars: Candles, sessions: Sessions, timeframe: str) -> None:
        self._time, self._sessions, self._timeframe = bars.time, sessions, timeframe
        self._first = int(ist_day(bars.time[:1])[0])
        last = int(ist_day(bars.time[-1:])[0]) + TIMEFRAMES["1w"] // DAY
        days = np.arange(self._first, last + 1, dtype=np.int32)
        has_bar = np.zeros(len(days), np.bool_)
        has_bar[ist_days(bars.time) - self._first] = True
        is_session = sessions.is_session(days) & (sessions.certain_closes(days) >= 0) | has_bar
        self._opens, closes = sessions.hours(days)
        self._seconds = np.where(is_session & (self._opens >= 0), closes - self._opens, 0)
        self._slots = -(-self._seconds // TIMEFRAMES[timeframe])
        self._seconds_before = _sums_before(self._seconds)
        self._slots_before = _sums_before(self._slots)
        self._sessions_before = _sums_before(is_session.astype(np.int64))

    def delays(self, filled: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Bars and minutes of sessions that passed before fills in the bars of these indices; NaN
        on dates of which nobody knows the hours.
        """
        before, after = self._time[np.maximum(filled - 1, 0)], self._time[filled]
        length = TIMEFRAMES[self._timeframe]
        if length < DAY:
            bars = self._slots_until(after) - self._slots_until(before) - 1
            ends = bar_ends(before, self._timeframe, self._sessions)
            seconds = self._seconds_until(after) - self._seconds_until(ends)
        else:
            first, last = self._day(before) + length // DAY, self._day(after)
            bars = self._sessions_before[last] - self._sessions_before[first]
            bars = bars if length == DAY else (last - first) * DAY // length
            seconds = self._seconds_before[last] - self._seconds_before[first]
        known = self._opens[self._day(after)] >= 0
        return (
            np.where(known, np.maximum(bars, 0), np.nan),
            np.where(known, np.maximum(seconds, 0) / 60, np.nan),
        )

    def _seconds_until(self, moments: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of sessions, before each moment."""
        day = self._day(moments)
        today = np.clip(moments - self._opens[day], 0, self._seconds[day])
        return np.asarray(self._seconds_before[day] + today)

    def _slots_until(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many bars of the timeframe could have started before each bar."""
        day = self._day(starts)
        today = (starts - self._opens[day]) // TIMEFRAMES[self._timeframe]
        last = np.maximum(self._slots[day] - 1, 0)
        return np.asarray(self._slots_before[day] + np.clip(today, 0, last))

    def _day(self, moments: NDArray[np.int64]) -> NDArray[np.int64]:
        """Indices of dates."""
        return (moments + IST) // DAY - self._first


def _sums_before(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(values)])
