"""Alerts from outside: the bars in which they were received (rule 25)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles
from apps.engine.candles.resampling import bar_ends
from apps.engine.candles.sessions import Sessions

Times: TypeAlias = NDArray[np.int64]
AlertTimes: TypeAlias = Mapping[str, Times]
"""The times of receipt of a symbol's alerts, keyed by name: epoch seconds in ascending order,
fractions of a second rounded up. A name that is absent has no alerts.
"""

NO_ALERTS: Final[AlertTimes] = MappingProxyType({})
NO_TIMES: Final[Times] = np.empty(0, np.int64)


def bar_edges(
    candles: Candles, first: int, stop: int, timeframe: str, sessions: Sessions | None
) -> Times:
    """Return the moments between which the alerts of the bars [first, stop) came: the end of the
    bar before, or the start of the first bar of all, then the end of each.
    """
    if first:
        return bar_ends(candles.time[first - 1 : stop], timeframe, sessions)
    ends = bar_ends(candles.time[:stop], timeframe, sessions)
    return np.concatenate((candles.time[:1], ends))


def between(times: Times, edges: Times) -> Times:
    """Return the times after the first edge, up to the last."""
    first, stop = np.searchsorted(times, edges[[0, -1]], side="right").tolist()
    return times[first:stop]


def alerted(times: Times, edges: Times) -> NDArray[np.bool_]:
    """Return for each bar between two edges whether one of the times is in it."""
    truth = np.zeros(len(edges) - 1, np.bool_)
    truth[np.searchsorted(edges[1:], between(times, edges))] = True
    return truth
