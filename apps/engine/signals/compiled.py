"""What is read off columns, in one compiled pass; the same bits as NumPy's way in `values`."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from apps.engine.candles import Candles, frozen
from apps.engine.indicators.series import Column, Series
from apps.engine.signals import chains, values
from apps.engine.signals.chains import chain_of
from apps.engine.signals.values import Bits, Passes, Spans, Truth

ONE: Final = np.uint64(1)  # counted in unsigned numbers: others could mean the end of an array


def _crossed(a: Column, b: Column | float, up: bool) -> Truth:
    """As `values.crossed`."""
    if not isinstance(b, np.ndarray) or not len(a):
        return values.crossed(a, b, up)
    found: Truth = _crossings(a, b) if up else _crossings(b, a)
    return found


@njit(nogil=True, cache=True)
def _crossings(a: Column, b: Column) -> Truth:
    """Where `a` is above `b`, and was not at the bar before."""
    found = np.empty(a.size, np.bool_)
    found[0] = False
    for i in range(ONE, np.uint64(a.size)):
        found[i] = (a[i] > b[i]) & (a[i - ONE] <= b[i - ONE])
    return found


@njit(nogil=True, cache=True)
def lay(laid: Column, place: int, part: Column) -> None:
    """As `values.lay`."""
    begin = np.uint64(place)
    for i in range(np.uint64(part.size)):
        value = part[i]
        laid[begin + i] = np.nan if np.isinf(value) else value


@njit(nogil=True, cache=True)
def _mark(bits: Bits, bit: int, truth: Truth, spans: Spans) -> None:
    """As `values.mark`."""
    one, wanted = np.uint8(bit), spans[0, 2]
    for _, kept, first, stop, place in spans:
        begin, seen = np.uint64(first - wanted), np.uint64(place + first - kept)
        for i in range(np.uint64(stop - first)):
            bits[begin + i] |= one * np.uint8(truth[seen + i])


def _columns(series: Series, candles: Candles, spans: Spans) -> tuple[Column, ...]:
    """As `values.columns_of`."""
    chain = chain_of(series)
    if chain:
        return chain(series, candles, spans)
    return values.columns_of(series, candles, spans, lay=lay)


COMPILED: Final = Passes(_crossed, _columns, _mark)
"""As `values.IN_NUMPY`."""


def warm_up() -> None:
    """Compile, or load what was compiled."""
    one = np.ones(2)
    COMPILED.crossed(one, one, True)
    for part in (one[1:], frozen(one)):  # a column of the candles is read-only
        lay(one, 0, part)
    COMPILED.mark(np.zeros(2, np.uint8), 1, one > 0, np.array([[0, 0, 0, 1, 1]]))
    chains.warm_up()
