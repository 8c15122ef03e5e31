"""From rows as read to Candles: what is dropped, repaired, kept and refused, all of it counted.

Refused, naming the row: a number that is none, a price not above zero, a volume below zero, an
open or close outside the bar's own range by more than `REPAIRABLE`, two rows of one time that
differ. Repaired: a smaller excess, as some vendors' files have; the high or low is moved to the
price that the row itself states. Dropped: rows repeated exactly, and periods without a trade (open,
high, low and volume 0, as files of derivatives write them). Sorted: rows in any order. Kept and
counted: bars outside the session's hours, and gaps such as a split leaves in unadjusted prices.
"""

from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, TIMEFRAMES, Candles, day_start, ist_day
from apps.engine.sessions import Sessions
from apps.market.importers.layout import PRICES
from apps.market.importers.tables import Table

REPAIRABLE: Final = 0.005
"""Largest excess of an open or close over its bar's range that is repaired, as a share of it."""

JUMP: Final = 0.3
"""A bar that opens this share or more away from the last close is counted as a jump."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of a file's rows; `row` is the index of each in the file."""

    time: NDArray[np.int64]
    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]
    volume: NDArray[np.float64]
    row: NDArray[np.int64]

    def take(self, which: Flags | NDArray[np.intp]) -> "Rows":
        """Some of the rows, or all of them in another order."""
        if which.dtype == np.bool_ and which.all():
            return self
        columns = (self.time, self.open, self.high, self.low, self.close, self.volume, self.row)
        return Rows(*(column[which] for column in columns))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a file's rows. Times are epoch seconds; `days` counts dates with a bar.

    `moved` day and week bars were stamped at another time of their day; `short_days` have fewer
    bars in their session than it has periods (in thin trading, or where bars are missing);
    `unlisted_days` have bars though the calendar has no session on them; `first_jump` is the time
    of the first of `jumps`, 0 without one.
    """

    rows: int
    kept: int
    untraded: int
    repeated: int
    repaired: int
    largest_repair: float
    out_of_order: int
    moved: int
    off_session: int
    without_volume: int
    short_days: tuple[date, ...]
    unlisted_days: tuple[date, ...]
    jumps: int
    first_jump: int
    days: int
    first: int
    last: int


def judge(
    table: Table, rows: Rows, timeframe: str, sessions: Sessions, *, strict: bool
) -> tuple[Candles, Report]:
    """The rows as Candles; BadCandleFile names the first row that cannot be one.

    With `strict` a bar outside the session's hours is refused as well.
    """
    traded = rows.take(~_untraded(rows))
    if not len(traded.time):
        table.refuse("holds no bar with a trade")
    _check_numbers(table, traded)
    moved, out_of_order = _stamped(traded, timeframe), int((np.diff(rows.time) < 0).sum())
    repaired, largest = _repaired(table, moved)
    distinct = _distinct(table, _sorted(repaired))
    candles = _candles(distinct)
    off_session = _off_session(candles, timeframe, sessions)
    if strict and off_session.any():
        place = table.place(int(distinct.row[np.argmax(off_session)]))
        table.refuse(f"{place}: the bar starts outside the session's hours")
    days, _ = _days(candles.time)
    full, bars = _days(candles.time[~off_session])
    jumps = candles.time[_jumps(candles)]
    return candles, Report(
        rows=len(table),
        kept=len(candles),
        untraded=len(table) - len(traded.time),
        repeated=len(traded.time) - len(candles),
        repaired=int(_excess(moved).astype(bool).sum()),
        largest_repair=largest,
        out_of_order=out_of_order,
        moved=int((moved.time != traded.time).sum()),
        off_session=int(off_session.sum()),
        without_volume=int((candles.volume == 0).sum()),
        short_days=_short_days(full, bars, timeframe, sessions),
        unlisted_days=_unlisted_days(days, sessions),
        jumps=len(jumps),
        first_jump=int(jumps[0]) if len(jumps) else 0,
        days=len(days),
        first=int(candles.time[0]),
        last=int(candles.time[-1]),
    )


def _untraded(rows: Rows) -> Flags:
    nothing = (rows.open == 0) & (rows.high == 0) & (rows.low == 0) & (rows.volume == 0)
    return np.asarray(nothing)


def _check_numbers(table: Table, rows: Rows) -> None:
    for name in PRICES:
        column = getattr(rows, name)
        _refuse(table, rows, ~(np.isfinite(column) & (column > 0)), name, "is no price above 0")
    good = np.isfinite(rows.volume) & (rows.volume >= 0)
    _refuse(table, rows, ~good, "volume", "is no volume of 0 or more")


def _refuse(table: Table, rows: Rows, wrong: Flags, name: str, problem: str) -> None:
    if wrong.any():
        first, count = int(np.argmax(wrong)), int(wrong.sum())
        value = getattr(rows, name)[first]
        more = f" ({count} such rows)" if count > 1 else ""
        table.refuse(f"{table.place(int(rows.row[first]))}: {name} {value} {problem}{more}")


def _stamped(rows: Rows, timeframe: str) -> Rows:
    """Bars of a day or week moved to 00:00 in Asia/Kolkata of their date or their Monday."""
    if TIMEFRAMES[timeframe] < DAY:
        return rows
    day = ist_day(rows.time)
    if timeframe == "1w":
        day = day - (day + 3) % 7  # 1970-01-01 was a Thursday
    return Rows(day_start(day), rows.open, rows.high, rows.low, rows.close, rows.volume, rows.row)


def _excess(rows: Rows) -> NDArray[np.float64]:
    """By how much open or close leave the range from low to high, as a share of the close."""
    above = np.maximum(rows.open, rows.close) - rows.high
    below = rows.low - np.minimum(rows.open, rows.close)
    return np.maximum(np.maximum(above, below), 0.0) / rows.close


def _repaired(table: Table, rows: Rows) -> tuple[Rows, float]:
    excess = _excess(rows)
    gross = excess > REPAIRABLE
    if gross.any():
        first = int(np.argmax(gross))
        bar = ", ".join(f"{name} {getattr(rows, name)[first]}" for name in PRICES)
        table.refuse(
            f"{table.place(int(rows.row[first]))}: the bar contradicts itself by more than"
            f" {REPAIRABLE:.1%}: {bar} ({int(gross.sum())} such rows)"
        )
    high = np.maximum(rows.high, np.maximum(rows.open, rows.close))
    low = np.minimum(rows.low, np.minimum(rows.open, rows.close))
    largest = float(excess.max(initial=0.0))
    return Rows(rows.time, rows.open, high, low, rows.close, rows.volume, rows.row), largest


def _sorted(rows: Rows) -> Rows:
    if (rows.time[1:] >= rows.time[:-1]).all():
        return rows
    return rows.take(np.argsort(rows.time, kind="stable"))


def _distinct(table: Table, rows: Rows) -> Rows:
    """Rows in order of time without exact repeats; one time with two prices is refused."""
    same_time = np.diff(rows.time, prepend=rows.time[0] - 1) == 0
    if not same_time.any():
        return rows
    differs = np.zeros(len(rows.time), dtype=np.bool_)
    for name in (*PRICES, "volume"):
        differs |= np.diff(getattr(rows, name), prepend=np.nan) != 0
    clash = same_time & differs
    if clash.any():
        second = int(np.argmax(clash))
        places = " and ".join(table.place(int(rows.row[i])) for i in (second - 1, second))
        table.refuse(f"{places} are of one time and differ ({int(clash.sum())} such pairs)")
    return rows.take(~same_time)


def _candles(rows: Rows) -> Candles:
    return Candles.build(
        rows.time,
        open=rows.open,
        high=rows.high,
        low=rows.low,
        close=rows.close,
        volume=rows.volume,
    )


def _days(times: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The dates of bars in order of time, and how many bars each has."""
    day = ist_day(times)
    first = np.flatnonzero(np.diff(day, prepend=-1))
    return day[first], np.diff(np.append(first, len(day)))


def _off_session(candles: Candles, timeframe: str, sessions: Sessions) -> Flags:
    if TIMEFRAMES[timeframe] >= DAY:
        return np.zeros(len(candles), dtype=np.bool_)
    days, bars = _days(candles.time)
    opens, closes = (np.repeat(hours, bars) for hours in sessions.hours(days))
    outside = (candles.time < opens) | (candles.time >= closes)
    return np.asarray(outside & (opens >= 0))


def _jumps(candles: Candles) -> Flags:
    moved = np.zeros(len(candles))
    moved[1:] = candles.open[1:] / candles.close[:-1] - 1
    return np.asarray(np.abs(moved) >= JUMP)


def _unlisted_days(days: NDArray[np.int32], sessions: Sessions) -> tuple[date, ...]:
    opens, _ = sessions.hours(days)
    return _dates(days[~sessions.is_session(days) & (opens >= 0)])


def _short_days(
    day: NDArray[np.int32], bars: NDArray[np.intp], timeframe: str, sessions: Sessions
) -> tuple[date, ...]:
    """Dates with fewer bars than their session has periods; `bars` counts those of each `day`."""
    if TIMEFRAMES[timeframe] >= DAY:
        return ()
    opens, closes = sessions.hours(day)
    periods = -((opens - closes) // TIMEFRAMES[timeframe])
    return _dates(day[(bars < periods) & (opens >= 0)])


def _dates(days: NDArray[np.int32]) -> tuple[date, ...]:
    return tuple(days.astype("M8[D]").tolist())
