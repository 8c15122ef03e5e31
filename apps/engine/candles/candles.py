"""Bars of one symbol as columns, and their calendar.

Times are epoch seconds UTC of a bar's START. A day is a date in Asia/Kolkata, which has not changed
its clock since 1945, so a fixed offset is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apps.engine.errors import EngineError

TIMEFRAMES = {
    "1m": 60,
    "5m": 300,
    "15m": 900,
    "30m": 1800,
    "1h": 3600,
    "4h": 14400,
    "1d": 86400,
    "1w": 604800,
}
"""The timeframes of stored candles and of algorithms, with their lengths in seconds."""
TIMEFRAME_SECONDS = {**TIMEFRAMES, "3m": 180, "10m": 600, "75m": 4500, "2h": 7200}
"""The length of every timeframe; the last four are those of operands alone."""
DAY = 86400
IST = 19800
"""Seconds that Asia/Kolkata is ahead of UTC."""

WARMUP_BARS = 2000
"""Bars held before a block that its indicators are computed over (rule 11)."""

_MONTHS_IN_BLOCK = {"1h": 12, "75m": 12, "2h": 12, "4h": 12, "1d": 120, "1w": 120}

Numbers = NDArray[np.float64]
Numeric = TypeVar("Numeric", np.int64, np.float64)


class InvalidCandles(EngineError):
    """Columns that are not a series of bars; the message names the first wrong bar."""


@dataclass(frozen=True, slots=True, eq=False)
class Candles:
    """Bars of one symbol in one timeframe, oldest first: read-only contiguous columns.

    `time` i8[n] strictly increasing; open, high, low, close f8[n] in rupees, above zero, with low
    <= open, close <= high; `volume` f8[n], zero if there is none (an index). `placement` is their
    place in a table of many symbols, if they are in one.
    """

    NUMBERS: ClassVar = ("open", "high", "low", "close", "volume")

    time: NDArray[np.int64]
    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]
    volume: NDArray[np.float64]
    placement: Placement | None = field(default=None, kw_only=True)

    @classmethod
    def build(
        cls,
        time: ArrayLike,
        *,
        open: ArrayLike,
        high: ArrayLike,
        low: ArrayLike,
        close: ArrayLike,
        volume: ArrayLike,
    ) -> Candles:
        """Return the columns as Candles. Raises InvalidCandles with the fault and its bar."""
        columns = (np.asarray(v, dtype=np.float64) for v in (open, high, low, close, volume))
        candles = cls.unchecked(np.asarray(time, dtype=np.int64), columns)
        _check(candles)
        return candles

    @classmethod
    def unchecked(cls, time: NDArray[np.int64], numbers: Iterable[NDArray[np.float64]]) -> Candles:
        """Return columns that are known to be a series of bars; `numbers` are in the order of
        NUMBERS.
        """
        return cls(frozen(time), *map(frozen, numbers))

    @property
    def days(self) -> NDArray[np.int32]:
        """The `ist_day` of each bar: one search a day instead of one division a bar."""
        time = self.time
        if len(time) < 2:
            return ist_day(time)
        first, last = ist_day(time[[0, -1]]).tolist()
        days = np.arange(first, last + 1, dtype=np.int32)
        edges = np.empty(len(days) + 1, np.int64)
        edges[0], edges[-1] = 0, len(time)
        edges[1:-1] = np.searchsorted(time, day_start(days[1:]))
        return np.repeat(days, edges[1:] - edges[:-1])

    def __len__(self) -> int:
        return len(self.time)

    def slice(self, start: int, stop: int) -> Candles:
        """Return bars [start, stop) by index, without copying."""
        if start == 0 and stop == len(self):
            return self
        part, placement = slice(start, stop), self.placement
        return Candles(
            self.time[part],
            *(getattr(self, name)[part] for name in self.NUMBERS),
            placement=placement and placement._replace(first=placement.first + start),
        )

    def select(self, mask: NDArray[np.bool_]) -> Candles:
        """Return the bars with a true `mask`: copied, unless all are."""
        if mask.all():
            return self
        return Candles.unchecked(
            self.time[mask], (getattr(self, name)[mask] for name in self.NUMBERS)
        )

    def between(self, start: int, end: int) -> Candles:
        """Return bars with start <= time < end (epoch seconds), without copying."""
        first, last = np.searchsorted(self.time, (start, end))
        return self.slice(int(first), int(last))


@dataclass(slots=True, eq=False)
class CandleTable:
    """The candles of many symbols, one after the other: a simulation of all finds each column in
    one array, without copies. `columns` f8[5, bars] are in the order of Candles.NUMBERS, with
    `size` bars in use.
    """

    columns: Numbers
    size: int = 0
    _time: NDArray[np.int64] | None = None

    @classmethod
    def build(cls, max_bars: int) -> CandleTable:
        """Return an empty table; unused parts take no memory."""
        return cls(np.empty((len(Candles.NUMBERS), max_bars)))

    def add(self, candles: Candles) -> Candles:
        """Copy the candles to the end of the table and return them in it.

        Candles with the same times as the previous ones share one column of times.
        """
        begin, self.size = self.size, self.size + len(candles)
        columns = self.columns[:, begin : self.size]
        np.stack([getattr(candles, name) for name in Candles.NUMBERS], out=columns)
        if self._time is None or not np.array_equal(self._time, candles.time):
            self._time = frozen(candles.time.copy())
        return Candles(self._time, *map(frozen, columns), placement=Placement(self, begin))


class Placement(NamedTuple):
    """The place of candles in a table: the index of their first bar."""

    table: CandleTable
    first: int


def shared_columns(candles: Sequence[Candles]) -> tuple[Numbers, list[int]] | None:
    """Return the columns of the table that holds all of the candles, f8[5, bars] in the order of
    Candles.NUMBERS, and the index of each first bar; None for candles elsewhere, or that overlap.
    """
    placements = [symbol.placement for symbol in candles if symbol.placement is not None]
    if len(placements) < len(candles) or len({id(table) for table, _ in placements}) > 1:
        return None
    begins = [first for _, first in placements]
    ranges = sorted((begin, begin + len(own)) for begin, own in zip(begins, candles, strict=True))
    if any(end > begin for (_, end), (begin, _) in pairwise(ranges)):
        return None
    (first, _), (_, last) = ranges[0], ranges[-1]
    return placements[0].table.columns[:, first:last], [begin - first for begin in begins]


def frozen(values: NDArray[Numeric]) -> NDArray[Numeric]:
    """Return the same values as a contiguous, read-only column, copied only if necessary."""
    column = np.ascontiguousarray(values).view()
    column.flags.writeable = False
    return column


def _check(candles: Candles) -> None:
    shape = (candles.time.size,)
    prices = (candles.open, candles.high, candles.low, candles.close)
    if any(column.shape != shape for column in (candles.time, *prices, candles.volume)):
        raise InvalidCandles("The columns of candles must be flat and of one length.")
    later = np.diff(candles.time, prepend=np.int64(-(2**62))) > 0
    _refuse(candles, ~later, "does not start after the bar before it")
    for column in prices:
        _refuse(candles, ~(np.isfinite(column) & (column > 0)), "has a price that is not above 0")
    inside = (candles.low <= np.minimum(candles.open, candles.close)) & (
        candles.high >= np.maximum(candles.open, candles.close)
    )
    _refuse(candles, ~inside, "has an open or close outside its low and high")
    good_volume = np.isfinite(candles.volume) & (candles.volume >= 0)
    _refuse(candles, ~good_volume, "has a volume below 0 or none")


def _refuse(candles: Candles, wrong: NDArray[np.bool_], problem: str) -> None:
    if wrong.any():
        index = int(np.argmax(wrong))
        raise InvalidCandles(f"Bar {index} (time {int(candles.time[index])}) {problem}.")


def ist_day(time: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the days from 1970-01-01 to the date in Asia/Kolkata of each epoch second."""
    return ((time + IST) // DAY).astype(np.int32)


def day_start(day: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return epoch seconds of 00:00 in Asia/Kolkata of each day number."""
    return day.astype(np.int64) * DAY - IST


def block_id(time: NDArray[np.int64], timeframe: str) -> NDArray[np.int64]:
    """Return the block of rule 11 of each bar, counted from 1970.

    A block is a calendar month in Asia/Kolkata up to 30m, a calendar year from 1h to 4h, and a
    decade (1970-79 is 0) for 1d and 1w.
    """
    return calendar_month(time) // _MONTHS_IN_BLOCK.get(timeframe, 1)


def calendar_month(time: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the calendar month in Asia/Kolkata of each bar, counted from 1970."""
    return (time + IST).astype("M8[s]").astype("M8[M]").astype(np.int64)


def block_start(block: int, timeframe: str) -> int:
    """Return the epoch seconds of a block's beginning: 00:00 in Asia/Kolkata of its first day."""
    return int(block_starts(np.array([block]), timeframe)[0])


@lru_cache(maxsize=4096)
def start_of_block(time: int, timeframe: str) -> int:
    """Return the epoch seconds of the beginning of a moment's block."""
    return block_start(int(block_id(np.array([time]), timeframe)[0]), timeframe)


def block_starts(blocks: NDArray[np.int64], timeframe: str) -> NDArray[np.int64]:
    """Return `block_start` of each block."""
    months = (blocks * _MONTHS_IN_BLOCK.get(timeframe, 1)).astype("M8[M]")
    return months.astype("M8[s]").astype(np.int64) - IST
