"""The input of conditions: columns of indicators over the bars of a batch of blocks (rule 11).

Candles of a longer timeframe, or of another symbol, have separate blocks: their array is that of
their block with the first day of the bar's block.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import WARMUP_BARS, Candles, start_of_block
from apps.engine.candles.sessions import Sessions
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import (
    OWN_CANDLES,
    Calculation,
    CandleSource,
    ComputedValue,
    Floats,
    Read,
    Series,
    Table,
    calculated,
    compute_series,
    over,
    shifted,
)
from apps.engine.lazy import lazy
from apps.engine.signals.alerts import (
    NO_ALERTS,
    NO_TIMES,
    AlertTimes,
    Times,
    alerted,
    bar_edges,
    between,
)
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


class SymbolBars(NamedTuple):
    """The bars of a symbol as conditions read them: its candles, those of other sources aligned to
    them, its calendar, and its alerts.
    """

    candles: Candles
    aligned: Mapping[CandleSource, AlignedCandles] = MappingProxyType({})
    sessions: Sessions | None = None
    alerts: AlertTimes = NO_ALERTS


class BatchColumns:
    """Columns over the bars of a batch, packed; each series is computed once."""

    def __init__(self, bars: SymbolBars, batch: BlockBatch, cache: ColumnCache) -> None:
        self._bars, self._batch, self._cache = bars, batch, cache
        self._tables = dict[Hashable, Table]()
        self._arrays = dict[CandleSource, dict[Block, tuple[int, int]]]()

    def __len__(self) -> int:
        return self._batch.size

    @property
    def sessions(self) -> Sessions | None:
        """The calendar of the symbol."""
        return self._bars.sessions

    def read(self, value: ComputedValue) -> Floats:
        """Return a value at each packed bar, NaN if unknown."""
        if isinstance(value, Calculation):
            return calculated(
                value.operator,
                [part if isinstance(part, float) else self.read(part) for part in value.operands],
            )
        if value.candles != OWN_CANDLES:
            return self._read_aligned(value)
        return shifted(self._table(value.series)[value.column], value.offset)

    def alerted(self, name: str) -> NDArray[np.bool_]:
        """Return at each packed bar whether an alert of this name was received in it."""
        packed = np.zeros(len(self), np.bool_)
        times = self._bars.alerts.get(name)
        if times is None:
            return packed
        batch, truth = self._batch, alerted(times, self._edges)
        begin = batch.first_packed(batch.blocks[0])
        for block in batch.blocks:
            own = truth[batch.first_packed(block) - begin : block.stop - begin]
            end = block.packed_at + block.stop - block.first
            packed[end - len(own) : end] = own
        return packed

    def last_alerts(self, name: str) -> Times:
        """Return the times of the alerts of this name in the last bar."""
        times = self._bars.alerts.get(name)
        return NO_TIMES if times is None else between(times, self._edges[-2:])

    @lazy
    def _edges(self) -> Times:
        """The ends of the bars of all arrays, and of the bar before the first."""
        blocks, bars = self._batch.blocks, self._bars
        key = "edges", bars.sessions, self._batch.lookback, blocks[0].begins
        arrays = self._cache.get(key)
        if arrays is None:
            begin, stop = self._batch.first_packed(blocks[0]), blocks[-1].stop
            timeframe = self._batch.timeframe
            arrays = (bar_edges(bars.candles, begin, stop, timeframe, bars.sessions),)
            self._cache.add(key, arrays)
        return arrays[0]

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
        arrays = {(block.start - begin, block.stop - begin): block for block in blocks}

        def read_other(read: Read, part: slice) -> Floats:
            block = arrays[part.start, part.stop]
            return self._aligned_values(read, block, block.start)

        parts = [slice(*ends) for ends in arrays]
        candles = self._bars.candles.slice(begin, end)
        return self._batch.pack(over(series, candles, parts, read_other))

    def _held(self, key: Hashable, table: Table) -> Table:
        if len(self._tables) == MOST_TABLES:
            del self._tables[next(iter(self._tables))]
        self._tables[key] = table
        return table

    def _read_aligned(self, read: Read) -> Floats:
        """Return at each bar the value of the last closed candle of another source, or `offset`
        candles before.
        """
        packed = np.full(len(self), np.nan)
        for block in self._batch.blocks:
            first = self._batch.first_packed(block)
            end = block.packed_at + block.stop - block.first
            values = self._aligned_values(read, block, first)
            packed[end - len(values) : end] = values
        return packed

    def _aligned_values(self, read: Read, block: Block, first: int) -> Floats:
        """Return the same at the bars of a block's array from the bar `first` on."""
        aligned, arrays = self._bars.aligned[read.candles], self._arrays_of(read.candles)
        start, stop = arrays[block]
        index = aligned.seen[first : block.stop] - read.offset - start
        values, known = np.full(len(index), np.nan), np.flatnonzero(index >= 0)
        if len(known):
            table = self._aligned_table(read, aligned, start, stop)
            values[known] = table[read.column][index[known]]
        return values

    def _arrays_of(self, source: CandleSource) -> dict[Block, tuple[int, int]]:
        """Return the candles [start, stop) of a source behind the values of each block."""
        if source not in self._arrays:
            self._arrays[source] = _aligned_arrays(self._bars.aligned[source], self._batch)
        return self._arrays[source]

    def _aligned_table(self, read: Read, aligned: AlignedCandles, start: int, stop: int) -> Table:
        """Return the columns of a series over the candles [start, stop) of another source."""
        key = read.series, read.candles, start
        table = self._tables.get(key)
        if table is None:
            table = self._held(key, compute_series(read.series, aligned.candles.slice(start, stop)))
        return table


def _aligned_arrays(aligned: AlignedCandles, batch: BlockBatch) -> dict[Block, tuple[int, int]]:
    """Return the candles [start, stop) behind the values of each block; where arrays begin alike,
    the longest holds the others.
    """
    starts, stops = dict[Block, int](), dict[int, int]()
    for block in batch.blocks:
        begins = start_of_block(block.begins, aligned.timeframe)
        start = max(int(np.searchsorted(aligned.candles.time, begins)) - WARMUP_BARS, 0)
        last = int(aligned.seen[block.start : block.stop].max())
        starts[block] = start
        stops[start] = max(last + 1, stops.get(start, start))
    return {block: (start, stops[start]) for block, start in starts.items()}
