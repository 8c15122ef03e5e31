"""From conditions to signals: bits per bar, computed by blocks (rule 11).

At a bar of block b every value, at earlier bars too, is read from one array: the indicator over
the WARMUP_BARS held bars before block b, and block b up to that bar. So a signal depends neither
on where a range starts nor on what comes after it, to the last bit, and a live bar reads the same
numbers as a backtest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import reduce
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
    Number,
    block_id,
    block_starts,
)
from apps.engine.conditions import Side
from apps.engine.kernel import ENTER_LONG, ENTER_SHORT, EXIT_LONG, EXIT_SHORT
from apps.engine.series import Column, Series, known, over, series
from apps.engine.sides import (
    Check,
    Comparison,
    Hours,
    Joined,
    Movement,
    Pattern,
    Read,
    entry_check,
)
from apps.engine.strategy import Strategy

Truth = NDArray[np.bool_]
CacheKey = tuple[Series, int]
"""A computation, and how many bars lead up to each block."""


class ColumnCache:
    """Columns that many strategies read off the same bars, at most so many bytes of them.

    What was read longest ago makes way. Any number of threads may share one.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most, self._held = most_bytes, 0
        self._columns: OrderedDict[CacheKey, tuple[Column, ...]] = OrderedDict()
        self._lock = Lock()

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


def signals_of(
    strategy: Strategy,
    candles: Candles,
    timeframe: str,
    first: int,
    last: int,
    *,
    columns: ColumnCache = NO_CACHE,
) -> NDArray[np.uint8]:
    """Signal bits u1[n] at the close of each bar; 0 outside the bars [first, last).

    `candles` holds the symbol's history in `timeframe`: all of it, or at least WARMUP_BARS bars
    before the block of bar `first`; `columns` keeps what was computed over these very bars before.
    Both entry bits are set where both sides are true; what that means is the kernel's to say. The
    exit bits are those of exitOnOppositeSignal for an algorithm that trades one side.
    """
    entry = strategy.entryConditions
    bits = np.zeros(len(candles), dtype=np.uint8)
    wanted = [(bit, entry_check(side, entry)) for bit, side in _bits_and_sides(strategy)]
    lead = max(_looks_back(check) for _, check in wanted)
    blocks = _blocks(candles, timeframe, first, last)
    values = _Values(candles, blocks, lead + entry.confirmationCandles, columns)
    heard = np.zeros(len(values), dtype=np.uint8)
    candles_needed = max(entry.confirmationCandles, 1)
    for bit, check in wanted if blocks else ():
        heard |= _confirmed(check, values, candles_needed).view(np.uint8) * np.uint8(bit)
    for rows, kept in values.kept():
        bits[rows] = heard[kept]
    return bits


def atr_columns(
    strategy: Strategy,
    candles: Candles,
    timeframe: str,
    first: int,
    last: int,
    *,
    columns: ColumnCache = NO_CACHE,
) -> Column:
    """The average true ranges that size, stop, target and trail ask for, f8[n, 4] in that order.

    NaN where none is asked for, where it is not known yet and outside [first, last); f8[0, 4]
    when no rule asks. `candles` and `columns` as for `signals_of`.
    """
    periods = strategy.atr_periods
    if not any(periods):
        return np.empty((0, 4))
    ranges = np.full((len(candles), 4), np.nan)
    blocks = _blocks(candles, timeframe, first, last)
    values = _Values(candles, blocks, 0, columns)
    for place, period in enumerate(periods):
        if period and blocks:
            column = values.read(_atr(period))
            for rows, kept in values.kept():
                ranges[rows, place] = column[kept]
    return ranges


def _bits_and_sides(strategy: Strategy) -> list[tuple[int, Side]]:
    match strategy.entryConditions.positionType, strategy.exits_on_opposite_signal:
        case "both", _:
            return [(ENTER_LONG, "long"), (ENTER_SHORT, "short")]
        case "long", False:
            return [(ENTER_LONG, "long")]
        case "long", True:
            return [(ENTER_LONG, "long"), (EXIT_LONG, "short")]
        case "short", False:
            return [(ENTER_SHORT, "short")]
    return [(ENTER_SHORT, "short"), (EXIT_SHORT, "long")]


def _atr(period: int) -> Read:
    return Read(series("ATR", "value", "close", {"period": period}), 0, 0)


class _Block(NamedTuple):
    """One block of the wanted range, in bars of the history: the wanted ones of it are `rows`.

    Their values come from the array of the bars `array`, which ends with them.
    """

    array: slice
    rows: slice


def _blocks(candles: Candles, timeframe: str, first: int, last: int) -> list[_Block]:
    if first >= last:
        return []
    ends = candles.time[np.array([first, last - 1])]
    low, high = (int(block) for block in block_id(ends, timeframe))
    starts = block_starts(np.arange(low, high + 2), timeframe)
    edges = np.searchsorted(candles.time, starts).tolist()
    blocks = []
    for begin, end in pairwise(edges):
        start, stop = max(begin, first), min(end, last)
        if start < stop:
            array = slice(max(0, begin - WARMUP_BARS), stop)
            blocks.append(_Block(array, slice(start, stop)))
    return blocks


MOST_KEPT = 40
"""Series whose columns are kept while signals are found: what twenty conditions name."""


class _Values:
    """Columns over the wanted bars, block after block, each series computed once a block.

    Before the bars of a block stand `lead` earlier ones with their values of the same array, NaN
    where it has none: as many as any check looks back, so that a check at a wanted bar never sees
    the block before.
    """

    def __init__(
        self, candles: Candles, blocks: Sequence[_Block], lead: int, cache: ColumnCache
    ) -> None:
        self._candles, self._blocks, self._lead, self._cache = candles, blocks, lead, cache
        lengths = [lead + block.rows.stop - block.rows.start for block in blocks]
        self._ends = list(accumulate(lengths))
        self._columns: dict[Series, tuple[Column, ...]] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def kept(self) -> Iterator[tuple[slice, slice]]:
        """Where the wanted bars of each block are in the whole history, and here."""
        for (_, rows), end in zip(self._blocks, self._ends, strict=True):
            yield rows, slice(end - (rows.stop - rows.start), end)

    def read(self, read: Read) -> Column:
        columns = self._columns.get(read.series)
        if columns is None:
            key = (read.series, self._lead)
            columns = self._cache.get(key) or self._cache.keep(key, self._computed(read.series))
            if len(self._columns) == MOST_KEPT:
                self._columns.pop(next(iter(self._columns)))
            self._columns[read.series] = columns
        return _back(columns[read.column], read.offset)

    def _computed(self, series: Series) -> tuple[Column, ...]:
        parts = over(series, self._candles, [block.array for block in self._blocks])
        return tuple(known(self._lay(column)) for column in zip(*parts, strict=True))

    def seconds_of_day(self) -> Column:
        """Seconds since midnight in Asia/Kolkata at which each bar starts."""
        second = (self._candles.time + IST) % DAY
        return self._lay([second[block.array] for block in self._blocks])

    def _lay(self, parts: Sequence[NDArray[Number]]) -> Column:
        """A column over each block's array as one over the wanted bars and their leads."""
        laid, before = np.empty(len(self)), 0
        for part, (array, rows), end in zip(parts, self._blocks, self._ends, strict=True):
            seen = part[max(rows.start - array.start - self._lead, 0) :]
            begin = end - len(seen)
            laid[before:begin] = np.nan
            laid[begin:end] = seen
            before = end
        return laid


def _confirmed(check: Check, values: _Values, candles: int) -> Truth:
    """Whether the check holds at each bar, confirmed by so many candles.

    Levels and movements hold on each of them. A pattern ended at the first of them; a cross
    happened there, and its side has held since. Hours count at the last one. What is joined is
    confirmed each for itself.
    """
    match check:
        case Joined(_, ()):
            return np.zeros(len(values), dtype=np.bool_)
        case Joined(operator, checks):
            truths = (_confirmed(one, values, candles) for one in checks)
            return reduce(np.logical_and if operator == "AND" else np.logical_or, truths)
        case Hours(start, end):
            second = values.seconds_of_day()
            return (second >= start) & (second < end)
        case Pattern(read, sign):
            return _earlier(_seen(values.read(read), sign), candles - 1)
        case Movement(read, operator, steps):
            return _held(_steps(values.read(read), operator), steps + candles - 1)
        case Comparison(left, operator, right):
            a = values.read(left)
            b = values.read(right) if isinstance(right, Read) else right
            if operator in ("crosses_above", "crosses_below"):
                return _crossed(a, b, operator, candles)
            return _held(_level(a, operator, b), candles)


def _looks_back(check: Check) -> int:
    """How many bars before its own a check reads, when one candle confirms it."""
    match check:
        case Joined(_, checks):
            return max(map(_looks_back, checks), default=0)
        case Hours() | Pattern():
            return 0
        case Movement(read, _, steps):
            return read.offset + steps
        case Comparison(left, _, right):
            return 1 + max(left.offset, right.offset if isinstance(right, Read) else 0)


def _seen(pattern: Column, sign: int) -> Truth:
    return pattern * sign > 0 if sign else np.abs(pattern) > 0


def _level(a: Column, operator: str, b: Column | float) -> Truth:
    match operator:
        case "above":
            return a > b
        case "below":
            return a < b
        case "at_or_above":
            return a >= b
    return a <= b


def _steps(a: Column, operator: str) -> Truth:
    return a > _back(a, 1) if operator == "rising" else a < _back(a, 1)


def _crossed(a: Column, b: Column | float, operator: str, candles: int) -> Truth:
    side = a > b if operator == "crosses_above" else a < b
    not_yet = a <= b if operator == "crosses_above" else a >= b
    crossed = side & _earlier(not_yet, 1)
    return crossed if candles == 1 else _earlier(crossed, candles - 1) & _held(side, candles)


def _held(truth: Truth, candles: int) -> Truth:
    """True where it is true on each of the last so many candles."""
    return reduce(np.logical_and, (_earlier(truth, step) for step in range(1, candles)), truth)


def _earlier(truth: Truth, steps: int) -> Truth:
    """The truth so many bars ago; false before the array starts."""
    moved = np.zeros(len(truth), dtype=np.bool_)
    moved[steps:] = truth[: max(len(truth) - steps, 0)]
    return moved


def _back(column: Column, steps: int) -> Column:
    """The value so many bars ago; unknown before the array starts."""
    if not steps:
        return column
    moved = np.full(len(column), np.nan)
    moved[steps:] = column[: max(len(column) - steps, 0)]
    return moved
