"""Figures of equity and of its daily returns: each formula alone, on plain columns.

`returns` are fractions, one for each day with a row; no risk-free rate is subtracted. A year is
`periods` of them, SESSIONS_A_YEAR of days or WEEKS_A_YEAR of weekly bars, regardless of gaps; only
counts of trades use calendar days, DAYS_A_YEAR a year. A ratio with an empty denominator is None,
never NaN or infinite.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import day_start, ist_day
from apps.engine.kernel.records import Array

Floats = NDArray[np.float64]
Curve = Array | Mapping[str, Array]
"""CURVE records, or their columns by name."""

SESSIONS_A_YEAR, WEEKS_A_YEAR = 252, 52
DAYS_A_YEAR = 365.25
NEGLIGIBLE = 1e-12
"""What binary fractions leave of nothing, as a share of what it was taken from."""
DAYS_A_WEEK, LEAST_OF_A_WEEK = 7, 5
"""Days from a weekly bar to the next, and the fewest that may be."""


def day_ends(time: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the last row of each date in Asia/Kolkata; times ascend."""
    if not len(time):
        return np.empty(0, np.int64)
    first, last = ist_day(time[[0, -1]]).tolist()
    ends = np.searchsorted(time, day_start(np.arange(first + 1, last + 2, dtype=np.int32)))
    return ends[np.diff(ends, prepend=0) > 0] - 1


def daily_returns(equity: Floats, ends: NDArray[np.int64], capital: float) -> Floats:
    """Return fractions, from the last row of each day to the next; empty if equity was not above 0.

    `ends` may belong to a longer timeline: equity that ends early, ruined, ends its last day.
    """
    last = len(equity) - 1
    inner = ends[: bisect_left(ends, last)]  # NumPy's would let the interpreter's lock go
    held = np.empty(len(inner) + 2)
    held[0], held[1:-1], held[-1] = capital, equity[inner], equity[last]
    return returns_of(held) if held[:-1].min() > 0 else np.empty(0)


def returns_of(held: Floats) -> Floats:
    """Return the returns from each point to the next, in the last axis; all but the last point are
    above 0. A difference within NEGLIGIBLE is 0.
    """
    returns: Floats = held[..., 1:] / held[..., :-1] - 1
    returns[np.abs(returns) <= NEGLIGIBLE] = 0.0
    return returns


def days_of_a_row(days: NDArray[np.int32]) -> int:
    """Return the calendar days behind each date with a row: 7 for weekly bars (most a week apart
    and none nearer); else 1.
    """
    apart = np.diff(days)
    weekly = len(apart) > 0 and apart.min() >= LEAST_OF_A_WEEK and np.median(apart) == DAYS_A_WEEK
    return DAYS_A_WEEK if weekly else 1


def days_covered(days: NDArray[np.int32]) -> int:
    """Return the calendar days from the first date with a row to the last, both counted in full."""
    return int(days[-1] - days[0]) + days_of_a_row(days)


def periods_a_year(days: NDArray[np.int32]) -> int:
    """Return the number of dates like these, with rows, in a year."""
    return SESSIONS_A_YEAR if days_of_a_row(days) == 1 else WEEKS_A_YEAR


def years_held(days: NDArray[np.int32]) -> float:
    """Return the years that the dates with a row amount to: dates without one do not count."""
    return len(days) / periods_a_year(days)


def of_a_year(of_one: float | None, periods: int) -> float | None:
    """Return an annual ratio from the ratio of mean to deviation of a period."""
    return None if of_one is None else of_one * float(periods**0.5)


def annual_growth(equity: Floats, years: float) -> float:
    """Return the percent a year that turn the first into the last in this many years; -100 if
    nothing is left.
    """
    growth = max(float(equity[-1] / equity[0]), 0.0)
    with np.errstate(over="ignore"):
        return (float(np.power(growth, 1 / years)) - 1) * 100


def deviation(returns: Floats) -> float | None:
    """Return percent: the sample deviation (n - 1). None for fewer than two returns."""
    return float(returns.std(ddof=1) * 100) if len(returns) > 1 else None


def downside_deviation(returns: Floats, least: float = 0.0) -> float:
    """Return the root of the mean squared shortfall below `least`, over all returns (Sortino and
    Price 1994, empyrical). At least one return.
    """
    return float(np.sqrt(np.mean(np.minimum(returns - least, 0.0) ** 2)))


def sortino_ratio(returns: Floats) -> float | None:
    """Return mean over downside deviation. None without a loss."""
    below = downside_deviation(returns) if len(returns) else 0.0
    return float(returns.mean()) / below if below else None


def omega_ratio(returns: Floats) -> float | None:
    """Return gains over losses, summed (Keating and Shadwick 2002, threshold 0); None without a
    loss.
    """
    lost = -float(returns[returns < 0].sum())
    return float(returns[returns > 0].sum()) / lost if lost else None


def value_at_risk(returns: Floats, tail: float) -> float | None:
    """Return the percent lost on the day with only a share `tail` of worse days: of history,
    interpolated (empyrical); below 0 if even that day gains.

    None with too few days for one such day.
    """
    if len(returns) * tail < 1:
        return None
    rank = (len(returns) - 1) * tail
    below = int(rank)
    part = np.partition(returns, (below, below + 1))
    lower, higher, share = float(part[below]), float(part[below + 1]), rank - below
    step = higher - lower  # from the nearer one, as NumPy's quantile
    return -(lower + step * share if share < 0.5 else higher - step * (1 - share)) * 100


def expected_shortfall(returns: Floats, tail: float) -> float | None:
    """Return the percent lost on average on the worst days, a share `tail` of all (empyrical's
    conditional value at risk). None with too few days for one such day.
    """
    if len(returns) * tail < 1:
        return None
    worst = np.sort(returns)[: int((len(returns) - 1) * tail) + 1]
    return -float(worst.mean() * 100)
