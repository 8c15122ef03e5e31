"""What prices did beside the trades: how far each went against and for its position, and what
buying and holding would have made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import Candles
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Array

Floats = NDArray[np.float64]

_AT_A_PRICE = [EXIT_REASONS.index(name) for name in ("stop_loss", "take_profit", "trailing_stop")]
"""Exits that leave inside a bar, if not at its open."""


class Excursions(NamedTuple):
    """The furthest that prices went against each trade and for it, fractions of the average entry,
    never below 0 (Sweeney 1996: MAE, MFE).
    """

    adverse: Floats
    favorable: Floats

    def of(self, rows: slice | NDArray[np.intp]) -> Excursions:
        """Those of some of the trades."""
        return Excursions(self.adverse[rows], self.favorable[rows])


def excursions_of(trades: Array, candles: Sequence[Candles], *, by_limit: bool) -> Excursions:
    """Of TRADE records, by the candles that were simulated, in the order of the symbols.

    What counts are the average entry, the exit and every bar that was held to its end. Of a bar
    that was entered `by_limit` below its open (above, when short; on average, with adds), or that a
    stop or target left inside, only those count: it is not known what came before or after a fill.
    """
    found = Excursions(np.zeros(len(trades)), np.zeros(len(trades)))
    for place, bars in enumerate(candles):
        mine = np.flatnonzero(trades["symbol"] == place)
        if len(mine):
            found.adverse[mine], found.favorable[mine] = _of_one(trades.take(mine), bars, by_limit)
    return found


def _of_one(trades: Array, bars: Candles, by_limit: bool) -> Excursions:
    entry, leave, is_long = trades["entry_price"], trades["exit_price"], trades["side"] > 0
    first = np.searchsorted(bars.time, trades["entry_time"])
    end = first + trades["bars"]
    if by_limit:
        opened = bars.open[first]
        first = first + np.where(is_long, entry < opened, entry > opened)
    left_inside = bars.time[end - 1] == trades["exit_time"]
    end = end - (left_inside & np.isin(trades["reason"], _AT_A_PRICE))
    low = np.minimum(_reached(np.minimum, bars.low, first, end, entry), np.minimum(entry, leave))
    high = np.maximum(_reached(np.maximum, bars.high, first, end, entry), np.maximum(entry, leave))
    down, up = (entry - low) / entry, (high - entry) / entry
    return Excursions(np.where(is_long, down, up), np.where(is_long, up, down))


def _reached(
    extreme: np.ufunc, prices: Floats, first: NDArray[np.intp], end: NDArray[np.intp], none: Floats
) -> Floats:
    """The extreme of prices[first:end] of each trade, `none` where that is empty."""
    edges = np.column_stack([first, end]).ravel()
    every_other: Floats = extreme.reduceat(np.append(prices, prices[-1]), edges)[::2]
    return np.where(end > first, every_other, none)


def buy_and_hold(candles: Sequence[Candles], start: int, ends: NDArray[np.int64]) -> Floats:
    """What one rupee became at each of `ends` (starts of rows, epoch seconds), f8[ends].

    It is parted equally among the symbols and never moved: each part buys at the open of the
    symbol's first bar from `start` on, is money until then, and pays no charges.
    """
    worth = [_held(bars, start, ends) for bars in candles]
    mean: Floats = np.mean(worth, axis=0)
    return mean


def _held(bars: Candles, start: int, ends: NDArray[np.int64]) -> Floats:
    first = int(np.searchsorted(bars.time, start))
    last = np.searchsorted(bars.time, ends, side="right") - 1
    if first == len(bars):
        return np.ones(len(ends))
    worth: Floats = np.where(last < first, 1.0, bars.close[last] / bars.open[first])
    return worth
