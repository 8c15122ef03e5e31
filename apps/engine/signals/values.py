"""What checks read: columns over the wanted bars, from the arrays of rule 11.

At a bar of block b every value, at earlier bars too, is read from one array: the indicator over
the WARMUP_BARS held bars before block b, and block b up to that bar. A longer timeframe has blocks
of its own, and its array is that of the block which holds block b's first day.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import (
    WARMUP_BARS,
    Candles,
    block_id,
    block_starts,
)
from apps.engine.indicators.longer import Longer
from apps.engine.indicators.series import Column, Series, known, over
from apps.engine.language.sides import Read
from apps.engine.signals.programs import Run, Spans, run

PART_BARS = 100_000
"""Signals are found over parts of at least so many bars at a time, where a range has them: what is
read at one stays near, and takes the memory of the one before.
"""

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The blocks of a range of bars, i8[blocks] each, in bars of the history.

    The values of a block's wanted bars [first, stop) come from the array of the bars [start, stop).
    `begins` is its first moment (epoch seconds).
    """

    start: Places
    first: Places
    stop: Places
    begins: Places

    def __len__(self) -> int:
        return len(self.start)

    @property
    def begin(self) -> int:
        """The first wanted bar of all."""
        return int(self.first[0])

    def part(self, part: slice | NDArray[np.bool_]) -> Blocks:
        return Blocks(self.start[part], self.first[part], self.stop[part], self.begins[part])


def blocks_of(candles: Candles, timeframe: str, first: int, last: int) -> Blocks:
    """The blocks of the bars [first, last), at least one."""
    low, high = block_id(candles.time[[first, last - 1]], timeframe).tolist()
    begins = block_starts(np.arange(low, high + 1), timeframe)
    edges = np.searchsorted(candles.time, begins)
    firsts, stops = np.maximum(edges, first), np.concatenate((edges[1:], [last]))
    blocks = Blocks(np.maximum(edges - WARMUP_BARS, 0), firsts, stops, begins)
    there = firsts < stops
    return blocks if there.all() else blocks.part(there)


CacheKey = tuple[Hashable, ...]
"""A computation, and the bars it is of: of a series how many lead up to each block, and the moment
the first block begins.
"""
Kept = tuple[NDArray[Any], ...]


def spans_of(blocks: Blocks, lead: int) -> Spans:
    """The blocks laid one after the other, `lead` bars before the wanted ones of each.

    Where an array has fewer, their places are left out.
    """
    spans = np.empty((len(blocks), 5), np.int64)
    start, kept, first, stop, place = spans.T
    start[:], first[:], stop[:] = blocks.start, blocks.first, blocks.stop
    np.maximum(first - lead, start, out=kept)
    np.subtract(np.cumsum(stop - first + lead), stop - kept, out=place)
    spans[:, :4] -= start[0]
    return spans


class Part(NamedTuple):
    """Some blocks, laid one after the other with `lead` bars before the wanted ones of each; the
    first moment of the first.
    """

    blocks: Blocks
    lead: int
    spans: Spans
    begins: int


Parts = dict[tuple[str, int, int, int], list[Part]]
"""What `parts_of` found of certain times, by its other arguments."""


def parts_of(candles: Candles, timeframe: str, first: int, last: int, lead: int) -> list[Part]:
    """The bars [first, last) in parts of whole blocks with PART_BARS wanted bars or more each."""
    if first >= last:
        return []
    blocks = blocks_of(candles, timeframe, first, last)
    return [
        Part(part, lead, spans_of(part, lead), int(part.begins[0])) for part in _divided(blocks)
    ]


def _divided(blocks: Blocks) -> list[Blocks]:
    ends = np.cumsum(blocks.stop - blocks.first)
    count = max(int(ends[-1]) // PART_BARS, 1)
    edges = np.searchsorted(ends, ends[-1] // count * np.arange(1, count)).tolist()
    return [blocks.part(slice(*part)) for part in pairwise(sorted({0, *edges, len(blocks)}))]


def size_of(spans: Spans) -> int:
    """How long a column is."""
    _, kept, _, stop, place = spans[-1].tolist()
    return int(place + stop - kept)


Lay = Callable[[Column, int, Column], None]


def lay(laid: Column, place: int, part: Column) -> None:
    """Write the part into the column from a place on, NaN where it is infinite."""
    laid[place : place + len(part)] = known(part)


def columns_of(
    series: Series, candles: Candles, spans: Spans, lay: Lay = lay
) -> tuple[Column, ...]:
    """The columns of a series, each block's from its own array: NaN where not known.

    Each part is laid before the next is computed: it takes the memory of the one before.
    """
    arrays = [slice(start, stop) for start, stop in spans[:, [0, 3]].tolist()]
    laid: list[Column] = []
    for span, columns in zip(spans.tolist(), over(series, candles, arrays), strict=True):
        laid = laid or [blank(spans) for _ in columns]
        start, kept, _, _, place = span
        for whole, part in zip(laid, columns, strict=True):
            lay(whole, place, part[kept - start :])
    return tuple(laid)


def blank(spans: Spans) -> Column:
    """A column to be laid, NaN in the places of no bar."""
    column = np.empty(size_of(spans))
    end = 0
    for _, kept, _, stop, place in spans.tolist():
        column[end:place] = np.nan
        end = place + stop - kept
    return column


class Passes(NamedTuple):
    """Passes over all bars, which `compiled` has as one loop each."""

    columns: Callable[[Series, Candles, Spans], tuple[Column, ...]]
    run: Run


IN_NUMPY = Passes(columns_of, run)


class ColumnCache:
    """Columns that many strategies read off the same bars, at most so many bytes of them. `passes`
    are made over them. `parts` of these bars are kept, too, if there is where.

    What was read longest ago makes way. Any number of threads may share one.
    """

    def __init__(
        self, most_bytes: int, passes: Passes = IN_NUMPY, parts: Parts | None = None
    ) -> None:
        self.passes = passes
        self._most, self._held = most_bytes, 0
        self._columns: OrderedDict[CacheKey, Kept] = OrderedDict()
        self._parts = parts
        self._lock = Lock()

    def parts(
        self, candles: Candles, timeframe: str, first: int, last: int, lead: int
    ) -> list[Part]:
        """As `parts_of`."""
        if self._parts is None:
            return parts_of(candles, timeframe, first, last, lead)
        key = timeframe, first, last, lead
        if key not in self._parts:
            self._parts[key] = parts_of(candles, timeframe, first, last, lead)
        return self._parts[key]

    def get(self, key: CacheKey) -> Kept | None:
        with self._lock:
            columns = self._columns.get(key)
            if columns is not None:
                self._columns.move_to_end(key)
            return columns

    def keep(self, key: CacheKey, columns: Kept) -> Kept:
        """Returns the same columns, kept or not."""
        size = _bytes_of(columns)
        if size > self._most:
            return columns
        with self._lock:
            if key not in self._columns:
                self._columns[key] = columns
                self._held += size
            while self._held > self._most:
                self._held -= _bytes_of(self._columns.popitem(last=False)[1])
        return columns


def _bytes_of(columns: Kept) -> int:
    return sum(column.nbytes for column in columns)


NO_CACHE = ColumnCache(0)


MOST_KEPT = 40
"""Series whose columns are kept while signals are found: what twenty conditions name."""


class Values:
    """Columns over the wanted bars, block after block, each series computed once a block.

    Before the bars of a block stand `lead` earlier ones with their values of the same array, NaN
    where it has none: as many as any check looks back, so that a check at a wanted bar never sees
    the block before.
    """

    def __init__(
        self,
        candles: Candles,
        part: Part,
        longer: Mapping[str, Longer],
        cache: ColumnCache,
    ) -> None:
        self._blocks, self._lead, self._spans, self._begins = part
        self._candles, self._longer, self._cache = candles, longer, cache
        self._columns: dict[Series, tuple[Column, ...]] = {}

    def __len__(self) -> int:
        return size_of(self._spans)

    def read(self, read: Read) -> Column:
        if read.timeframe:
            return self._read_longer(read, self._longer[read.timeframe])
        columns = self._columns.get(read.series)
        if columns is None:
            key = (read.series, self._lead, self._begins)
            columns = self._cache.get(key) or self._cache.keep(key, self._computed(read.series))
            if len(self._columns) == MOST_KEPT:
                self._columns.pop(next(iter(self._columns)))
            self._columns[read.series] = columns
        return back(columns[read.column], read.offset)

    def _computed(self, series: Series) -> tuple[Column, ...]:
        begin, stop = int(self._blocks.start[0]), int(self._blocks.stop[-1])
        return self._cache.passes.columns(series, self._candles.slice(begin, stop), self._spans)

    def _read_longer(self, read: Read, longer: Longer) -> Column:
        """At each bar the value of the last closed longer candle, or of `offset` before that."""
        laid = np.full(len(self), np.nan)
        seen = longer.seen[int(self._blocks.start[0]) :]
        arrays = _longer_arrays(longer, self._blocks)
        stops = dict(arrays)  # the last of those that begin alike
        spans = [slice(start, stop) for start, stop in stops.items() if start < stop]
        parts = over(read.series, longer.candles, spans)
        whole = {
            span.start: known(columns[read.column])
            for span, columns in zip(spans, parts, strict=True)
        }
        for (start, _), (_, kept, _, stop, begin) in zip(arrays, self._spans.tolist(), strict=True):
            place = seen[kept:stop] - read.offset - start
            there = place >= 0
            if there.any():
                laid[begin : begin + len(place)][there] = whole[start][place[there]]
        return laid


def _longer_arrays(longer: Longer, blocks: Blocks) -> list[tuple[int, int]]:
    """The longer candles [start, stop) that the values of each block are computed over."""
    starts = block_starts(block_id(blocks.begins, longer.timeframe), longer.timeframe)
    begin = np.maximum(np.searchsorted(longer.candles.time, starts) - WARMUP_BARS, 0)
    stop = np.maximum(longer.seen[blocks.stop - 1] + 1, begin)
    return list(zip(begin.tolist(), stop.tolist(), strict=True))


def back(column: Column, steps: int) -> Column:
    """The value so many bars ago; unknown before the array starts."""
    if not steps:
        return column
    moved = np.full(len(column), np.nan)
    moved[steps:] = column[: max(len(column) - steps, 0)]
    return moved
