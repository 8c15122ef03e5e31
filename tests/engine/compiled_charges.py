"""The kernel's charges of a fill, compiled so that a test can call them."""

from typing import Any

from numba import njit
from numpy.typing import NDArray

from apps.engine.kernel import kernel


def _compiled(function: Any) -> Any:
    return njit(error_model="numpy", cache=True)(function.py_func)


_with_zero_row, _rate_on, _charges_on = map(
    _compiled, (kernel.with_zero_row, kernel.rate_on, kernel.charges_on)
)


def charges_on(
    value: float,
    buying: bool,
    from_demat: bool,
    rates: NDArray[Any],
    *,
    segment: int = 0,
    day: int,
) -> tuple[float, ...]:
    """Compute the charges of a fill in paise by kind, from the RATE records in force on the day."""
    known = _with_zero_row(rates)
    rate = known[_rate_on(known, segment, day)]
    paise: tuple[float, ...] = _charges_on(value, buying, from_demat, rate)
    return paise
