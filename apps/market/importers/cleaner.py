"""From rows as read to Candles: what is dropped, repaired, left out and refused, all of it counted.

Dropped: rows repeated exactly, and periods without a trade (open, high, low and volume 0, as files
of derivatives write them). Repaired: an open or close outside the bar's own range by at most
`REPAIRABLE`, as some vendors' files have; the high or low is moved to the price that the row itself
states. Faults: a number that is none, a price not above zero, a volume below zero, a larger excess,
two rows of one time that differ. A fault refuses a file of one instrument, naming the row; in a
file of many the row is left out and counted, or with `strict` refused too. Sorted: rows in any
order.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, TIMEFRAMES, Candles, day_start, frozen, ist_day
from apps.engine.sessions import Sessions, in_session
from apps.market.importers.bar_columns import BarColumns, FileInstruments, Flags
from apps.market.importers.layout import PRICES
from apps.market.importers.tables import FileTable

REPAIRABLE: Final = 0.005
"""Largest excess of an open or close over its bar's range that is repaired, as a share of it."""

Calendars = Callable[[Collection[str]], Mapping[str, Sessions]]
"""The hours of each of some symbols."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of a file's rows: `rows` = `bars` + `untraded` + `repeated` + all `left_out`.

    `left_out` counts rows by reason, and `examples` are places of the first of them. `moved` day
    and week bars were stamped at another time of their day. `shifted` is by how many seconds stamps
    at the end of a bar were moved to its start, 0 where they mark the start. `volume` is what it
    counts; `adjusted` prices are as their source adjusted them.
    """

    format: str
    rows: int
    bars: int = 0
    untraded: int = 0
    repeated: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    repaired: int = 0
    largest_repair: float = 0.0
    out_of_order: int = 0
    moved: int = 0
    shifted: int = 0
    volume: str = "units"
    adjusted: bool = False


@dataclass(frozen=True, slots=True)
class InstrumentBars:
    """The bars of one instrument of a file. `called` is its name there, empty without one."""

    symbol: str
    called: str
    candles: Candles


class _RowCleaner:
    """Takes rows out of a table for one reason after another, and knows what was taken."""

    def __init__(
        self, table: FileTable, rows: BarColumns, instruments: FileInstruments, *, strict: bool
    ) -> None:
        self.table = table
        self.rows = rows
        self.named = instruments.named
        self.tolerant = len(self.named) > 1 and not strict
        self.left_out: Counter[str] = Counter()
        self.examples: list[str] = []

    def drop(self, which: Flags) -> int:
        """Take rows out that are no bars; how many."""
        self.rows = self.rows.take(~which)
        return int(np.count_nonzero(which))

    def fault(self, which: Flags, reason: str, tell: Callable[[int], str]) -> None:
        """Take rows out that cannot be bars, or refuse the file for the first of them.

        `tell` says what is wrong with one of them, by its index.
        """
        if not which.any():
            return
        first, count = int(np.argmax(which)), int(np.count_nonzero(which))
        told = f"{self.place(first)}: {tell(first)}"
        if not self.tolerant:
            self.table.refuse(told + (f" ({count} such rows)" if count > 1 else ""))
        self.left_out[reason] += self.drop(which)
        self.examples.append(told)

    def without_symbol(self) -> None:
        """Take the rows out whose instrument has no symbol here."""
        unnamed = np.array([each.symbol is None for each in self.named])
        counts = np.bincount(self.rows.of, minlength=len(self.named)).tolist()
        for each, count in zip(self.named, counts, strict=True):
            if each.symbol is None and count:
                self.left_out[each.why] += count
        self.drop(unnamed[self.rows.of])

    def place(self, index: int) -> str:
        """Where one of the rows stands in the file, with its instrument where there are several."""
        place = self.table.place(int(self.rows.row[index]))
        called = self.named[int(self.rows.of[index])].called
        return f"{place} ({called})" if len(self.named) > 1 else place


def clean(
    table: FileTable,
    rows: BarColumns,
    instruments: FileInstruments,
    timeframe: str,
    report: ImportReport,
    *,
    strict: bool,
    calendars: Calendars,
) -> tuple[tuple[InstrumentBars, ...], ImportReport]:
    """The bars by instrument, and the report filled in. Raises BadCandleFile.

    With `strict` a bar outside the session's hours is refused as well; `calendars` as in `Given`.
    """
    out_of_order = int(np.count_nonzero(np.diff(rows.time) < 0))
    sieve = _RowCleaner(table, rows, instruments, strict=strict)
    untraded = sieve.drop(_untraded(rows))
    if not len(sieve.rows):
        table.refuse("holds no bar with a trade")
    sieve.without_symbol()
    _check_numbers(sieve)
    stamped = sieve.rows.time
    sieve.rows = _stamped(sieve.rows, timeframe)
    moved = int(np.count_nonzero(sieve.rows.time != stamped))
    repaired, largest = _repair(sieve)
    of_symbol, symbols = _by_symbol(instruments)
    sieve.rows = _sorted(sieve.rows, of_symbol)
    repeated = _drop_repeats(sieve, of_symbol)
    if not len(sieve.rows):
        table.refuse(f"no row is a bar: {', '.join(sieve.left_out)}")
    parts = _parts(sieve, of_symbol, symbols)
    if strict:
        _refuse_off_session(sieve, parts, timeframe, calendars)
    return parts, replace(
        report,
        bars=len(sieve.rows),
        untraded=untraded,
        repeated=repeated,
        left_out=dict(sieve.left_out),
        examples=tuple(sieve.examples),
        repaired=repaired,
        largest_repair=largest,
        out_of_order=out_of_order,
        moved=moved,
    )


def _untraded(rows: BarColumns) -> Flags:
    nothing = (rows.open == 0) & (rows.high == 0) & (rows.low == 0) & (rows.volume == 0)
    return np.asarray(nothing)


def _check_numbers(sieve: _RowCleaner) -> None:
    for name in PRICES:
        column = getattr(sieve.rows, name)
        wrong = ~(np.isfinite(column) & (column > 0))
        _refuse_number(sieve, wrong, name, "is no price above 0")
    volume = sieve.rows.volume
    wrong = ~(np.isfinite(volume) & (volume >= 0))
    _refuse_number(sieve, wrong, "volume", "is no volume of 0 or more")


def _refuse_number(sieve: _RowCleaner, wrong: Flags, name: str, problem: str) -> None:
    def tell(index: int) -> str:
        return f"{name} {getattr(sieve.rows, name)[index]} {problem}"

    sieve.fault(wrong, f"{name} {problem}", tell)


def _stamped(rows: BarColumns, timeframe: str) -> BarColumns:
    """Bars of a day or week moved to 00:00 in Asia/Kolkata of their date or their Monday."""
    if TIMEFRAMES[timeframe] < DAY:
        return rows
    day = ist_day(rows.time)
    if timeframe == "1w":
        day = day - (day + 3) % 7  # 1970-01-01 was a Thursday
    return rows.at(day_start(day))


def _excess(rows: BarColumns) -> NDArray[np.float64]:
    """By how much open or close leave the range from low to high, as a share of the close."""
    above = np.maximum(rows.open, rows.close) - rows.high
    below = rows.low - np.minimum(rows.open, rows.close)
    return np.maximum(np.maximum(above, below), 0.0) / rows.close


def _repair(sieve: _RowCleaner) -> tuple[int, float]:
    """How many bars were repaired, and by how much of the price at most."""

    def tell(index: int) -> str:
        bar = ", ".join(f"{name} {getattr(sieve.rows, name)[index]}" for name in PRICES)
        return f"the bar contradicts itself by more than {REPAIRABLE:.1%}: {bar}"

    sieve.fault(_excess(sieve.rows) > REPAIRABLE, "bars that contradict themselves", tell)
    rows = sieve.rows
    excess = _excess(rows)
    high = np.maximum(rows.high, np.maximum(rows.open, rows.close))
    low = np.minimum(rows.low, np.minimum(rows.open, rows.close))
    sieve.rows = replace(rows, high=high, low=low)
    return int(np.count_nonzero(excess)), float(excess.max(initial=0.0))


def _by_symbol(instruments: FileInstruments) -> tuple[NDArray[np.int64], list[str]]:
    """Of each instrument the number of its symbol, -1 without one; and the symbols."""
    symbols = list(dict.fromkeys(each.symbol for each in instruments.named if each.symbol))
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    found = [numbers[each.symbol] if each.symbol else -1 for each in instruments.named]
    return np.array(found, dtype=np.int64), symbols


def _sorted(rows: BarColumns, of_symbol: NDArray[np.int64]) -> BarColumns:
    """In order of symbol, then of time."""
    later = rows.time[1:] >= rows.time[:-1]
    if len(of_symbol) == 1:
        return rows if later.all() else rows.take(np.argsort(rows.time, kind="stable"))
    return rows.take(np.lexsort((rows.time, of_symbol[rows.of])))


def _drop_repeats(sieve: _RowCleaner, of_symbol: NDArray[np.int64]) -> int:
    """Drop exact repeats, how many; two rows of one time that differ are a fault."""
    rows = sieve.rows
    again = np.diff(rows.time, prepend=rows.time[:1] - 1) == 0
    if len(of_symbol) > 1:
        again &= np.diff(of_symbol[rows.of], prepend=-1) == 0
    if not again.any():
        return 0
    differs = np.zeros(len(rows), dtype=np.bool_)
    for name in (*PRICES, "volume"):
        differs |= np.diff(getattr(rows, name), prepend=np.nan) != 0

    def tell(index: int) -> str:
        return f"is of one time with {sieve.place(index - 1)} and differs from it"

    repeats = int(np.count_nonzero(again & ~differs))
    sieve.fault(again & differs, "rows of one time that differ", tell)
    sieve.drop((again & ~differs)[~(again & differs)])
    return repeats


def _parts(
    sieve: _RowCleaner, of_symbol: NDArray[np.int64], symbols: Sequence[str]
) -> tuple[InstrumentBars, ...]:
    """The rows, sorted by symbol, as one series each."""
    rows = sieve.rows
    columns = (rows.open, rows.high, rows.low, rows.close, rows.volume)
    # Not by `build`: every row has been checked above, and a bhavcopy has 20,000 series of one bar.
    together = Candles(frozen(rows.time), *map(frozen, columns))
    numbers = of_symbol[rows.of]
    edges = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(rows)]
    return tuple(
        InstrumentBars(
            symbols[int(numbers[first])],
            sieve.named[int(rows.of[first])].called,
            together.slice(first, stop),
        )
        for first, stop in pairwise(edges)
    )


def _refuse_off_session(
    sieve: _RowCleaner, parts: Sequence[InstrumentBars], timeframe: str, calendars: Calendars
) -> None:
    first, sessions = 0, calendars([part.symbol for part in parts])
    for part in parts:
        inside = in_session(part.candles.time, timeframe, sessions[part.symbol])
        if not inside.all():
            place = sieve.place(first + int(np.argmin(inside)))
            sieve.table.refuse(f"{place}: the bar starts outside the session's hours")
        first += len(part.candles)
