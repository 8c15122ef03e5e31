"""What is read off columns, in one compiled pass; the same bits as NumPy's way in `values`."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from apps.engine.indicators.series import Column
from apps.engine.signals import values
from apps.engine.signals.values import Truth

ONE: Final = np.uint64(1)  # counted in unsigned numbers: others could mean the end of an array


def crossed(a: Column, b: Column | float, up: bool) -> Truth:
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


def warm_up() -> None:
    """Compile, or load what was compiled."""
    crossed(np.ones(2), np.ones(2), up=True)
