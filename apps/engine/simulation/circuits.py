"""Circuits: the bars in which the price of a share is locked at a limit of its day (rule 22)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, Candles, day_start, ist_day
from apps.engine.kernel.codes import LOCKED_DOWN, LOCKED_UP, TICKS_PER_RUPEE
from apps.engine.simulation.plan import Contract

BarFlags = NDArray[np.uint8]

BANDS: Final = (0.02, 0.05, 0.10, 0.20)
"""How far the price of a share may go from its previous close, by exchange and share."""
CLOSE_DAYS: Final = 7
"""A close that is older is not the previous one."""
NO_CIRCUITS: Final = np.empty(0, np.uint8)
_DUST: Final = 1e-6


def may_be_locked(contract: Contract, timeframe: str, candles: Candles) -> bool:
    """Return whether a candle of a single price is in a session with limits: a week has none."""
    has_limits = contract.has_bands and timeframe != "1w"
    return has_limits and bool((candles.high == candles.low).any())


def circuit_flags(
    contract: Contract, timeframe: str, used: Candles, *, first: int, days: Candles | None
) -> BarFlags:
    """Return the flags of the bars of `used` from `first` on, u1[n]; empty without locked prices.

    A locked bar has a single price, a tick or less from a limit, and no earlier bar of its session
    went beyond it. `days` are the daily candles with the official closes; without them the last
    closes of `used` itself count.
    """
    if not may_be_locked(contract, timeframe, used.slice(first, len(used))):
        return NO_CIRCUITS
    flat = first + np.flatnonzero(used.high[first:] == used.low[first:])
    price, day = used.close[flat], ist_day(used.time[flat])
    close = _previous_closes(used if days is None else days, day)
    tick = contract.ticks(day) / TICKS_PER_RUPEE
    flags = np.zeros(len(used), np.uint8)
    for sign, flag in ((1, LOCKED_UP), (-1, LOCKED_DOWN)):
        at_limit = np.zeros(len(flat), np.bool_)
        for band in BANDS:
            at_limit |= np.abs(price - close * (1 + sign * band)) <= tick + _DUST
        at_limit &= (
            sign * (price - close) > _DUST
        )  # a tick may be more than the band of a low price
        extremes = used.high if sign > 0 else -used.low
        for date in np.unique(day[at_limit]).tolist():
            edges = day_start(np.array([date, date + 1]))
            begin, end = np.searchsorted(used.time, edges).tolist()
            own = flat[at_limit & (day == date)]
            reached = np.maximum.accumulate(extremes[begin:end])[own - begin]
            flags[own[reached <= extremes[own]]] |= flag
    return flags[first:] if flags.any() else NO_CIRCUITS


def _previous_closes(days: Candles, dates: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the last close before each date; NaN, near no price, if it is unknown."""
    begins = day_start(dates)
    last = np.searchsorted(days.time, begins) - 1
    closes = np.full(len(dates), np.nan)
    known = last >= 0
    known[known] = begins[known] - days.time[last[known]] <= CLOSE_DAYS * DAY
    closes[known] = days.close[last[known]]
    return closes


def with_circuits(flags: BarFlags, circuits: BarFlags) -> BarFlags:
    """Return both kinds of flags of the same bars; either may be empty."""
    if not len(flags) or not len(circuits):
        return flags if len(flags) else circuits
    return flags | circuits
