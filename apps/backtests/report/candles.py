"""Candles for the eye: of the shortest timeframe in which few enough of them cover the range."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, TIMEFRAMES, Candles, ist_day
from apps.engine.kernel.records import Array
from apps.market import store

MOST_SYMBOLS: Final = 20
"""Those that are drawn: the ones with the most trades."""
MOST_CANDLES: Final = 8_000
"""On one page, shared by its symbols."""
MOST_OF_ONE: Final = 600
"""Of one symbol: more are a blur on any screen."""


class Drawn(NamedTuple):
    """One symbol as it is drawn: `place` is its number in the backtest's list, `is_longer` says
    that its candles are longer than those that the backtest read.
    """

    place: int
    symbol: str
    timeframe: str
    is_longer: bool
    candles: Candles


def drawn(
    symbols: Sequence[str], timeframe: str, *, trades: Array, curve: Array, start: int, end: int
) -> list[Drawn]:
    """The symbols with the most trades, most first, with the candles that are held of them now."""
    counts = np.bincount(trades["symbol"], minlength=len(symbols))
    places = np.argsort(-counts, kind="stable")[:MOST_SYMBOLS].tolist()
    legible = legible_timeframe(
        curve["time"], timeframe, most=min(MOST_OF_ONE, MOST_CANDLES // max(len(places), 1))
    )
    early = (
        TIMEFRAMES[legible] - TIMEFRAMES[timeframe]
    )  # a longer candle may begin before the range
    return [
        Drawn(
            place,
            symbols[place],
            legible,
            legible != timeframe,
            store.read_adjusted(
                symbols[place], legible, start=start - early, end=end, warmup=False
            ).candles,
        )
        for place in places
    ]


def legible_timeframe(time: NDArray[np.int64], timeframe: str, *, most: int) -> str:
    """The shortest, from the backtest's own on, in which rows at these times are `most` at most."""
    own = TIMEFRAMES[timeframe]
    longer = [name for name, seconds in TIMEFRAMES.items() if seconds >= own]
    return next((name for name in longer if _candles_of(time, name) <= most), longer[-1])


def _candles_of(time: NDArray[np.int64], timeframe: str) -> int:
    """How many candles of a timeframe hold all these times; days begin with their first row."""
    if not len(time):
        return 0
    day = ist_day(time).astype(np.int64)
    if timeframe == "1w":
        return _changes((day + 3) // 7)
    if timeframe == "1d":
        return _changes(day)
    begins = np.flatnonzero(np.diff(day, prepend=day[0] - 1))
    opened = np.repeat(time[begins], np.diff(begins, append=len(day)))
    return _changes(day * DAY + (time - opened) // TIMEFRAMES[timeframe])


def _changes(values: NDArray[np.int64]) -> int:
    """How many runs of equal values there are."""
    return 1 + int(np.count_nonzero(np.diff(values)))
