"""The bars of trades' entries and exits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, Candles, day_start, ist_day
from apps.engine.kernel.codes import BY_SQUARE_OFF, LAST_OF_SESSION
from apps.engine.kernel.records import Array

Indices = NDArray[np.intp]
Times = NDArray[np.int64]
NO_LATE_SQUARE_OFFS: Final[Mapping[int, int]] = MappingProxyType({})


class SymbolTrades(NamedTuple):
    """The trades of one symbol: `rows` are their indices among all trades, `entry` and `exit` the
    indices of the bars of their entries and exits.
    """

    symbol: int
    candles: Candles
    rows: Indices
    trades: Array
    entry: Indices
    exit: Indices


def trades_by_symbol(trades: Array, candles: Sequence[Candles]) -> list[SymbolTrades]:
    """Return the trades of each symbol with any.

    `candles` are the simulated bars, in the order of the symbols.
    """
    if len(candles) == 1 and len(trades):
        return [_symbol_trades(0, candles[0], np.arange(len(trades)), trades)]
    order = np.argsort(trades["symbol"], kind="stable")
    edges = np.searchsorted(trades["symbol"][order], np.arange(len(candles) + 1)).tolist()
    return [
        _symbol_trades(symbol, candles[symbol], order[begin:end], trades.take(order[begin:end]))
        for symbol, (begin, end) in enumerate(pairwise(edges))
        if end > begin
    ]


def _symbol_trades(symbol: int, candles: Candles, rows: Indices, trades: Array) -> SymbolTrades:
    time, exit_time = candles.time, trades["exit_time"]
    entry = _bars_at(time, np.ascontiguousarray(trades["entry_time"]))
    # A position is left in the last bar that it lived through, or at the open of the next.
    last = np.minimum(entry + trades["bars"] - 1, len(time) - 1)
    leave = np.minimum(last + (time[last] < exit_time), len(time) - 1)
    elsewhere = np.flatnonzero(time[leave] != exit_time)
    leave[elsewhere] = np.searchsorted(time, exit_time[elsewhere])
    return SymbolTrades(symbol, candles, rows, trades, entry, leave)


def _bars_at(time: Times, starts: Times) -> Indices:
    """Return the index of the bar of each start.

    It is counted from the first bar of its date, and searched if bars before it are missing.
    """
    first_day, last_day = ist_day(time[[0, -1]]).tolist()
    opens = np.searchsorted(time, day_start(np.arange(first_day, last_day + 1, dtype=np.int32)))
    length = int(time[1] - time[0]) if len(time) > 1 else DAY
    first = opens[ist_day(starts) - first_day]
    index = np.minimum(first + (starts - time[first]) // length, len(time) - 1)
    elsewhere = np.flatnonzero(time[index] != starts)
    index[elsewhere] = np.searchsorted(time, starts[elsewhere])
    return np.asarray(index)


def late_square_offs(
    by_symbol: Iterable[SymbolTrades], candles: Sequence[Candles], flags: NDArray[np.uint8]
) -> Mapping[int, int]:
    """Return the start of the next bar after each late square-off, keyed by the index of its trade:
    its symbol had no last bar in its session (engine rule 9), and it was squared off at its last
    close.

    `flags` u1[bars] are those of all candles, one symbol after the other; empty without
    square-offs.
    """
    if not len(flags):
        return NO_LATE_SQUARE_OFFS
    begins = np.cumsum([0, *map(len, candles)])
    next_bars: dict[int, int] = {}
    for symbol, bars, rows, trades, entry, leave in by_symbol:
        at_close = leave - entry + 1 == trades["bars"]
        squared_off = np.flatnonzero(at_close & (trades["reason"] == BY_SQUARE_OFF))
        last = leave[squared_off]
        is_last = flags[begins[symbol] + last] & LAST_OF_SESSION > 0
        late = ~is_last & (last + 1 < len(bars))
        starts = bars.time[last[late] + 1]
        next_bars |= zip(rows[squared_off[late]].tolist(), starts.tolist(), strict=True)
    return next_bars
