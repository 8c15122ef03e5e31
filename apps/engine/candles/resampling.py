"""Bars of one timeframe made from those of a shorter one, by the sessions of the exchange."""

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, TIMEFRAME_SECONDS, Candles, day_start, ist_day
from apps.engine.candles.sessions import Sessions
from apps.engine.errors import EngineError


class CannotResample(EngineError):
    """The target timeframe is no multiple of the source."""


def bar_ends(
    time: NDArray[np.int64], timeframe: str, sessions: Sessions | None
) -> NDArray[np.int64]:
    """Return the end of each bar (ascending starts): after its length, at most the session's close;
    of a day the close, of a week the end of its Sunday.
    """
    length = TIMEFRAME_SECONDS[timeframe]
    if length >= DAY:
        return buckets(time, length, sessions)[1]
    first = np.flatnonzero(np.diff(ist_day(time), prepend=-1))
    closes = _hours(ist_day(time[first]), sessions)[1]
    close = np.repeat(closes, np.diff(first, append=len(time)))
    end = time + length
    return np.where(time < close, np.minimum(end, close), end)


def resample(
    candles: Candles,
    source_timeframe: str,
    target_timeframe: str,
    sessions: Sessions | None,
    *,
    until: int | None = None,
) -> Candles:
    """Return the same bars in a longer timeframe (rule 17).

    Intraday buckets start at the dated session's opening and end after their length or at the
    session's close, whichever is first. Bars outside the session are kept: they form separate
    buckets, counted from the same opening in both directions, that never reach into the session.
    Without hours for a date (or without `sessions`) buckets count from midnight. A day is all bars
    of its date, stamped 00:00; a week runs from Monday, stamped 00:00.

    A bucket that the data may not complete is kept. Give `until`, the moment up to which the bars
    are known, to drop every bucket that ends later: a day ends at its session's close, a week on
    the next Monday.
    """
    source, target = TIMEFRAME_SECONDS[source_timeframe], TIMEFRAME_SECONDS[target_timeframe]
    if target % source:
        raise CannotResample(f"{source_timeframe} bars cannot make {target_timeframe} bars.")
    if target == source or not len(candles):
        return candles
    start, end = buckets(candles.time, target, sessions)
    first = np.flatnonzero(np.diff(start, prepend=start[0] - 1))
    if until is not None:
        kept = int(np.count_nonzero(end[first] <= until))
        stop = int(first[kept]) if kept < len(first) else len(candles)
        candles, first = candles.slice(0, stop), first[:kept]
    return _gather(candles, first, start[first])


def _gather(candles: Candles, first: NDArray[np.int64], start: NDArray[np.int64]) -> Candles:
    """Return bars [first[i], first[i+1]) as one bar stamped start[i]."""
    if not len(first):
        return candles.slice(0, 0)
    last = np.append(first[1:], len(candles)) - 1
    return Candles.build(
        start,
        open=candles.open[first],
        high=np.maximum.reduceat(candles.high, first),
        low=np.minimum.reduceat(candles.low, first),
        close=candles.close[last],
        volume=np.add.reduceat(candles.volume, first),
    )


def buckets(
    time: NDArray[np.int64], length: int, sessions: Sessions | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return start and end (epoch seconds) of each bar's bucket."""
    day = ist_day(time)
    if length == TIMEFRAME_SECONDS["1w"]:
        start = day_start(day - (day + 3) % 7)  # 1970-01-01 was a Thursday
        return start, start + length
    opens, closes = _hours(day, sessions)
    if length == DAY:
        return day_start(day), closes
    start = opens + (time - opens) // length * length
    end = start + length
    late = time >= closes
    return np.where(late, np.maximum(start, closes), start), np.where(
        late, end, np.where(time < opens, end, np.minimum(end, closes))
    )


def _hours(
    day: NDArray[np.int32], sessions: Sessions | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return opening and close of each day; the whole day if its hours are unknown."""
    midnight = day_start(day)
    if sessions is None:
        return midnight, midnight + DAY
    opens, closes = sessions.hours(day)
    unknown = opens < 0
    return np.where(unknown, midnight, opens), np.where(unknown, midnight + DAY, closes)
