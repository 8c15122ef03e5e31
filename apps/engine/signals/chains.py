"""Indicators whose values each rest on the one before, for all blocks at once: TA-Lib's own bits.

Such a chain takes long because a processor waits for one value to begin the next. The chains of
different blocks do not wait for each other, so four are taken side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from apps.engine.candles import Candles, frozen
from apps.engine.indicators.series import Column, Series, source
from apps.engine.signals.values import Places, Spans, columns_of, size_of

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


Chain = Callable[[Series, Candles, Spans], tuple[Column, ...]]

FOUR: Final = 4


def chain_of(series: Series) -> Chain | None:
    """What computes the series as `values.columns_of` does, to the last bit; None where TA-Lib's
    own function has to.
    """
    chain = CHAINS.get(series.formula)
    return chain if chain and is_talibs(series.formula) else None


def warm_up() -> None:
    """Compile, or load what was compiled, and see how TA-Lib rounds."""
    for formula in CHAINS:
        is_talibs(formula)


@cache
def is_talibs(formula: str) -> bool:
    """Whether TA-Lib was built to round as we do, on this machine."""
    bars, rng = 6000, np.random.default_rng(0)
    price = frozen(100 * np.exp(np.cumsum(rng.normal(0, 0.01, bars))))
    candles = Candles(frozen(np.arange(bars)), price, price, price, price, price)
    spans = np.array([[0, 0, 0, 4000, 0], [2000, 4000, 4000, bars, 4000]])
    tried = Series(formula, ("close",), (("timeperiod", 9),))
    ours, talibs = (of(tried, candles, spans) for of in (CHAINS[formula], columns_of))
    return all(a.tobytes() == b.tobytes() for a, b in zip(ours, talibs, strict=True))


def _exponential_average(series: Series, candles: Candles, spans: Spans) -> tuple[Column, ...]:
    (name,), period = series.inputs, int(dict(series.arguments)["timeperiod"])
    laid = np.empty(size_of(spans))
    _ema(frozen(source(candles, name).view(np.float64)), spans, period, laid)
    return (laid,)


CHAINS: Final[dict[str, Chain]] = {"EMA": _exponential_average}


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
    lanes, next_block = np.full(FOUR, len(spans)), 0
    while True:
        next_block, bars = _side_by_side(lanes, left, next_block)
        if bars == 0:
            break
        k, m, n, p = lanes
        a, b, c, d = averages[k], averages[m], averages[n], averages[p]
        (at_a, to_a, skip_a), (at_b, to_b, skip_b) = _lane(spans, left, k), _lane(spans, left, m)
        (at_c, to_c, skip_c), (at_d, to_d, skip_d) = _lane(spans, left, n), _lane(spans, left, p)
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
    for block in range(len(spans)):
        if not np.isfinite(averages[block]):
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
def _lane(spans: Spans, left: Places, block: int) -> tuple[Any, Any, Any]:
    """The bar a block goes on at, the place of its first value that is kept, and how many before
    that one are not.
    """
    _, kept, _, stop, place = spans[block]
    bar = stop - left[block]
    skip, to = max(kept - bar, 0), place + max(bar - kept, 0)
    return np.uint64(bar), np.uint64(to), np.uint64(skip)


@njit(nogil=True, cache=True)
def _known(laid: Column) -> None:
    """NaN where it is infinite."""
    for i in range(laid.size):
        if np.isinf(laid[i]):
            laid[i] = np.nan
