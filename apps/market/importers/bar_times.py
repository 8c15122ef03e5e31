"""The times of bars: moving stamped ends to starts, and finding the timeframe.

A stamp marks the end of its bar if the format declares it; if every stamp is the last second of a
minute (09:15:59); or if the session's hours show it: on nearly all days a bar is stamped at the
close, where none can start, and on hardly any day at the opening.
"""

from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, TIMEFRAMES, Sessions, ist_day
from apps.market.importers.tables.file_table import FileTable


class StampSide(Enum):
    """The side of a bar that its stamp marks."""

    START = "start"
    END = "end"


_NEARLY_ALL: Final = 0.8
_HARDLY_ANY: Final = 0.1


def starts_of(
    stamps: NDArray[np.int64],
    row_instrument: NDArray[np.int32],
    timeframe: str,
    sessions: Sessions,
    *,
    side: StampSide | None,
) -> tuple[NDArray[np.int64], int]:
    """Return the start of each bar, and the seconds by which stamps were moved back.

    Bars of a day or longer are not moved: their stamp is a date.
    """
    length = TIMEFRAMES[timeframe]
    if length >= DAY:
        return stamps, 0
    if len(stamps) and (stamps % 60 == 59).all():
        return stamps + 1 - length, length - 1
    if side is StampSide.END or (side is None and _marks_ends(stamps, row_instrument, sessions)):
        return stamps - length, length
    return stamps, 0


def _marks_ends(
    stamps: NDArray[np.int64], row_instrument: NDArray[np.int32], sessions: Sessions
) -> bool:
    days = ist_day(stamps)
    # One number for each instrument's day: a day number is far below 100,000.
    both = row_instrument.astype(np.int64) * 100_000 + days
    opens, closes = (np.where(hours < 0, 0, hours) for hours in _hours(days, sessions))
    days_with_bars = len(np.unique(both))
    at_open = np.count_nonzero(stamps == opens)
    at_close = np.count_nonzero(stamps == closes)
    return bool(
        at_close >= _NEARLY_ALL * days_with_bars and at_open <= _HARDLY_ANY * days_with_bars
    )


def _hours(
    days: NDArray[np.int32], sessions: Sessions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return opening and close of each row's day, looked up once for each run of one day."""
    first = np.flatnonzero(np.diff(days, prepend=-1))
    lengths = np.diff(np.append(first, len(days)))
    opens, closes = sessions.hours(days[first])
    return np.repeat(opens, lengths), np.repeat(closes, lengths)


_BY_SECONDS: Final = {seconds: name for name, seconds in TIMEFRAMES.items()}


def timeframe_of(
    table: FileTable,
    times: NDArray[np.int64],
    row_instrument: NDArray[np.int32],
    *,
    given: str | None,
) -> str:
    """Return the given timeframe unless the bars contradict it, else the timeframe of the bars: the
    commonest step between distinct times of an instrument.

    Bars of a thinly traded contract may skip most periods: a given timeframe is contradicted only
    if neither the commonest nor the least step is one period.
    """
    if given is not None and given not in TIMEFRAMES:
        table.refuse(f"timeframe {given!r} is none of {', '.join(TIMEFRAMES)}")
    steps, counts = _steps(times, row_instrument)
    commonest = int(steps[np.argmax(counts)]) if len(steps) else 0
    if given is None:
        if commonest not in _BY_SECONDS:
            table.refuse("the steps between its bars tell no timeframe: give the timeframe")
        return _BY_SECONDS[commonest]
    if len(steps) and TIMEFRAMES[given] not in (commonest, int(steps[0])):
        table.refuse(
            f"is not {given}: most bars start {_in_words(commonest)} after the one before,"
            f" the closest {_in_words(int(steps[0]))}"
        )
    return given


def _steps(
    times: NDArray[np.int64], row_instrument: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return each step between distinct times of one instrument, ascending, and its frequency."""
    if not row_instrument.any():
        steps = np.diff(np.sort(times))
    else:
        order = np.lexsort((times, row_instrument))
        within = np.diff(row_instrument[order]) == 0
        steps = np.diff(times[order])[within]
    return np.unique(steps[steps > 0], return_counts=True)


def _in_words(seconds: int) -> str:
    minutes = seconds // 60
    return f"{minutes // 1440} days" if minutes % 1440 == 0 else f"{minutes} minutes"
