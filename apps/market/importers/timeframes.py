"""The timeframe of a file's bars, told by the steps between them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import TIMEFRAMES
from apps.market.importers.tables import FileTable

_BY_SECONDS: Final = {seconds: name for name, seconds in TIMEFRAMES.items()}


def timeframe_of(
    table: FileTable, times: NDArray[np.int64], of: NDArray[np.int32], *, given: str | None
) -> str:
    """The given timeframe if the bars do not contradict it, else the one they tell.

    That is the one whose length is the commonest step between distinct times of an instrument.
    Bars of a thinly traded contract may skip most periods: a given one is contradicted only if
    neither the commonest nor the least step is one period.
    """
    if given is not None and given not in TIMEFRAMES:
        table.refuse(f"timeframe {given!r} is none of {', '.join(TIMEFRAMES)}")
    steps, counts = _steps(times, of)
    commonest = int(steps[np.argmax(counts)]) if len(steps) else 0
    if given is None:
        if commonest not in _BY_SECONDS:
            table.refuse("the steps between its bars tell no timeframe: give it with --timeframe")
        return _BY_SECONDS[commonest]
    if len(steps) and TIMEFRAMES[given] not in (commonest, int(steps[0])):
        table.refuse(
            f"is not {given}: most bars start {_spoken(commonest)} after the one before,"
            f" the closest {_spoken(int(steps[0]))}"
        )
    return given


def _steps(
    times: NDArray[np.int64], of: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Each step between distinct times of one instrument, ascending, and how often it occurs."""
    if not of.any():
        steps = np.diff(np.sort(times))
    else:
        order = np.lexsort((times, of))
        within = np.diff(of[order]) == 0
        steps = np.diff(times[order])[within]
    return np.unique(steps[steps > 0], return_counts=True)


def _spoken(seconds: int) -> str:
    minutes = seconds // 60
    return f"{minutes // 1440} days" if minutes % 1440 == 0 else f"{minutes} minutes"
