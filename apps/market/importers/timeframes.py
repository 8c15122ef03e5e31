"""The timeframe of a series, told by the steps between its bars."""

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import TIMEFRAMES

_BY_SECONDS = {seconds: name for name, seconds in TIMEFRAMES.items()}


def timeframe_of(times: NDArray[np.int64]) -> str | None:
    """The timeframe whose length is the commonest step between distinct times, None if none is."""
    steps, counts = _steps(times)
    return _BY_SECONDS.get(int(steps[np.argmax(counts)])) if len(steps) else None


def contradiction(times: NDArray[np.int64], timeframe: str) -> str | None:
    """Why the bars cannot be of this timeframe, None if they can.

    Bars of a thinly traded contract may skip most periods: it is enough that the least step is one
    period. A file of fewer than two bars contradicts nothing.
    """
    steps, counts = _steps(times)
    if not len(steps):
        return None
    seconds, least = TIMEFRAMES[timeframe], int(steps[0])
    commonest = int(steps[np.argmax(counts)])
    if seconds in (commonest, least):
        return None
    return (
        f"is not {timeframe}: most bars start {_spoken(commonest)} after the one before,"
        f" the closest {_spoken(least)}"
    )


def _steps(times: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Each step between distinct times, ascending, and how often it occurs."""
    steps = np.diff(np.sort(times))
    return np.unique(steps[steps > 0], return_counts=True)


def _spoken(seconds: int) -> str:
    minutes = seconds // 60
    return f"{minutes // 1440} days" if minutes % 1440 == 0 else f"{minutes} minutes"
