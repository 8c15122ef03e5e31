"""Bars that are stamped at their end, moved to their start.

Three things tell it: the format declares it; every stamp is the last second of a minute (09:15:59);
or the hours do: on nearly all days a bar stands at the session's close, where none can start, and
on hardly any one at its opening.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, TIMEFRAMES, ist_day
from apps.engine.sessions import Sessions
from apps.market.importers.file_format import StampSide

_NEARLY_ALL: Final = 0.8
_HARDLY_ANY: Final = 0.1


def starts_of(
    stamps: NDArray[np.int64],
    of: NDArray[np.int32],
    timeframe: str,
    sessions: Sessions,
    *,
    side: StampSide | None,
) -> tuple[NDArray[np.int64], int]:
    """The start of each bar, and by how many seconds the stamps were moved back (0: not at all).

    Bars of a day or longer stay: their date is meant.
    """
    length = TIMEFRAMES[timeframe]
    if length >= DAY:
        return stamps, 0
    if len(stamps) and (stamps % 60 == 59).all():
        return stamps + 1 - length, length - 1
    if side is StampSide.END or (side is None and _marks_ends(stamps, of, sessions)):
        return stamps - length, length
    return stamps, 0


def _marks_ends(stamps: NDArray[np.int64], of: NDArray[np.int32], sessions: Sessions) -> bool:
    days = ist_day(stamps)
    # One number for each instrument's day: a day number is far below 100,000.
    both = of.astype(np.int64) * 100_000 + days
    opens, closes = (np.where(hours < 0, 0, hours) for hours in _hours(days, sessions))
    seen = len(np.unique(both)) if of.any() else _distinct(days)
    at_open = np.count_nonzero(stamps == opens)
    at_close = np.count_nonzero(stamps == closes)
    return bool(at_close >= _NEARLY_ALL * seen and at_open <= _HARDLY_ANY * seen)


def _distinct(days: NDArray[np.int32]) -> int:
    """How many different dates, quickly where they come in order."""
    runs = days[np.flatnonzero(np.diff(days, prepend=-1))]
    return len(np.unique(runs))


def _hours(
    days: NDArray[np.int32], sessions: Sessions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Opening and close of each row's day, looked up once for each run of one day."""
    first = np.flatnonzero(np.diff(days, prepend=-1))
    lengths = np.diff(np.append(first, len(days)))
    opens, closes = sessions.hours(days[first])
    return np.repeat(opens, lengths), np.repeat(closes, lengths)
