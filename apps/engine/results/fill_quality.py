"""The delays of fills, and the volume of their bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, IST, TIMEFRAMES, Candles, day_start, ist_day
from apps.engine.candles.sessions import Sessions
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.results.equity import day_ends
from apps.engine.results.trade_bars import Indices, SymbolTrades

Floats = NDArray[np.float64]
Times = NDArray[np.int64]

LATE_BARS = 3
"""A fill is late after more bars than these."""
THIN_SHARE = 0.1
"""A fill is thin that takes more of its bar's volume than this fraction."""

# Whether an exit, by its reason, is decided at a close and filled at the symbol's next open.
_DECIDED_AT_A_CLOSE = np.isin(
    EXIT_REASONS,
    (
        "signal",
        "opposite_signal",
        "max_holding",
        "daily_loss_limit",
        "daily_profit_limit",
        "stopped",
    ),
)
# Whether no order in the bar makes the exit.
_WITHOUT_ORDER = np.isin(EXIT_REASONS, ("end_of_data", "expiry"))


class FillQuality(NamedTuple):
    """One value per trade; NaN if unknown or missing.

    Delays are bars and minutes of sessions between the end of the symbol's last bar before the
    fill, with the signal, and the start of the fill's bar. Volumes belong to the bars of the fills.
    """

    entry_delay_bars: Floats
    entry_delay_minutes: Floats
    entry_volume: Floats
    exit_delay_bars: Floats
    exit_delay_minutes: Floats
    exit_volume: Floats

    @classmethod
    def unknown(cls, count: int) -> FillQuality:
        """Return unknown columns for this many trades."""
        return cls(*(np.full(count, np.nan) for _ in cls._fields))

    def entry_shares(self, quantity: Floats) -> Floats:
        """Return the quantities as fractions of the volume at the entries; NaN without volume."""
        return volume_shares(quantity, self.entry_volume)

    def of(self, rows: slice | NDArray[np.intp]) -> FillQuality:
        """Return the columns of some of the trades."""
        return FillQuality(*(column[rows] for column in self))


def fill_quality_of(
    by_symbol: Sequence[SymbolTrades], calendars: Sequence[Sessions | None], timeframe: str
) -> FillQuality:
    """Return the columns of trades with their bars; `calendars` are in the order of the symbols."""
    known = [_of_symbol(symbol, calendars[symbol.symbol], timeframe) for symbol in by_symbol]
    if len(known) == 1:
        return known[0]
    quality = FillQuality.unknown(sum(len(symbol.rows) for symbol in by_symbol))
    for symbol, of_symbol in zip(by_symbol, known, strict=True):
        for column, values in zip(quality, of_symbol, strict=True):
            column[symbol.rows] = values
    return quality


def volume_shares(quantity: Floats, volume: Floats) -> Floats:
    """Return fractions of the volume; NaN without volume."""
    shares = np.full(len(volume), np.nan)
    np.divide(quantity, volume, out=shares, where=volume > 0)
    return shares


def is_thin(quantity: Floats, volume: Floats) -> NDArray[np.bool_]:
    """Return whether fills take more than THIN_SHARE of a volume, or anything of no volume."""
    return quantity > THIN_SHARE * volume  # never true of NaN


def is_late(bars: Floats) -> NDArray[np.bool_]:
    """Return whether fills came after more than LATE_BARS bars."""
    return bars > LATE_BARS  # never true of NaN


def _of_symbol(symbol: SymbolTrades, sessions: Sessions | None, timeframe: str) -> FillQuality:
    bars, reason = symbol.candles, np.ascontiguousarray(symbol.trades["reason"])
    entry_volume, exit_volume = bars.volume[symbol.entry], bars.volume[symbol.exit]
    if not entry_volume.all() and not bars.volume.any():  # the volume is unknown
        entry_volume, exit_volume = (np.full(len(reason), np.nan) for _ in range(2))
    exit_volume[_WITHOUT_ORDER[reason]] = np.nan
    if sessions is None:
        unknown = np.full(len(reason), np.nan)
        return FillQuality(unknown, unknown, entry_volume, unknown, unknown, exit_volume)
    clock = _SessionClock(bars, sessions, timeframe)
    delays = clock.delays(np.concatenate([symbol.entry, symbol.exit]))
    (entry_bars, exit_bars), (entry_minutes, exit_minutes) = (np.split(d, 2) for d in delays)
    at_once = ~_DECIDED_AT_A_CLOSE[reason]
    exit_bars[at_once] = exit_minutes[at_once] = np.nan
    return FillQuality(
        entry_bars, entry_minutes, entry_volume, exit_bars, exit_minutes, exit_volume
    )


class _SessionClock:
    """Time that stops outside of sessions, from a symbol's first bar to its last.

    It counts the certain sessions of the calendar, and dates with a bar of the symbol: without
    known holidays, a date without a bar counts as one.
    """

    def __init__(self, bars: Candles, sessions: Sessions, timeframe: str) -> None:
        self._time, self._length = bars.time, TIMEFRAMES[timeframe]
        self._first = int(ist_day(bars.time[:1])[0])
        last = int(ist_day(bars.time[-1:])[0]) + TIMEFRAMES["1w"] // DAY
        days = np.arange(self._first, last + 1, dtype=np.int32)
        has_bar = np.zeros(len(days), np.bool_)
        has_bar[self._day(bars.time[day_ends(bars.time)])] = True
        self._opens, closes = sessions.hours(days)
        known = self._opens >= 0
        is_session = sessions.is_session(days) & sessions.is_certain(days) & known | has_bar
        self._closes = np.where(known, closes, day_start(days + 1))
        self._seconds = np.where(is_session & known, closes - self._opens, 0)
        self._slots = -(-self._seconds // self._length)
        self._seconds_before = _sums_before(self._seconds)
        self._slots_before = _sums_before(self._slots)
        self._sessions_before = _sums_before(is_session.astype(np.int64))

    def delays(self, filled: Indices) -> tuple[Floats, Floats]:
        """Return the bars and minutes of sessions that passed before fills in the bars of these
        indices; NaN on dates with unknown hours. None pass before a bar that directly follows the
        previous one on the same date, as most do.
        """
        starts, before = self._time[filled], self._time[np.maximum(filled - 1, 0)]
        day = self._day(starts)
        waited = np.flatnonzero((starts - before != self._length) | (day != self._day(before)))
        bars, minutes = np.zeros(len(filled)), np.zeros(len(filled))
        passed = self._passed if self._length < DAY else self._days_passed
        bars[waited], seconds = passed(before[waited], starts[waited])
        minutes[waited] = np.maximum(seconds, 0) / 60
        unknown = self._opens[day] < 0
        bars[unknown] = minutes[unknown] = np.nan
        return np.maximum(bars, 0), minutes

    def _passed(self, before: Times, starts: Times) -> tuple[Times, Times]:
        """Return the bars and seconds of sessions from the end of one bar to the start of a later
        one.
        """
        close, ends = self._closes[self._day(before)], before + self._length
        ends = np.where(before < close, np.minimum(ends, close), ends)
        bars = self._slots_until(starts) - self._slots_until(before) - 1
        return bars, self._seconds_until(starts) - self._seconds_until(ends)

    def _days_passed(self, before: Times, starts: Times) -> tuple[Times, Times]:
        """Do as `_passed`, for bars of a day or a week."""
        first, last = self._day(before) + self._length // DAY, self._day(starts)
        sessions = self._sessions_before[last] - self._sessions_before[first]
        bars = sessions if self._length == DAY else (last - first) * DAY // self._length
        return bars, self._seconds_before[last] - self._seconds_before[first]

    def _seconds_until(self, moments: Times) -> Times:
        """Return the seconds of sessions before each moment."""
        day = self._day(moments)
        today = np.clip(moments - self._opens[day], 0, self._seconds[day])
        return np.asarray(self._seconds_before[day] + today)

    def _slots_until(self, starts: Times) -> Times:
        """Return the number of bars of the timeframe that could have started before each bar."""
        day = self._day(starts)
        today = (starts - self._opens[day]) // self._length
        last = np.maximum(self._slots[day] - 1, 0)
        return np.asarray(self._slots_before[day] + np.clip(today, 0, last))

    def _day(self, moments: Times) -> Times:
        """Return the indices of dates."""
        return (moments + IST) // DAY - self._first


def _sums_before(values: Times) -> Times:
    return np.concatenate([[0], np.cumsum(values)])
