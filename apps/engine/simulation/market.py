"""Many symbols as one market of rows; a row is a time at which any of them has a bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, IST, Candles, frozen, shared_columns
from apps.engine.kernel.records import LEVELS, NO_LEVELS, RANGES, Bars, MarketRows
from apps.engine.signals.signals import NO_RANGES, SignalMask
from apps.engine.simulation.timeline import SymbolSeries, SymbolSignals

Times = NDArray[np.int64]
Days = NDArray[np.int32]
Cells = NDArray[np.int32]
Floats = NDArray[np.float64]
ColumnNumber = TypeVar("ColumnNumber", np.uint8, np.float64)


class JoinedMarket(NamedTuple):
    """A market without ranges, and the place of each symbol's bars in it."""

    market: MarketRows
    sections: Sequence[slice]


def join(all_series: Sequence[SymbolSeries]) -> JoinedMarket:
    """Join the symbols: the bars of each are contiguous, in their order, and `cell` finds them.

    A single symbol's columns are not copied, nor are those in one `candles.CandleTable`.
    """
    candles = [symbol_series.candles for symbol_series in all_series]
    times = [symbol.time for symbol in candles]
    time = _union(times)
    bars, begins = _bars(candles)
    sections = [slice(begin, begin + len(own)) for begin, own in zip(begins, times, strict=True)]
    count = len(bars.open)
    flags = _packed([series.flags for series in all_series], sections, count)
    margins = _packed([series.short_margins for series in all_series], sections, count)
    volume = _packed([series.volume for series in all_series], sections, count)
    cells = _cells(times, np.array(begins), time)
    rows = MarketRows(time, _days(time), cells, bars, NO_RANGES, flags, margins, volume)
    return JoinedMarket(rows, sections)


def combine_signals(
    joined: JoinedMarket,
    symbol_signals: Iterable[SymbolSignals],
    into: SignalMask | None = None,
    packed_ranges: Floats | None = None,
) -> tuple[MarketRows, SignalMask]:
    """Return the market with the ranges of one strategy, and its signals u1[symbols, rows], written
    to `into` if given; `packed_ranges` are the ranges from another market.
    """
    market, sections = joined
    rows = len(market.time)
    if len(sections) == 1:
        (only,) = symbol_signals
        alone = market._replace(atr=only.ranges) if len(only.ranges) else market
        return alone._replace(levels=only.levels), only.signals[np.newaxis]
    signals = np.empty((len(sections), rows), np.uint8) if into is None else into
    ranges = market.atr if packed_ranges is None else packed_ranges
    levels = NO_LEVELS
    for number, (section, symbol) in enumerate(zip(sections, symbol_signals, strict=True)):
        own = signals[number]
        if len(symbol.signals) == rows:
            own[:] = symbol.signals
        else:
            own[:] = 0
            own[market.cell[:, number] >= 0] = symbol.signals
        if packed_ranges is None and len(symbol.ranges):
            ranges = ranges if len(ranges) else np.empty((len(market.bars.open), RANGES))
            ranges[section] = symbol.ranges
        if len(symbol.levels):
            levels = levels if len(levels) else np.empty((len(market.bars.open), LEVELS))
            levels[section] = symbol.levels
    return market._replace(atr=ranges, levels=levels), signals


def warm_up() -> None:
    """Compile, or load from the cache."""
    first, other = frozen(np.array([0, 60])), frozen(np.array([60]))
    _cells([first, other], np.array([0, 2]), _union([first, other]))


def _bars(candles: Sequence[Candles]) -> tuple[Bars, list[int]]:
    """Return the bars of all symbols, and the index of each one's first bar."""
    columns = [[getattr(symbol, name) for symbol in candles] for name in Bars._fields]
    if len(candles) == 1:
        return Bars(*(only for (only,) in columns)), [0]
    shared = shared_columns(candles)
    if shared:
        table, begins = shared
        return Bars(*map(frozen, table[: len(columns)])), begins
    begins = list(accumulate(map(len, candles), initial=0))[:-1]
    return Bars(*(frozen(np.concatenate(column)) for column in columns)), begins


def _packed(
    parts: Sequence[NDArray[ColumnNumber]], sections: Sequence[slice], bars: int
) -> NDArray[ColumnNumber]:
    """Return each at its place, 0 for an empty one; an empty array if all are empty, because nobody
    reads them.

    It is writable: read-only arrays have another type, and would need another compilation.
    """
    if len(parts) == 1 or not any(map(len, parts)):
        return np.require(parts[0], requirements="W")
    whole = np.zeros(bars, parts[0].dtype)
    for part, section in zip(parts, sections, strict=True):
        if len(part):
            whole[section] = part
    return whole


def _union(times: Sequence[Times]) -> Times:
    """Return all times, each once.

    It merges halves: equal halves, the usual case, are only compared.
    """
    if len(times) == 1:
        return times[0]
    half = len(times) // 2
    first, other = _union(times[:half]), _union(times[half:])
    same = first is other or np.array_equal(first, other)
    if same:
        return first
    merged = np.empty(first.size + other.size, np.int64)
    return frozen(merged[: _merge(first, other, merged)].copy())


@njit(nogil=True, cache=True)
def _merge(first: Times, other: Times, merged: Times) -> int:
    """Write two ascending columns as one, each time once; return the length."""
    i = j = size = 0
    while i < first.size and j < other.size:
        a, b = first[i], other[j]
        merged[size] = min(a, b)
        i, j, size = i + (a <= b), j + (b <= a), size + 1
    remainder = first[i:] if i < first.size else other[j:]
    for k in range(remainder.size):  # a slice takes two seconds to compile
        merged[size + k] = remainder[k]
    return size + remainder.size


@njit(nogil=True, cache=True)
def _lay_days(time: Times, days: Days) -> None:
    """Write `Candles.days`.

    Most dates have as many rows as the previous one, so few are read.
    """
    row, rows = 0, 1
    while row < time.size:
        day = (time[row] + IST) // DAY
        midnight, end = (day + 1) * DAY - IST, min(row + rows, time.size)
        while end < time.size and time[end] < midnight:
            end += 1
        while time[end - 1] >= midnight:
            end -= 1
        for i in range(np.uint64(row), np.uint64(end)):
            days[i] = day
        row, rows = end, end - row


def _days(time: Times) -> Days:
    """Return the date of each row."""
    days = np.empty(len(time), np.int32)  # by NumPy: its large arrays are of large pages
    _lay_days(time, days)
    return days


def _cells(times: Sequence[Times], begins: Times, time: Times) -> Cells:
    """Return the bar of each symbol in each row, as in `MarketRows.cell`."""
    first = begins.astype(np.int32)[np.newaxis]
    if all(len(own) == len(time) for own in times):
        return first
    cell = first + np.arange(len(time), dtype=np.int32)[:, np.newaxis]
    for symbol, own in enumerate(times):
        if len(own) < len(time):
            _place(cell[:, symbol], own, begins[symbol], time)
    return cell


@njit(nogil=True, cache=True)
def _place(cell: Cells, own: Times, begin: int, time: Times) -> None:
    """Return the cells i4[rows] of a symbol with bars only at its `own` times."""
    bar = 0
    for row in range(time.size):
        has_bar = bar < own.size and own[bar] == time[row]
        cell[row] = begin + bar if has_bar else -1
        bar += has_bar
