"""What checks read: columns over the wanted bars, from the arrays of rule 11.

At a bar of block b every value, at earlier bars too, is read from one array: the indicator over
the WARMUP_BARS held bars before block b, and block b up to that bar. A longer timeframe has blocks
of its own, and its array is that of the block which holds block b's first day.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import (
    DAY,
    IST,
    WARMUP_BARS,
    Candles,
    block_id,
    block_starts,
    start_of_block,
)
from apps.engine.indicators.longer import Longer
from apps.engine.indicators.series import Column, Series, known, over
from apps.engine.language.sides import Read


class Block(NamedTuple):
    """One block of the wanted range, in bars of the history: the wanted ones of it are `rows`.

    Their values come from the array of the bars `array`, which ends with them. `begins` is the
    block's first moment (epoch seconds).
    """

    array: slice
    rows: slice
    begins: int


def blocks_of(candles: Candles, timeframe: str, first: int, last: int) -> list[Block]:
    """The blocks of the bars [first, last)."""
    if first >= last:
        return []
    ends = candles.time[np.array([first, last - 1])]
    low, high = (int(block) for block in block_id(ends, timeframe))
    starts = block_starts(np.arange(low, high + 2), timeframe)
    edges = np.searchsorted(candles.time, starts).tolist()
    blocks = []
    for begins, (begin, end) in zip(starts.tolist(), pairwise(edges), strict=False):
        start, stop = max(begin, first), min(end, last)
        if start < stop:
            array = slice(max(0, begin - WARMUP_BARS), stop)
            blocks.append(Block(array, slice(start, stop), begins))
    return blocks


CacheKey = tuple[Series, int]
"""A computation, and how many bars lead up to each block."""

Truth = NDArray[np.bool_]
Bits = NDArray[np.uint8]
Spans = NDArray[np.int64]
"""The wanted bars of each block: where they begin in the history, where here, how many they are."""


def crossed(a: Column, b: Column | float, up: bool) -> Truth:
    """Where one column crosses another, or a number: upwards, or down."""
    found = np.zeros(len(a), dtype=np.bool_)
    before, beside = a[:-1], b[:-1] if isinstance(b, np.ndarray) else b
    (np.less_equal if up else np.greater_equal)(before, beside, out=found[1:])
    found &= a > b if up else a < b
    return found


def lay(laid: Column, place: int, part: Column) -> None:
    """Write the part into the column from a place on, NaN where it is infinite."""
    laid[place : place + len(part)] = known(part)


def mark(bits: Bits, bit: int, truth: Truth, spans: Spans) -> None:
    """Set the bit at the bars of each span where the truth there holds."""
    for begin, kept, length in spans.tolist():
        bits[begin : begin + length] |= truth[kept : kept + length] * np.uint8(bit)


class Passes(NamedTuple):
    """Passes over all bars, which `compiled` has as one loop each."""

    crossed: Callable[[Column, Column | float, bool], Truth]
    lay: Callable[[Column, int, Column], None]
    mark: Callable[[Bits, int, Truth, Spans], None]


IN_NUMPY = Passes(crossed, lay, mark)


class ColumnCache:
    """Columns that many strategies read off the same bars, at most so many bytes of them, and the
    blocks of these bars. `passes` are made over them.

    What was read longest ago makes way. Any number of threads may share one.
    """

    def __init__(self, most_bytes: int, passes: Passes = IN_NUMPY) -> None:
        self.passes = passes
        self._most, self._held = most_bytes, 0
        self._columns: OrderedDict[CacheKey, tuple[Column, ...]] = OrderedDict()
        self._blocks: dict[tuple[str, int, int], list[Block]] = {}
        self._lock = Lock()

    def blocks(self, candles: Candles, timeframe: str, first: int, last: int) -> list[Block]:
        """`blocks_of`, kept where columns are."""
        key = timeframe, first, last
        found = self._blocks.get(key) or blocks_of(candles, timeframe, first, last)
        if self._most:
            self._blocks[key] = found
        return found

    def get(self, key: CacheKey) -> tuple[Column, ...] | None:
        with self._lock:
            columns = self._columns.get(key)
            if columns is not None:
                self._columns.move_to_end(key)
            return columns

    def keep(self, key: CacheKey, columns: tuple[Column, ...]) -> tuple[Column, ...]:
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


def _bytes_of(columns: tuple[Column, ...]) -> int:
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
        blocks: Sequence[Block],
        lead: int,
        longer: Mapping[str, Longer],
        cache: ColumnCache,
    ) -> None:
        self._candles, self._blocks, self._lead = candles, blocks, lead
        self._longer, self._cache = longer, cache
        self.passes = cache.passes
        lengths = [lead + block.rows.stop - block.rows.start for block in blocks]
        self._ends = list(accumulate(lengths))
        self._columns: dict[Series, tuple[Column, ...]] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def spans(self) -> Spans:
        """Of the blocks, i8[blocks, 3]."""
        lengths = [block.rows.stop - block.rows.start for block in self._blocks]
        begins = [block.rows.start for block in self._blocks]
        kept = [end - length for end, length in zip(self._ends, lengths, strict=True)]
        return np.array([begins, kept, lengths], np.int64).T.copy()

    def read(self, read: Read) -> Column:
        if read.timeframe:
            return self._read_longer(read, self._longer[read.timeframe])
        columns = self._columns.get(read.series)
        if columns is None:
            key = (read.series, self._lead)
            columns = self._cache.get(key) or self._cache.keep(key, self._computed(read.series))
            if len(self._columns) == MOST_KEPT:
                self._columns.pop(next(iter(self._columns)))
            self._columns[read.series] = columns
        return back(columns[read.column], read.offset)

    def _computed(self, series: Series) -> tuple[Column, ...]:
        """Each part is laid before the next is computed: it takes the memory of the one before."""
        parts = over(series, self._candles, [block.array for block in self._blocks])
        laid: list[Column] = []
        for place, columns in enumerate(parts):
            laid = laid or [np.empty(len(self)) for _ in columns]
            for whole, part in zip(laid, columns, strict=True):
                self._lay(whole, part, place)
        return tuple(laid)

    def seconds_of_day(self) -> Column:
        """Seconds since midnight in Asia/Kolkata at which each bar starts."""
        second = ((self._candles.time + IST) % DAY).astype(np.float64)
        laid = np.empty(len(self))
        for place, block in enumerate(self._blocks):
            self._lay(laid, second[block.array], place)
        return laid

    def _lay(self, laid: Column, part: Column, place: int) -> None:
        """The column of a block's array where its wanted bars and their leads are in `laid`."""
        array, rows, _ = self._blocks[place]
        begin, end = self._ends[place - 1] if place else 0, self._ends[place]
        seen = part[max(rows.start - array.start - self._lead, 0) :]
        laid[begin : end - len(seen)] = np.nan
        self.passes.lay(laid, end - len(seen), seen)

    def _read_longer(self, read: Read, longer: Longer) -> Column:
        """At each bar the value of the last closed longer candle, or of `offset` before that."""
        laid = np.full(len(self), np.nan)
        arrays = [_longer_array(longer, block) for block in self._blocks]
        stops = {array.start: array.stop for array in arrays}  # the last of those that begin alike
        spans = [slice(start, stop) for start, stop in stops.items() if start < stop]
        parts = over(read.series, longer.candles, spans)
        whole = {
            span.start: known(columns[read.column])
            for span, columns in zip(spans, parts, strict=True)
        }
        for array, block, end in zip(arrays, self._blocks, self._ends, strict=True):
            first = max(block.rows.start - self._lead, block.array.start)
            place = longer.seen[first : block.rows.stop] - read.offset - array.start
            there = place >= 0
            if there.any():
                laid[end - len(place) : end][there] = whole[array.start][place[there]]
        return laid


def _longer_array(longer: Longer, block: Block) -> slice:
    """The longer candles that the values of a block are computed over."""
    start = start_of_block(block.begins, longer.timeframe)
    begin = max(int(np.searchsorted(longer.candles.time, start)) - WARMUP_BARS, 0)
    return slice(begin, max(int(longer.seen[block.rows.stop - 1]) + 1, begin))


def back(column: Column, steps: int) -> Column:
    """The value so many bars ago; unknown before the array starts."""
    if not steps:
        return column
    moved = np.full(len(column), np.nan)
    moved[steps:] = column[: max(len(column) - steps, 0)]
    return moved
