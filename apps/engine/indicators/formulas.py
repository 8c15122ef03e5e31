"""Formulas beyond TA-Lib. A column is f8[n], NaN for unknown values.

They use no BLAS and no vector logarithms, whose last bits depend on the processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import talib
from numpy.typing import NDArray
from talib import abstract

from apps.engine.indicators import session_formulas as sessions

Floats = NDArray[np.float64]

_GRID_MARGIN = 1e-9
"""A price this close to the edge of a Renko brick has reached it."""


class Formula(NamedTuple):
    """The computation of a series from its columns and arguments, and the number of bars before its
    first value.

    A formula of sessions has no fixed number of such bars and returns 0.
    """

    compute: Callable[..., Floats | tuple[Floats, ...]]
    lookback: Callable[..., int]


def _column(values: Floats) -> Floats:
    return values


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


def _alma(values: Floats, *, timeperiod: int, peak: float, sigma: float) -> Floats:
    """Return the average by the weights of a bell curve (Arnaud Legoux and Dimitris Kouzis-Loukas,
    2009).
    """
    middle, deviation = peak * (timeperiod - 1), timeperiod / sigma
    weights = [math.exp(-(((i - middle) / deviation) ** 2) / 2) for i in range(timeperiod)]
    return _window_sums(values, weights) / sum(weights)


def _window_sums(values: Floats, weights: Sequence[float]) -> Floats:
    """Return the weighted sum of the last values, the oldest first; NaN until there are enough.

    Each sum is added up alone, so it depends on no value outside of its window.
    """
    sums = np.full(len(values), np.nan)
    count = len(values) - len(weights) + 1
    if count > 0:
        sums[len(weights) - 1 :] = sum(
            weight * values[i : i + count] for i, weight in enumerate(weights)
        )
    return sums


def _zscore(values: Floats, *, timeperiod: int) -> Floats:
    return _quotients(values - talib.SMA(values, timeperiod), _deviation(values, timeperiod))


def _deviation(values: Floats, period: int) -> Floats:
    """Return TA-Lib's standard deviation; exactly 0 for equal values, where its running sums leave
    a rest.
    """
    deviation = talib.STDDEV(values, period)
    deviation[_is_flat(values, period)] = 0
    return deviation


def _is_flat(values: Floats, period: int) -> NDArray[np.bool_]:
    flat: NDArray[np.bool_] = talib.MAX(values, period) == talib.MIN(values, period)
    return flat


def _quotients(dividend: Floats, divisor: Floats) -> Floats:
    """Return the quotients; NaN where the divisor is 0."""
    quotients = np.full(len(dividend), np.nan)
    np.divide(dividend, divisor, out=quotients, where=divisor != 0)
    return quotients


def _bollinger_ratios(values: Floats, *, timeperiod: int, **arguments: Any) -> tuple[Floats, ...]:
    """Return %B and the band width in percent of the middle."""
    upper, middle, lower = talib.BBANDS(values, timeperiod, **arguments)
    width = upper - lower
    width[_is_flat(values, timeperiod)] = 0
    return _quotients(values - lower, width), _quotients(100 * width, middle)


def _choppiness(high: Floats, low: Floats, close: Floats, *, timeperiod: int) -> Floats:
    """Return the choppiness index (E. W. Dreiss)."""
    moved = _window_sums(talib.TRANGE(high, low, close), [1.0] * timeperiod)
    span = talib.MAX(high, timeperiod) - talib.MIN(low, timeperiod)
    return 100 * talib.LOG10(_quotients(moved, span)) / math.log10(timeperiod)


def _fisher(middle: Floats, *, timeperiod: int) -> tuple[Floats, Floats]:
    """Return John Ehlers' Fisher transform and its value one bar before.

    It starts at 0 with the array, over the bars that there are. A window of a single price has no
    place in its range: it counts as the middle, and has no value.
    """
    highest, lowest = talib.MAX(middle, timeperiod), talib.MIN(middle, timeperiod)
    first = middle[: timeperiod - 1]
    highest[: timeperiod - 1] = np.maximum.accumulate(first)
    lowest[: timeperiod - 1] = np.minimum.accumulate(first)
    moves = 0.66 * (_quotients(middle - lowest, highest - lowest) - 0.5)
    x, xs = 0.0, []
    for move in moves.tolist():
        x = move + 0.67 * x
        if not -0.999 <= x <= 0.999:
            x = 0.0 if math.isnan(move) else math.copysign(0.999, x)
        xs.append(x)
    clipped = np.array(xs)
    fisher, fishers = 0.0, []
    for log in talib.LN((1 + clipped) / (1 - clipped)).tolist():
        fisher = 0.5 * log + 0.5 * fisher
        fishers.append(fisher)
    values, before = np.array(fishers), np.array([math.nan, *fishers[:-1]])
    unknown = np.isnan(moves)
    values[unknown], values[: timeperiod - 1] = np.nan, np.nan
    before[timeperiod:][unknown[timeperiod - 1 : -1]] = np.nan
    before[: timeperiod - 1] = np.nan
    return values, before[: len(values)]


def _squeeze_on(
    high: Floats,
    low: Floats,
    close: Floats,
    *,
    timeperiod: int,
    bollinger: float,
    keltner: float,
) -> Floats:
    """Return 1 where the Bollinger bands are inside the Keltner channel, else 0 (John Carter).

    Both have the same middle.
    """
    moved = _window_sums(talib.TRANGE(high, low, close), [1.0] * timeperiod) / timeperiod
    is_inside = bollinger * _deviation(close, timeperiod) < keltner * moved
    return np.where(np.isnan(moved), np.nan, is_inside)


def _squeeze_momentum(
    high: Floats, low: Floats, close: Floats, *, timeperiod: int, **_: float
) -> Floats:
    """Return the end of the regression line of the close less the middle of range and average."""
    middle = (talib.MIDPRICE(high, low, timeperiod) + talib.SMA(close, timeperiod)) / 2
    return talib.LINEARREG(close - middle, timeperiod)


def _renko(close: Floats, *, percentage: float) -> tuple[Floats, Floats]:
    """Return the trend of the last brick (1 or -1), and the number of bricks in its run, negative
    for a fall.

    A brick reaches from one power of 1 + percentage / 100 to the next. A run continues by a brick
    of its own direction, and turns after two.
    """
    positions = (talib.LN(close) / math.log(1 + percentage / 100)).tolist()
    begin = math.floor(positions[0] + _GRID_MARGIN) if positions else 0
    run, runs = 0, []
    for position in positions:
        if position + _GRID_MARGIN >= begin + 2:
            added = math.floor(position + _GRID_MARGIN) - begin - 1
            begin, run = begin + added, max(run, 0) + added
        elif position - _GRID_MARGIN <= begin - 1:
            added = begin - math.ceil(position - _GRID_MARGIN)
            begin, run = begin - added, min(run, 0) - added
        runs.append(run)
    bricks = np.array(runs, np.float64)
    bricks[bricks == 0] = np.nan
    return np.sign(bricks), bricks


def _at_once(**_: float) -> int:
    return 0


def _full_window(*, timeperiod: int, **_: float) -> int:
    return timeperiod - 1


OWN_FORMULAS = {
    "COLUMN": Formula(_column, _at_once),
    "SECOND_OF_DAY": Formula(sessions.second_of_day, _at_once),
    "VWAP": Formula(sessions.vwap, _at_once),
    "VWAP_BANDS": Formula(sessions.vwap_bands, _at_once),
    "OPENING_RANGE": Formula(sessions.opening_range, _at_once),
    "PREVIOUS_DAY": Formula(sessions.previous_day, _at_once),
    "PREVIOUS_WEEK": Formula(sessions.previous_week, _at_once),
    "PREVIOUS_MONTH": Formula(sessions.previous_month, _at_once),
    "PIVOT_POINTS": Formula(sessions.pivot_points, _at_once),
    "FOURTH_PIVOTS": Formula(sessions.fourth_pivots, _at_once),
    "CENTRAL_RANGE": Formula(sessions.central_range, _at_once),
    "RELATIVE_VOLUME": Formula(sessions.relative_volume, _at_once),
    "STOCHRSI": Formula(_stochastic_rsi, _stochastic_rsi_lookback),
    "SMOOTHED_STOCHRSI": Formula(_smoothed_stochastic_rsi, _smoothed_stochastic_rsi_lookback),
    "ICHIMOKU": Formula(_ichimoku, _ichimoku_lookback),
    "SINCE_MAX": _since(talib.MAXINDEX),
    "SINCE_MIN": _since(talib.MININDEX),
    "ALMA": Formula(_alma, _full_window),
    "ZSCORE": Formula(_zscore, _full_window),
    "BOLLINGER_RATIOS": Formula(_bollinger_ratios, lambda **a: talib_lookback("BBANDS", **a)),
    "CHOP": Formula(_choppiness, lambda timeperiod: timeperiod),
    "FISHER": Formula(_fisher, _full_window),
    "SQUEEZE_ON": Formula(_squeeze_on, lambda timeperiod, **_: timeperiod),
    "SQUEEZE_MOMENTUM": Formula(_squeeze_momentum, lambda timeperiod, **_: 2 * (timeperiod - 1)),
    "RENKO": Formula(_renko, _at_once),
    "EXTENDED_SAR": Formula(_extended_sar, lambda **_: 1),
}
"""By the names that the catalogue calls them by."""
