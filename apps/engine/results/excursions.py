"""The moves of prices against each trade and for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Array
from apps.engine.results.trade_bars import Indices, SymbolTrades

Floats = NDArray[np.float64]

# Whether an exit, by its reason, leaves inside a bar, if not at its open.
_AT_A_PRICE = np.isin(EXIT_REASONS, ("stop_loss", "take_profit", "trailing_stop"))


class Excursions(NamedTuple):
    """The furthest moves of prices against each trade and for it, fractions of the average entry,
    never below 0 (Sweeney 1996: MAE, MFE).
    """

    adverse: Floats
    favorable: Floats

    def of(self, rows: slice | NDArray[np.intp]) -> Excursions:
        """Return the excursions of some trades."""
        return Excursions(self.adverse[rows], self.favorable[rows])


def excursions_of(
    trades: Array, by_symbol: Iterable[SymbolTrades], *, by_limit: bool
) -> Excursions:
    """Return the excursions of TRADE records; `by_symbol` has their bars.

    They use the average entry, the exit and every bar held to its end. In a bar entered `by_limit`
    below its open (above, when short; on average, with adds), or left inside by a stop or target,
    only entry and exit count: the order of prices and fill is unknown.
    """
    entry, leave = (np.ascontiguousarray(trades[name]) for name in ("entry_price", "exit_price"))
    low, high = np.minimum(entry, leave), np.maximum(entry, leave)
    for symbol in by_symbol:
        first, end = _held_bars(symbol, by_limit=by_limit)
        held = np.flatnonzero(end > first)
        rows, count = symbol.rows[held], len(symbol.candles)
        at_end = np.flatnonzero(end[held] == count)
        edges = np.minimum(np.column_stack([first[held], end[held]]).ravel(), count - 1)
        for extreme, prices, furthest in (
            (np.minimum, symbol.candles.low, low),
            (np.maximum, symbol.candles.high, high),
        ):
            reached = extreme.reduceat(prices, edges)[::2]
            reached[at_end] = extreme(reached[at_end], prices[-1])
            furthest[rows] = extreme(furthest[rows], reached)
    down, up, is_long = (entry - low) / entry, (high - entry) / entry, trades["side"] > 0
    return Excursions(np.where(is_long, down, up), np.where(is_long, up, down))


def _held_bars(symbol: SymbolTrades, *, by_limit: bool) -> tuple[Indices, Indices]:
    """Return the first bar with its whole range in each trade, and the one after the last."""
    trades, bars, first = symbol.trades, symbol.candles, symbol.entry
    end = first + trades["bars"]
    if by_limit:
        opened, price = bars.open[first], trades["entry_price"]
        first = first + np.where(trades["side"] > 0, price < opened, price > opened)
    left_inside = (end - 1 == symbol.exit) & _AT_A_PRICE[trades["reason"]]
    return first, end - left_inside
