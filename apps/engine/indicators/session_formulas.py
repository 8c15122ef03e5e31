"""Formulas of sessions, weeks and months.

A session is a date in Asia/Kolkata (`day`, i4[n], ascending), begun by its first bar. A column is
f8[n], NaN for unknown values. Levels of the previous session are those of the last earlier date
with bars; the first date of an array has none.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import day_start

Floats = NDArray[np.float64]
Days = NDArray[np.int32]

SESSION, WEEK, MONTH = range(3)
"""Periods that begin an average anew, by their numbers in the catalogue."""
CLASSIC, CAMARILLA, FIBONACCI = range(3)
"""Methods of pivot points, by their numbers in the catalogue."""


def second_of_day(day: Days, time: NDArray[np.int64]) -> Floats:
    """Return the seconds since midnight in Asia/Kolkata of each bar's start."""
    return (time - day_start(day)).astype(np.float64)


def _first_days(day: Days, period: int) -> Days:
    """Return the first day of the session, ISO week or calendar month of each bar."""
    if period == WEEK:
        return day - (day + 3) % 7  # 1970-01-01 was a Thursday
    if period == MONTH:
        return day.astype("M8[D]").astype("M8[M]").astype("M8[D]").astype(np.int32)
    return day


def _begins(first_days: Days) -> NDArray[np.intp]:
    """Return the index of the first bar of each period."""
    return np.flatnonzero(np.concatenate((first_days[:1] > -1, first_days[1:] != first_days[:-1])))


def _lengths(begins: NDArray[np.intp], bars: int) -> NDArray[np.intp]:
    """Return the number of bars of each period."""
    return np.diff(begins, append=bars)


def vwap(day: Days, price: Floats, volume: Floats, *, anchor: int, multiplier: float) -> Floats:
    """Return the sum of price x volume over the sum of volume since the first bar of the period;
    NaN without volume.
    """
    begins = _begins(_first_days(day, anchor))
    return _average(price, volume, begins)


def _average(values: Floats, volume: Floats, begins: NDArray[np.intp]) -> Floats:
    """Return the average of the values so far in each period, weighted by volume."""
    products, traded = values * volume, np.empty(len(values))
    for start, stop in pairwise([*begins.tolist(), len(values)]):
        np.cumsum(products[start:stop], out=products[start:stop])
        np.cumsum(volume[start:stop], out=traded[start:stop])
    average = np.full(len(values), np.nan)
    np.divide(products, traded, out=average, where=traded > 0)
    return average


def vwap_bands(
    day: Days, price: Floats, volume: Floats, *, anchor: int, multiplier: float
) -> tuple[Floats, Floats]:
    """Return the average plus and minus so many standard deviations, weighted by volume.

    Prices count from the first one of the period, where squares lose fewer digits.
    """
    begins = _begins(_first_days(day, anchor))
    moved = price - np.repeat(price[begins], _lengths(begins, len(price)))
    mean_square, mean = _average(moved**2, volume, begins), _average(moved, volume, begins)
    width = multiplier * np.sqrt(np.maximum(mean_square - mean**2, 0))
    average = _average(price, volume, begins)
    return average + width, average - width


def opening_range(
    day: Days, time: NDArray[np.int64], high: Floats, low: Floats, minutes: float
) -> tuple[Floats, Floats]:
    """Return high and low of the bars that start less than `minutes` after the date's first; NaN at
    these bars.
    """
    begins = _begins(day)
    lengths = _lengths(begins, len(day))
    within = time < np.repeat(time[begins] + 60 * minutes, lengths)
    highs, lows = np.where(within, high, -np.inf), np.where(within, low, np.inf)
    if len(begins):
        of_dates = np.maximum.reduceat(highs, begins), np.minimum.reduceat(lows, begins)
        highs, lows = (np.repeat(column, lengths) for column in of_dates)
    highs[within], lows[within] = np.nan, np.nan
    return highs, lows


def previous_day(
    day: Days, opens: Floats, high: Floats, low: Floats, close: Floats
) -> tuple[Floats, ...]:
    """Return close, high, low and open of the date before."""
    begins = _begins(day)
    return _repeated(begins, len(day), *_periods_before(begins, opens, high, low, close))


def _periods_before(
    begins: NDArray[np.intp], opens: Floats, high: Floats, low: Floats, close: Floats
) -> tuple[Floats, ...]:
    """Return close, high, low and open of the period before each period, NaN before the first."""
    if not len(begins):
        return close, high, low, opens
    highs, lows = np.maximum.reduceat(high, begins), np.minimum.reduceat(low, begins)
    of_periods = close[begins[1:] - 1], highs[:-1], lows[:-1], opens[begins[:-1]]
    return tuple([np.concatenate(([np.nan], column)) for column in of_periods])


def previous_week(day: Days, time: NDArray[np.int64], *prices: Floats) -> tuple[Floats, ...]:
    """Return close, high, low and open of the last week before the bar's that has bars."""
    return _previous_whole(WEEK, day, time, *prices)


def previous_month(day: Days, time: NDArray[np.int64], *prices: Floats) -> tuple[Floats, ...]:
    """Return close, high, low and open of the last month before the bar's that has bars."""
    return _previous_whole(MONTH, day, time, *prices)


def _previous_whole(
    period: int, day: Days, time: NDArray[np.int64], *prices: Floats
) -> tuple[Floats, ...]:
    first_days = _first_days(day, period)
    begins = _begins(first_days)
    before = _periods_before(begins, *prices)
    if len(begins) > 1 and not _is_whole(first_days[0], day[: begins[1]], time[: begins[1]]):
        for column in before:
            column[1] = np.nan
    return _repeated(begins, len(day), *before)


def _is_whole(first_day: np.int32, day: Days, time: NDArray[np.int64]) -> bool:
    """Return whether the first period of an array has all its bars, as far as they show it.

    It must begin on its first weekday, and no later in the day than its other sessions. A holiday
    there makes it unknown.
    """
    first_weekday = np.busday_offset(np.datetime64(int(first_day), "D"), 0, roll="forward")
    seconds = second_of_day(day, time)
    return bool(day[0] <= first_weekday.astype(np.int64) and seconds[0] == seconds.min())


def pivot_points(
    day: Days, high: Floats, low: Floats, close: Floats, *, method: int
) -> tuple[Floats, ...]:
    """Return pivot, three resistances, three supports of the date before."""
    begins, pivot, high, low, close = _before_pivots(day, high, low, close)
    span = high - low
    if method == CLASSIC:
        resistances = 2 * pivot - low, pivot + span, high + 2 * (pivot - low)
        supports = 2 * pivot - high, pivot - span, low - 2 * (high - pivot)
        return _repeated(begins, len(day), pivot, *resistances, *supports)
    if method == CAMARILLA:
        middle, shares = close, (1.1 / 12, 1.1 / 6, 1.1 / 4)
    else:
        middle, shares = pivot, (0.382, 0.618, 1.0)
    above, below = [middle + span * s for s in shares], [middle - span * s for s in shares]
    return _repeated(begins, len(day), pivot, *above, *below)


def fourth_pivots(
    day: Days, high: Floats, low: Floats, close: Floats, *, method: int
) -> tuple[Floats, ...]:
    """Return the fourth resistance and support; Fibonacci has none."""
    begins, pivot, high, low, close = _before_pivots(day, high, low, close)
    if method == CLASSIC:
        levels = high + 3 * (pivot - low), low - 3 * (high - pivot)
    elif method == CAMARILLA:
        levels = close + (high - low) * 1.1 / 2, close - (high - low) * 1.1 / 2
    else:
        levels = np.full(len(begins), np.nan), np.full(len(begins), np.nan)
    return _repeated(begins, len(day), *levels)


def central_range(
    day: Days, high: Floats, low: Floats, close: Floats, *, method: int
) -> tuple[Floats, ...]:
    """Return top, bottom, and width in percent of the pivot."""
    begins, pivot, high, low, _ = _before_pivots(day, high, low, close)
    middle = (high + low) / 2
    opposite = 2 * pivot - middle
    top, bottom = np.maximum(middle, opposite), np.minimum(middle, opposite)
    return _repeated(begins, len(day), top, bottom, (top - bottom) / pivot * 100)


def _before_pivots(
    day: Days, high: Floats, low: Floats, close: Floats
) -> tuple[NDArray[np.intp], Floats, Floats, Floats, Floats]:
    """Return the first bar of each date; pivot, high, low and close of the date before it."""
    begins = _begins(day)
    close, high, low, _ = _periods_before(begins, close, high, low, close)
    return begins, (high + low + close) / 3, high, low, close


def _repeated(begins: NDArray[np.intp], bars: int, *levels: Floats) -> tuple[Floats, ...]:
    """Return the levels of each date at each of its bars."""
    lengths = _lengths(begins, bars)
    return tuple([np.repeat(level, lengths) for level in levels])


def relative_volume(
    day: Days, time: NDArray[np.int64], volume: Floats, *, timeperiod: int
) -> Floats:
    """Return the volume over the mean volume of the bars at the same time of day in so many
    sessions before.

    NaN until the array reaches back to that time of the first of them, and where the mean is 0. A
    session without a bar at that time counts among the sessions, not in the mean.
    """
    begins = _begins(day)
    session = np.repeat(np.arange(len(begins)), _lengths(begins, len(day)))
    second = second_of_day(day, time)
    moments, moment = np.unique(second, return_inverse=True)
    volumes, counts = np.zeros((2, len(begins), len(moments)))
    volumes[session, moment], counts[session, moment] = volume, 1
    relative = np.full(len(volume), np.nan)
    reaches = (session > timeperiod) | ((session == timeperiod) & (second >= second[:1]))
    before, at = session[reaches], moment[reaches]
    total, bars = (
        sum(table[before - lag, at] for lag in range(timeperiod, 0, -1))
        for table in (volumes, counts)
    )
    expected = np.divide(total, bars, out=np.zeros(len(before)), where=bars > 0)
    relative[reaches] = np.divide(
        volume[reaches], expected, out=np.full(len(before), np.nan), where=expected > 0
    )
    return relative
