"""Formulas beyond TA-Lib: unchanged columns, levels of sessions, Ichimoku's lines, a smoothed
stochastic of the RSI.

A session is a date in Asia/Kolkata (`day`, i4[n], ascending), begun by its first bar. A column is
f8[n], NaN for unknown values. Levels of the previous session are those of the last earlier date
with bars; the first date of an array has none.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import talib
from numpy.typing import NDArray
from talib import abstract

from apps.engine.candles.candles import day_start

Floats = NDArray[np.float64]
Days = NDArray[np.int32]


class Formula(NamedTuple):
    """The computation of a series from its columns and arguments, and the number of bars before its
    first value.

    A formula of sessions has no fixed number of such bars and returns 0.
    """

    compute: Callable[..., Floats | tuple[Floats, ...]]
    lookback: Callable[..., int]


def _column(values: Floats) -> Floats:
    return values


def _session_vwap(day: Days, price: Floats, volume: Floats) -> Floats:
    """Return the sum of price x volume over the sum of volume since the first bar of the date; NaN
    without volume.
    """
    values, traded = price * volume, np.empty(len(price))
    for start, stop in pairwise([*_begins(day).tolist(), len(day)]):
        np.cumsum(values[start:stop], out=values[start:stop])
        np.cumsum(volume[start:stop], out=traded[start:stop])
    vwap = np.full(len(price), np.nan)
    np.divide(values, traded, out=vwap, where=traded > 0)
    return vwap


def _begins(day: Days) -> NDArray[np.intp]:
    """Return the index of each date's first bar."""
    return np.flatnonzero(np.concatenate((day[:1] > -1, day[1:] != day[:-1])))


def _lengths(begins: NDArray[np.intp], bars: int) -> NDArray[np.intp]:
    """Return the number of bars of each date."""
    return np.diff(begins, append=bars)


def _second_of_day(day: Days, time: NDArray[np.int64]) -> Floats:
    """Return the seconds since midnight in Asia/Kolkata of each bar's start."""
    return (time - day_start(day)).astype(np.float64)


def _opening_range(
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


def _previous_day(
    day: Days, opens: Floats, high: Floats, low: Floats, close: Floats
) -> tuple[Floats, ...]:
    """Return close, high, low and open of the date before."""
    begins = _begins(day)
    before = _dates_before(begins, opens, high, low, close)
    return tuple([np.repeat(column, _lengths(begins, len(day))) for column in before])


def _dates_before(
    begins: NDArray[np.intp], opens: Floats, high: Floats, low: Floats, close: Floats
) -> tuple[Floats, ...]:
    """Return close, high, low and open of the date before each date, NaN before the first."""
    if not len(begins):
        return close, high, low, opens
    highs, lows = np.maximum.reduceat(high, begins), np.minimum.reduceat(low, begins)
    of_dates = close[begins[1:] - 1], highs[:-1], lows[:-1], opens[begins[:-1]]
    return tuple([np.concatenate(([np.nan], column)) for column in of_dates])


def _pivot_points(day: Days, high: Floats, low: Floats, close: Floats) -> tuple[Floats, ...]:
    """Return pivot, three resistances, three supports of the date before (the floor traders'
    formulas).
    """
    begins = _begins(day)
    close, high, low, _ = _dates_before(begins, close, high, low, close)
    pivot = (high + low + close) / 3
    resistances = 2 * pivot - low, pivot + (high - low), high + 2 * (pivot - low)
    supports = 2 * pivot - high, pivot - (high - low), low - 2 * (high - pivot)
    lengths = _lengths(begins, len(day))
    return tuple([np.repeat(column, lengths) for column in (pivot, *resistances, *supports)])


def _stochastic_rsi(values: Floats, *, smoothing: int, **arguments: Any) -> tuple[Floats, ...]:
    """Return TA-Lib's stochastic of the RSI with k smoothed too."""
    k, d = talib.STOCHRSI(values, **arguments)
    return k, d


def _smoothed_stochastic_rsi(
    values: Floats, *, smoothing: int, fastd_period: int, fastd_matype: Any, **arguments: Any
) -> tuple[Floats, ...]:
    """Return a simple average of k, and an average of that, beginning together."""
    k, _ = talib.STOCHRSI(values, **arguments, fastd_period=1)
    smooth = talib.MA(k, smoothing)
    average = talib.MA(smooth, fastd_period, fastd_matype)
    return np.where(np.isnan(average), np.nan, smooth), average


def _stochastic_rsi_lookback(*, smoothing: int, **arguments: int) -> int:
    return talib_lookback("STOCHRSI", **arguments)


def _smoothed_stochastic_rsi_lookback(
    *, smoothing: int, fastd_period: int, fastd_matype: Any, **arguments: Any
) -> int:
    unsmoothed = talib_lookback("STOCHRSI", **arguments, fastd_period=1, fastd_matype=0)
    average = talib_lookback("MA", timeperiod=fastd_period, matype=fastd_matype)
    return unsmoothed + smoothing - 1 + average


def talib_lookback(function: str, **arguments: float) -> int:
    """Return the bars before the first value of a TA-Lib function."""
    known = abstract.Function(function)  # type: ignore[attr-defined]
    if arguments:
        known.parameters = arguments
    return int(known.lookback)


def _ichimoku(
    high: Floats, low: Floats, *, conversion: int, base: int, span: int, displacement: int
) -> tuple[Floats, ...]:
    """Return conversion, base, span A, span B; a span at a bar was computed `displacement` bars
    before.

    All begin together, like the outputs of TA-Lib's functions.
    """
    fast, slow, long = (talib.MIDPRICE(high, low, period) for period in (conversion, base, span))
    unknown = max(conversion, base, span) - 1 + displacement
    columns = fast, slow, _later((fast + slow) / 2, displacement), _later(long, displacement)
    for column in columns:
        column[:unknown] = np.nan
    return columns


def _ichimoku_lookback(*, displacement: int, **periods: int) -> int:
    return max(periods.values()) - 1 + displacement


def _later(column: Floats, bars: int) -> Floats:
    moved = np.full(len(column), np.nan)
    moved[bars:] = column[: max(len(column) - bars, 0)]
    return moved


def _since(index_of: Callable[..., NDArray[np.int32]]) -> Formula:
    """Return the bars since the bar that TA-Lib names by its index."""

    def compute(values: Floats, timeperiod: int) -> Floats:
        since = (np.arange(len(values)) - index_of(values, timeperiod)).astype(np.float64)
        since[: timeperiod - 1] = np.nan
        return since

    return Formula(compute, lambda timeperiod: timeperiod - 1)


def _extended_sar(high: Floats, low: Floats, **arguments: float) -> Floats:
    """Return the line itself; TA-Lib writes a short's as a negative number."""
    return np.abs(talib.SAREXT(high, low, **arguments))


def _at_once(**_: float) -> int:
    return 0


OWN_FORMULAS = {
    "COLUMN": Formula(_column, _at_once),
    "SECOND_OF_DAY": Formula(_second_of_day, _at_once),
    "SESSION_VWAP": Formula(_session_vwap, _at_once),
    "OPENING_RANGE": Formula(_opening_range, _at_once),
    "PREVIOUS_DAY": Formula(_previous_day, _at_once),
    "PIVOT_POINTS": Formula(_pivot_points, _at_once),
    "STOCHRSI": Formula(_stochastic_rsi, _stochastic_rsi_lookback),
    "SMOOTHED_STOCHRSI": Formula(_smoothed_stochastic_rsi, _smoothed_stochastic_rsi_lookback),
    "ICHIMOKU": Formula(_ichimoku, _ichimoku_lookback),
    "SINCE_MAX": _since(talib.MAXINDEX),
    "SINCE_MIN": _since(talib.MININDEX),
    "EXTENDED_SAR": Formula(_extended_sar, lambda **_: 1),
}
"""By the names that the catalogue calls them by."""
