"""The input of conditions: columns of indicators over the bars of a batch of blocks (rule 11).

A higher timeframe has separate blocks: its array is that of its block with the first day of the
bar's block.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import WARMUP_BARS, Candles, start_of_block
from apps.engine.indicators.higher_timeframe import HigherTimeframe
from apps.engine.indicators.series import Floats, Series, Table, compute_series, over
from apps.engine.language.sides import Read
from apps.engine.signals.blocks import Block, BlockBatch, batches_of

MOST_TABLES = 40
"""Series whose columns are held at a time: as many as twenty conditions name."""

Arrays: TypeAlias = tuple[NDArray[Any], ...]


class ColumnCache:
    """Arrays shared by strategies over the same bars, keyed by their inputs.

    It holds a limited number of bytes, without the least recently read arrays. Any number of
    threads may share one.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._arrays = OrderedDict[Hashable, Arrays]()
        self._batches = dict[tuple[int, int, int], list[BlockBatch]]()
        self._lock = Lock()

    def get(self, key: Hashable) -> Arrays | None:
        with self._lock:
            arrays = self._arrays.get(key)
            if arrays is not None:
                self._arrays.move_to_end(key)
            return arrays

    def add(self, key: Hashable, arrays: Arrays) -> None:
        """Store the arrays, if they are not too large."""
        size = _bytes_of(arrays)
        with self._lock:
            if size > self._most_bytes or key in self._arrays:
                return
            self._arrays[key] = arrays
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._bytes -= _bytes_of(self._arrays.popitem(last=False)[1])

    def batches_of(
        self, candles: Candles, timeframe: str, first: int, last: int, lookback: int
    ) -> list[BlockBatch]:
        """Return `blocks.batches_of`, computed once."""
        key = first, last, lookback
        if key not in self._batches:
            self._batches[key] = batches_of(candles, timeframe, first, last, lookback)
        return self._batches[key]


def _bytes_of(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays)


class BatchColumns:
    """Columns over the bars of a batch, packed; each series is computed once."""

    def __init__(
        self,
        candles: Candles,
        batch: BlockBatch,
        higher_timeframes: Mapping[str, HigherTimeframe],
        cache: ColumnCache,
    ) -> None:
        self._candles, self._batch, self._cache = candles, batch, cache
        self._higher_timeframes = higher_timeframes
        self._tables = dict[Hashable, Table]()

    def __len__(self) -> int:
        return self._batch.size

    def read(self, read: Read) -> Floats:
        if read.timeframe:
            return self._read_higher(read, self._higher_timeframes[read.timeframe])
        return shifted(self._table(read.series)[read.column], read.offset)

    def _table(self, series: Series) -> Table:
        """Return the packed columns of a series."""
        table = self._tables.get(series)
        if table is None:
            table = self._held(series, self._cached(series))
        return table

    def _cached(self, series: Series) -> Table:
        key = series, self._batch.lookback, self._batch.blocks[0].begins
        arrays = self._cache.get(key)
        if arrays is None:
            arrays = (self._computed(series),)
            self._cache.add(key, arrays)
        return arrays[0]

    def _computed(self, series: Series) -> Table:
        blocks = self._batch.blocks
        begin, end = blocks[0].start, blocks[-1].stop
        arrays = [slice(block.start - begin, block.stop - begin) for block in blocks]
        return self._batch.pack(over(series, self._candles.slice(begin, end), arrays))

    def _held(self, key: Hashable, table: Table) -> Table:
        if len(self._tables) == MOST_TABLES:
            del self._tables[next(iter(self._tables))]
        self._tables[key] = table
        return table

    def _read_higher(self, read: Read, higher: HigherTimeframe) -> Floats:
        """Return at each bar the value of the last closed higher candle, or `offset` candles
        before.
        """
        packed, arrays = np.full(len(self), np.nan), _higher_arrays(higher, self._batch)
        stops = dict(arrays.values())  # where arrays begin alike, the last one holds the others
        for block, (start, _) in arrays.items():
            first = self._batch.first_packed(block)
            index = higher.seen[first : block.stop] - read.offset - start
            known = np.flatnonzero(index >= 0)
            if len(known):
                column = self._higher_table(read.series, higher, start, stops[start])[read.column]
                packed[block.packed_at - block.first + first + known] = column[index[known]]
        return packed

    def _higher_table(
        self, series: Series, higher: HigherTimeframe, start: int, stop: int
    ) -> Table:
        """Return the columns of a series over the higher candles [start, stop)."""
        key = series, higher.timeframe, start
        table = self._tables.get(key)
        if table is None:
            table = self._held(key, compute_series(series, higher.candles.slice(start, stop)))
        return table


def _higher_arrays(higher: HigherTimeframe, batch: BlockBatch) -> dict[Block, tuple[int, int]]:
    """Return the higher candles [start, stop) behind the values of each block."""
    arrays = {}
    for block in batch.blocks:
        begins = start_of_block(block.begins, higher.timeframe)
        start = max(int(np.searchsorted(higher.candles.time, begins)) - WARMUP_BARS, 0)
        arrays[block] = start, max(int(higher.seen[block.stop - 1]) + 1, start)
    return arrays


def shifted(column: Floats, bars: int) -> Floats:
    """Return the value of this many bars ago; unknown before the array starts."""
    if not bars:
        return column
    earlier = np.full(len(column), np.nan)
    earlier[bars:] = column[: max(len(column) - bars, 0)]
    return earlier
