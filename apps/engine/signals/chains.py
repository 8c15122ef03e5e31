"""Formulas whose values each rest on the one before, over all blocks in one pass, to the last bit.

That is TA-Lib's bit for TA-Lib's formulas. A processor waits for one value of an exponential
average to begin the next: as the chains of different blocks do not wait for each other, four are
taken side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from apps.engine.candles import Candles, frozen
from apps.engine.indicators.formulas import Days
from apps.engine.indicators.series import Column, Series, source
from apps.engine.signals.programs import Spans
from apps.engine.signals.values import Places, columns_of, size_of

if TYPE_CHECKING:

    def fused(a: float, b: float, c: float) -> float: ...

else:

    @intrinsic
    def fused(typing_context, a, b, c):
        """a x b + c, rounded once, as TA-Lib is compiled."""

        def instruction(context, builder, signature, arguments):
            return builder.fma(*arguments)

        number = types.float64
        return number(number, number, number), instruction


FOUR, STOP = 4, 3
Periods = tuple[int, int, int]
Compute = Callable[[Series, Candles, Spans], tuple[Column, ...]]


class Chain(NamedTuple):
    """A formula, computed here as `values.columns_of` does; inputs and arguments to try it with."""

    compute: Compute
    inputs: tuple[str, ...]
    arguments: Mapping[str, float]

    def series(self, formula: str) -> Series:
        return Series(formula, self.inputs, tuple(self.arguments.items()))


def chain_of(series: Series) -> Compute | None:
    """What computes the series to the last bit; None where `values.columns_of` has to."""
    chain = CHAINS.get(series.formula)
    return chain.compute if chain and has_same_bits(series.formula) else None


def warm_up() -> None:
    """Compile, or load what was compiled, and see how TA-Lib rounds."""
    for formula in CHAINS:
        has_same_bits(formula)


@cache
def has_same_bits(formula: str) -> bool:
    """Whether TA-Lib was built to round as this file does, on this machine."""
    bars, rng = 6000, np.random.default_rng(0)
    price = frozen(100 * np.exp(np.cumsum(rng.normal(0, 0.01, bars))))
    candles = Candles(frozen(60 * np.arange(bars)), price, price, price, price, price)
    spans = np.array([[0, 0, 0, 4000, 0], [2000, 4000, 4000, bars, 4000]])
    chain = CHAINS[formula]
    series = chain.series(formula)
    ours, talibs = (of(series, candles, spans) for of in (chain.compute, columns_of))
    return all(a.tobytes() == b.tobytes() for a, b in zip(ours, talibs, strict=True))


def _over_a_period(one_pass: Callable[[Column, Spans, int, Column], None]) -> Compute:
    """What has a price and a period, and one column."""

    def compute(series: Series, candles: Candles, spans: Spans) -> tuple[Column, ...]:
        (laid,) = columns = _empty(1, spans)
        one_pass(_price(series, candles), spans, int(dict(series.arguments)["timeperiod"]), laid)
        return columns

    return compute


def _convergence(series: Series, candles: Candles, spans: Spans) -> tuple[Column, ...]:
    columns, given = _empty(3, spans), dict(series.arguments)
    periods = int(given["fastperiod"]), int(given["slowperiod"]), int(given["signalperiod"])
    _macd(_price(series, candles), spans, periods, columns)
    return columns


def _price(series: Series, candles: Candles) -> Column:
    """Read-only, whatever it is, so that functions are compiled for one kind."""
    return frozen(source(candles, *series.inputs).view(np.float64))


def _empty(count: int, spans: Spans) -> tuple[Column, ...]:
    return tuple([np.empty(size_of(spans)) for _ in range(count)])


def _session_average(series: Series, candles: Candles, spans: Spans) -> tuple[Column, ...]:
    (laid,) = columns = _empty(1, spans)
    day, *traded = (source(candles, name) for name in series.inputs)
    price, volume = (frozen(column.view(np.float64)) for column in traded)
    _vwap(day.view(np.int32), price, volume, spans, laid)
    return columns


@njit(nogil=True, cache=True)
def _ema(x: Column, spans: Spans, period: int, laid: Column) -> None:
    """a + (x - a) x 2 / (period + 1), from the simple average of an array's first values on."""
    rate, averages, left = 2.0 / (period + 1), np.zeros(len(spans) + 1), _no_bars(spans)
    for block in range(len(spans)):
        start, kept, _, stop, place = spans[block]
        known = start + period - 1
        _unknown(laid, spans, block, known)
        if known < stop:
            for i in range(start, start + period):
                averages[block] += x[i]
            averages[block] /= period
            left[block] = stop - known - 1
            if kept <= known:
                laid[place + known - kept] = averages[block]
    lanes, next_block = np.full(FOUR, len(spans)), int(np.int64(0))
    while True:
        next_block, bars = _side_by_side(lanes, left, next_block)
        if bars == 0:
            break
        k, m, n, p = lanes
        a, b, c, d = averages[k], averages[m], averages[n], averages[p]
        at_a, to_a, skip_a = _lane(spans[k], spans[k, STOP] - left[k])
        at_b, to_b, skip_b = _lane(spans[m], spans[m, STOP] - left[m])
        at_c, to_c, skip_c = _lane(spans[n], spans[n, STOP] - left[n])
        at_d, to_d, skip_d = _lane(spans[p], spans[p, STOP] - left[p])
        for i in range(np.uint64(bars)):
            a = fused(x[at_a + i] - a, rate, a)
            b = fused(x[at_b + i] - b, rate, b)
            c = fused(x[at_c + i] - c, rate, c)
            d = fused(x[at_d + i] - d, rate, d)
            laid[to_a + max(i, skip_a) - skip_a] = a
            laid[to_b + max(i, skip_b) - skip_b] = b
            laid[to_c + max(i, skip_c) - skip_c] = c
            laid[to_d + max(i, skip_d) - skip_d] = d
        averages[k], averages[m], averages[n], averages[p] = a, b, c, d
        left[k], left[m], left[n], left[p] = (
            left[k] - bars, left[m] - bars, left[n] - bars, left[p] - bars,
        )  # fmt: skip
    if not np.isfinite(averages.sum()):  # from an infinite value on nothing is known
        _known(laid)


@njit(nogil=True, cache=True, error_model="numpy")
def _sma(x: Column, spans: Spans, period: int, laid: Column) -> None:
    """A sum that runs along: what leaves it is taken off once the average is read."""
    totals, behind = 0.0, np.uint64(period - 1)
    for block in range(len(spans)):
        start, _, _, stop, _ = spans[block]
        known, total = start + period - 1, 0.0
        _unknown(laid, spans, block, known)
        if known >= stop:
            continue
        for i in range(start, known):
            total += x[i]
        bar, to, skip = _lane(spans[block], known)
        for i in range(np.uint64(stop - known)):
            total += x[bar + i]
            laid[to + max(i, skip) - skip] = total / period
            total -= x[bar + i - behind]
        totals += total
    if not np.isfinite(totals):
        _known(laid)


@njit(nogil=True, cache=True, error_model="numpy")
def _rsi(x: Column, spans: Spans, period: int, laid: Column) -> None:
    """Gain in percent of gain and loss, both averaged as Wilder does, from simple averages on."""
    part, rest, one = 1.0 / period, period - 1.0, np.uint64(1)
    for block in range(len(spans)):
        start, _, _, stop, _ = spans[block]
        known, gain, loss = start + period, 0.0, 0.0
        _unknown(laid, spans, block, known)
        if known >= stop:
            continue
        for i in range(start + 1, known + 1):
            gain += max(x[i] - x[i - 1], 0.0)
            loss += max(x[i - 1] - x[i], 0.0)
        gain, loss = gain * part, loss * part
        bar, to, skip = _lane(spans[block], known)
        for i in range(np.uint64(stop - known)):
            if i > 0:
                moved = x[bar + i] - x[bar + i - one]
                gain = (gain * rest + max(moved, 0.0)) * part
                loss = (loss * rest + max(-moved, 0.0)) * part
            both = gain + loss
            laid[to + max(i, skip) - skip] = 100 * (gain / both) if both > 0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _macd(x: Column, spans: Spans, periods: Periods, laid: tuple[Column, ...]) -> None:
    """A fast less a slow exponential average, begun together; the average of that; what is left."""
    (fast, slow, signal), (lines, signals, histogram) = periods, laid
    fast_rate, slow_rate, rate = 2.0 / (fast + 1), 2.0 / (slow + 1), 2.0 / (signal + 1)
    for block in range(len(spans)):
        start, _, _, stop, _ = spans[block]
        known = start + slow + signal - 2
        for column in laid:
            _unknown(column, spans, block, known)
        if known >= stop:
            continue
        a = b = average = 0.0
        for i in range(start, start + slow):
            b += x[i]
        for i in range(start + slow - fast, start + slow):
            a += x[i]
        a, b = a / fast, b / slow
        for i in range(start + slow, known + 1):
            average += a - b
            a, b = fused(x[i] - a, fast_rate, a), fused(x[i] - b, slow_rate, b)
        average = (average + (a - b)) / signal
        bar, to, skip = _lane(spans[block], known)
        for i in range(np.uint64(stop - known)):
            if i > 0:
                a, b = fused(x[bar + i] - a, fast_rate, a), fused(x[bar + i] - b, slow_rate, b)
                average = fused(a - b - average, rate, average)
            place = to + max(i, skip) - skip
            lines[place], signals[place], histogram[place] = a - b, average, a - b - average
    for column in laid:
        _known(column)


@njit(nogil=True, cache=True, error_model="numpy")
def _vwap(day: Days, price: Column, volume: Column, spans: Spans, laid: Column) -> None:
    """Sum of price x volume over sum of volume since the first bar of the date; NaN without."""
    for block in range(len(spans)):
        start, _, _, stop, _ = spans[block]
        _unknown(laid, spans, block, start)
        bar, to, skip = _lane(spans[block], start)
        value, traded, today = 0.0, 0.0, day[start]
        for i in range(np.uint64(stop - start)):
            if day[bar + i] != today:
                value, traded, today = 0.0, 0.0, day[bar + i]
            value += price[bar + i] * volume[bar + i]
            traded += volume[bar + i]
            laid[to + max(i, skip) - skip] = value / traded if traded > 0 else np.nan
    _known(laid)


@njit(nogil=True, cache=True)
def _no_bars(spans: Spans) -> Places:
    """How many bars of each block are left, and of one more, which has none."""
    return np.zeros(len(spans) + 1, np.int64)


@njit(nogil=True, cache=True)
def _unknown(laid: Column, spans: Spans, block: int, known: int) -> None:
    """NaN in the places between the block before and the first bar that is known."""
    end = 0
    if block > 0:
        _, kept, _, stop, place = spans[block - 1]
        end = place + stop - kept
    _, kept, _, stop, place = spans[block]
    laid[end : max(place, place + min(known, stop) - kept)] = np.nan


@njit(nogil=True, cache=True)
def _side_by_side(lanes: Places, left: Places, next_block: int) -> tuple[int, int]:
    """Put a block of which bars are left in each lane: the next one that nobody has where there is
    one, else one of another lane, which is then computed twice. Returns the next block after that,
    and how many bars all four have left.
    """
    busy = blocks = left.size - 1
    for lane in range(FOUR):
        while left[lanes[lane]] == 0 and next_block < blocks:
            lanes[lane], next_block = next_block, next_block + 1
        busy = lanes[lane] if left[lanes[lane]] else busy
    bars = left[busy]
    for lane in range(FOUR):
        lanes[lane] = lanes[lane] if left[lanes[lane]] else busy
        bars = min(bars, left[lanes[lane]])
    return next_block, bars


@njit(nogil=True, cache=True)
def _lane(span: Places, bar: int) -> tuple[Any, Any, Any]:
    """From a bar of a block on: that bar, the place of the first value that is kept, and how many
    before that one are not.
    """
    _, kept, _, _, place = span
    skip, to = max(kept - bar, 0), place + max(bar - kept, 0)
    return np.uint64(bar), np.uint64(to), np.uint64(skip)


@njit(nogil=True, cache=True)
def _known(laid: Column) -> None:
    """NaN where it is infinite."""
    for i in range(laid.size):
        laid[i] = np.nan if np.isinf(laid[i]) else laid[i]


_CLOSE: Final = ("close",)
CHAINS: Final = {
    "EMA": Chain(_over_a_period(_ema), _CLOSE, {"timeperiod": 9}),
    "SMA": Chain(_over_a_period(_sma), _CLOSE, {"timeperiod": 20}),
    "RSI": Chain(_over_a_period(_rsi), _CLOSE, {"timeperiod": 14}),
    "MACD": Chain(_convergence, _CLOSE, {"fastperiod": 12, "slowperiod": 26, "signalperiod": 9}),
    "SESSION_VWAP": Chain(_session_average, ("day", "hlc3", "volume"), {}),
}
"""By the names that the catalogue calls them by."""
