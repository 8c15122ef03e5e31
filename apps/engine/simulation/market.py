"""Many symbols as one market of rows; a row is a time at which any of them has a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from apps.engine.candles import frozen, ist_days
from apps.engine.kernel.records import Bars, Market
from apps.engine.simulation.timeline import Cues, Track

Column = TypeVar("Column", NDArray[np.float64], NDArray[np.uint8])
Times = NDArray[np.int64]
Cells = NDArray[np.int32]
Bits = NDArray[np.uint8]


def join(tracks: Sequence[Track]) -> Market:
    """The market, without ranges.

    Each symbol's bars stay as they are, one symbol after the other, and `cell` finds them. What
    one symbol alone needs is not copied.
    """
    candles = [track.candles for track in tracks]
    time = _union([one.time for one in candles])
    return Market(
        time,
        ist_days(time),
        _cells([one.time for one in candles], time),
        Bars(*(frozen(_joined([getattr(c, name) for c in candles])) for name in Bars._fields)),
        np.empty((0, 4)),
        _joined([track.flags for track in tracks]),
    )


def cue(market: Market, cues: Sequence[Cues], into: Bits | None = None) -> tuple[Market, Bits]:
    """The market with the ranges of one strategy, and its signals u1[rows, symbols]; `into` is
    theirs, if it is given.
    """
    signals = _joined([one.signals for one in cues])
    heard = signals[:, np.newaxis]
    if len(cues) > 1:
        heard = np.empty(market.cell.shape, np.uint8) if into is None else into
        _hear(signals, market.cell, heard)
    return market._replace(atr=_joined([one.ranges for one in cues])), heard


def warm_up() -> None:
    """Compile, or load what was compiled."""
    one, other = frozen(np.array([0, 60])), frozen(np.array([60]))
    cell = _cells([one, other], _union([one, other]))
    _hear(np.zeros(3, np.uint8), cell, np.empty(cell.shape, np.uint8))


def _joined(parts: Sequence[Column]) -> Column:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _union(times: Sequence[Times]) -> Times:
    """All times, each once. By halves: what is the same in both, as most are, is only compared."""
    if len(times) == 1:
        return times[0]
    half = len(times) // 2
    one, other = _union(times[:half]), _union(times[half:])
    return one if np.array_equal(one, other) else frozen(_merged(one, other))


@njit(nogil=True, cache=True)
def _merged(one: Times, other: Times) -> Times:
    """Two ascending columns as one, each time once."""
    merged = np.empty(one.size + other.size, np.int64)
    i = j = size = 0
    while i < one.size and j < other.size:
        a, b = one[i], other[j]
        merged[size] = min(a, b)
        i, j, size = i + (a <= b), j + (b <= a), size + 1
    rest = one[i:] if i < one.size else other[j:]
    merged[size : size + rest.size] = rest
    return merged[: size + rest.size].copy()


def _cells(times: Sequence[Times], time: Times) -> Cells:
    """The bar of each symbol in each row, i4[rows, symbols]; -1 where it has none."""
    if len(times) == 1:  # its bars are the rows
        return np.arange(len(time), dtype=np.int32)[:, np.newaxis]
    begins = np.cumsum([0, *map(len, times)])
    cell = _as_if_whole(begins[:-1], len(time))
    for symbol, own in enumerate(times):
        if len(own) < len(time):
            _place(cell[:, symbol], own, begins[symbol], time)
    return cell


@njit(nogil=True, cache=True)
def _as_if_whole(begins: Times, rows: int) -> Cells:
    """Of symbols that have a bar in every row, the first at their place in `begins`."""
    cell = np.empty((rows, begins.size), np.int32)
    for row in range(np.uint64(rows)):
        for symbol in range(np.uint64(begins.size)):
            cell[row, symbol] = begins[symbol] + row
    return cell


@njit(nogil=True, cache=True)
def _place(cell: Cells, own: Times, begin: int, time: Times) -> None:
    """The cells i4[rows] of a symbol with bars at its `own` times only."""
    bar = 0
    for row in range(time.size):
        there = bar < own.size and own[bar] == time[row]
        cell[row] = begin + bar if there else -1
        bar += there


@njit(nogil=True, cache=True)
def _hear(signals: Bits, cell: Cells, heard: Bits) -> None:
    """What is signalled in each cell, 0 where there is no bar."""
    rows, symbols = cell.shape
    for row in range(np.uint64(rows)):
        for symbol in range(np.uint64(symbols)):
            bar = cell[row, symbol]
            heard[row, symbol] = signals[bar] if bar >= 0 else 0
