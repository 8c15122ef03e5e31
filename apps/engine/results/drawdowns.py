"""Falls of equity below its running peak.

The running peak is that of equity at closes, with open positions marked (empyrical,
backtesting.py). `under` is the result of `drawdowns` for the points of equity.
"""

from __future__ import annotations

from datetime import date
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.results.equity import NEGLIGIBLE, Floats

Days = NDArray[np.int32]

FALL_BLOCK: Final = 512
# More than the error of the quotient of two numbers.
LAST_BITS: Final = 1e-12


def drawdowns(equity: Floats) -> Floats:
    """Return the distance of each point below the running peak, as a fraction of the peak; 0 if it
    is NEGLIGIBLE.
    """
    peak = np.maximum.accumulate(equity)
    under: Floats = (peak - equity) / peak
    under[under <= NEGLIGIBLE] = 0.0
    return under


def largest_falls(equity: Floats, capital: float = 0.0) -> tuple[float, float]:
    """Return the largest fall below the running peak, as a fraction of the peak and in rupees; 0 if
    it is NEGLIGIBLE.

    The running peak is at least the capital. The extremes of blocks of rows bound the falls in
    them; only blocks with a possibly larger fall than the certain one of some block are examined, a
    few of a long curve.
    """
    starts = np.arange(0, len(equity), FALL_BLOCK)
    lowest = np.minimum.reduceat(equity, starts)
    first = max(float(equity[0]), capital)
    after = np.maximum.accumulate(np.maximum(np.maximum.reduceat(equity, starts), first))
    peaks = np.stack([np.append(first, after[:-1]), after])
    falls = peaks - lowest  # from the peak before the block, and from the one at its end
    searched = np.zeros(len(starts), np.bool_)
    for bounds in (falls, falls / peaks):
        certain = np.where(falls[0] > NEGLIGIBLE * after, bounds.min(axis=0), 0.0)
        searched |= bounds.max(axis=0) * (1 + LAST_BITS) >= certain.max()
    share = rupees = 0.0
    for block in np.flatnonzero(searched & (falls[1] > 0)).tolist():
        rows = equity[block * FALL_BLOCK : (block + 1) * FALL_BLOCK]
        peak = np.maximum(np.maximum.accumulate(rows), peaks[0, block])
        fall = peak - rows
        fall[fall <= NEGLIGIBLE * peak] = 0.0
        share, rupees = max(share, float((fall / peak).max())), max(rupees, float(fall.max()))
    return share, rupees


def max_drawdown(equity: Floats) -> float:
    """Return the largest fall in percent of the running peak."""
    return largest_falls(equity)[0] * 100


def ulcer_index(under: Floats) -> float:
    """Return the root of the mean squared drawdown, in percent (Martin and McCann 1989), without
    the first point, the base of the others.
    """
    return float(np.sqrt(np.mean(under[1:] ** 2)) * 100)


class DrawdownEpisodes(NamedTuple):
    """All drawdowns as columns: times below the running peak, cut as in backtesting.py, by indices
    of equity.

    `begin` is the last point at the peak, `end` the first one back at it, or the last point.
    `depth` is the fall at the lowest point, a fraction of the peak.
    """

    begin: NDArray[np.intp]
    end: NDArray[np.intp]
    depth: Floats


def drawdown_episodes(under: Floats) -> DrawdownEpisodes:
    """Return all episodes, oldest first."""
    edges = np.flatnonzero(np.append(under[:-1] == 0, True))
    depth = np.maximum.reduceat(under, edges)[:-1]
    depth[-1:] = np.maximum(depth[-1:], under[-1])
    deep = depth > 0
    return DrawdownEpisodes(edges[:-1][deep], edges[1:][deep], depth[deep])


class DrawdownEpisode(NamedTuple):
    """One drawdown of a report, with its dates.

    `recovered` is None if equity has not returned to its peak; `days` are calendar days from the
    peak to the recovery, or to the end.
    """

    peak: date
    trough: date
    recovered: date | None
    percent: float
    days: int


def worst_drawdowns(equity: Floats, days: Days, count: int) -> list[DrawdownEpisode]:
    """Return the `count` deepest episodes, deepest first; ties go to the older one (the columns of
    pyfolio's gen_drawdown_table). `days`: the date of each point, as a day number.
    """
    under = drawdowns(equity)
    episodes = drawdown_episodes(under)
    dates: list[date] = days.astype("M8[D]").tolist()
    worst = []
    for episode in np.argsort(-episodes.depth, kind="stable")[:count].tolist():
        begin, end = int(episodes.begin[episode]), int(episodes.end[episode])
        trough = begin + int(np.argmax(under[begin : end + 1]))
        worst.append(
            DrawdownEpisode(
                peak=dates[begin],
                trough=dates[trough],
                recovered=dates[end] if under[end] == 0 else None,
                percent=float(episodes.depth[episode]) * 100,
                days=int(days[end] - days[begin]),
            )
        )
    return worst


def recovery_days(under: Floats, days: Days) -> int | None:
    """Return the days from the bottom of the largest drawdown to a new peak; None if it has not
    come, or without a drawdown. `days` is the date of each point, as a day number.
    """
    bottom = int(np.argmax(under))
    back = np.flatnonzero(under[bottom:] == 0)
    return int(days[bottom + back[0]] - days[bottom]) if under[bottom] and len(back) else None
