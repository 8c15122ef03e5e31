"""From rows to Candles: rows are dropped, repaired, left out or refused, and all are counted.

Dropped: exact repeats, rows without any price, and periods without a trade (open, high, low and
volume 0, as files of derivatives write them).

Repaired: an open or close outside the bar's own range by at most `REPAIRABLE`, found in some
vendors' files; the high or low is moved to that price.

Faults: a value that is not a number, a price not above zero, a negative volume, a larger excess,
two different rows of one time. A fault rejects a file of one instrument, naming the row; in a file
of many the row is left out and counted, or with `strict` rejects the file too. Rows may come in any
order and are sorted.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, TIMEFRAMES, Candles, Sessions, day_start, in_session, ist_day
from apps.market.candles.price_kinds import PriceKind
from apps.market.importers.bar_columns import BarColumns, FileInstruments, Flags
from apps.market.importers.tables.column_names import PRICES, UNITS
from apps.market.importers.tables.file_table import FileTable

# Largest excess of an open or close over its bar's range that is repaired, as a share of it.
REPAIRABLE: Final = 0.005

# Returns the calendars of symbols.
Calendars = Callable[[Collection[str]], Mapping[str, Sessions]]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of reading a file's rows: `rows` = `bars` + `untraded` + `repeated` + all
    `left_out`.

    `left_out` counts rows by reason, and `examples` are places of the first of them. `moved` day
    and week bars were stamped at another time of their day. `shifted` is the number of seconds by
    which stamps at the end of a bar were moved to its start, 0 if they mark the start. `volume` is
    the unit of the volume, `without_volume` the number of bars that lack it in a file that has it.
    `not_read` are unused columns of the file. With `assumed_day_first` no date of the file tells
    whether the day or the month comes first. `prices` is the format's statement about them.
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
    volume: str = UNITS
    without_volume: int = 0
    not_read: tuple[str, ...] = ()
    assumed_day_first: bool = False
    prices: PriceKind | None = None


@dataclass(frozen=True, slots=True)
class InstrumentBars:
    """The bars of one instrument of a file.

    `name_in_file` is empty if the file has no name, and `prices` is None if their adjustment is
    unknown.
    """

    symbol: str
    name_in_file: str
    candles: Candles
    prices: PriceKind | None = None


class _RowCleaner:
    """Removes rows for one reason after another, and counts them."""

    def __init__(
        self, table: FileTable, rows: BarColumns, instruments: FileInstruments, *, strict: bool
    ) -> None:
        self.table = table
        self.rows = rows
        self.names = instruments.names
        self.tolerant = len(self.names) > 1 and not strict
        self.left_out: Counter[str] = Counter()
        self.examples: list[str] = []

    def drop(self, mask: Flags) -> int:
        """Remove rows that are not bars, and return their number."""
        self.rows = self.rows.select(~mask)
        return int(np.count_nonzero(mask))

    def fault(self, mask: Flags, reason: str, describe: Callable[[int], str]) -> None:
        """Remove rows that cannot be bars, or refuse the file for the first of them.

        `describe` gives the fault of a row, by its index.
        """
        if not mask.any():
            return
        first, count = int(np.argmax(mask)), int(np.count_nonzero(mask))
        example = f"{self.location(first)}: {describe(first)}"
        if not self.tolerant:
            self.table.refuse(example + (f" ({count} such rows)" if count > 1 else ""))
        self.left_out[reason] += self.drop(mask)
        self.examples.append(example)

    def drop_without_symbol(self) -> None:
        """Remove the rows of instruments without a symbol."""
        unnamed = np.array([name.symbol is None for name in self.names])
        counts = np.bincount(self.rows.instrument, minlength=len(self.names)).tolist()
        for name, count in zip(self.names, counts, strict=True):
            if name.symbol is None and count:
                self.left_out[name.reason] += count
        self.drop(unnamed[self.rows.instrument])

    def location(self, index: int) -> str:
        """Return the location of a row in the file, with its instrument if there are several."""
        location = self.table.location(int(self.rows.row[index]))
        name = self.names[int(self.rows.instrument[index])].name_in_file
        return f"{location} ({name})" if len(self.names) > 1 else location


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
    """Return the bars by instrument, and the completed report.

    Raises BadCandleFile. With `strict` a bar outside the session's hours rejects the file too;
    `calendars` is as in `ImportOptions`.
    """
    cleaner = _RowCleaner(table, rows, instruments, strict=strict)
    _drop_without_price(cleaner)
    untraded = cleaner.drop(_untraded(cleaner.rows))
    if not len(cleaner.rows):
        table.refuse("holds no bar with a trade")
    cleaner.drop_without_symbol()
    _check_numbers(cleaner)
    moved = _move_to_midnight(cleaner, timeframe)
    repaired, largest_repair = _repair(cleaner)
    symbol_numbers, symbols = _number_symbols(instruments)
    repeated = _sort_without_repeats(cleaner, symbol_numbers)
    if not len(cleaner.rows):
        table.refuse(f"no row is a bar: {', '.join(cleaner.left_out)}")
    bars = _split_by_symbol(cleaner, symbol_numbers, symbols)
    if strict:
        _refuse_off_session(cleaner, bars, timeframe, calendars)
    return bars, replace(
        report,
        bars=len(cleaner.rows),
        untraded=untraded,
        repeated=repeated,
        left_out=dict(cleaner.left_out),
        examples=tuple(cleaner.examples),
        repaired=repaired,
        largest_repair=largest_repair,
        out_of_order=int(np.count_nonzero(np.diff(rows.time) < 0)),
        moved=moved,
    )


def _drop_without_price(cleaner: _RowCleaner) -> None:
    """Leave out the rows without any price, which portals write for a day without trade, and rows
    of an index with a close alone.
    """
    lacks = [np.isnan(getattr(cleaner.rows, name)) for name in PRICES]
    none, close_alone = np.all(lacks, axis=0), np.all(lacks[:3], axis=0) & ~lacks[3]
    if none.any():
        cleaner.left_out["rows without a price"] += int(np.count_nonzero(none))
    if len(cleaner.names) > 1 and close_alone.any():
        cleaner.left_out["indices with a close alone"] += int(np.count_nonzero(close_alone))
        none |= close_alone
    cleaner.drop(none)


def _untraded(rows: BarColumns) -> Flags:
    empty = (rows.open == 0) & (rows.high == 0) & (rows.low == 0) & (rows.volume == 0)
    return np.asarray(empty)


def _check_numbers(cleaner: _RowCleaner) -> None:
    for name in PRICES:
        _refuse_missing(cleaner, name)
        column = getattr(cleaner.rows, name)
        wrong = ~(np.isfinite(column) & (column > 0))
        _refuse_number(cleaner, wrong, name, "is no price above 0")
    volume = cleaner.rows.volume
    wrong = ~(np.isfinite(volume) & (volume >= 0))
    _refuse_number(cleaner, wrong, "volume", "is no volume of 0 or more")


def _refuse_missing(cleaner: _RowCleaner, name: str) -> None:
    reason = f"{name} is missing"
    cleaner.fault(np.isnan(getattr(cleaner.rows, name)), reason, lambda _: reason)


def _refuse_number(cleaner: _RowCleaner, wrong: Flags, name: str, problem: str) -> None:
    def describe(index: int) -> str:
        return f"{name} {getattr(cleaner.rows, name)[index]} {problem}"

    cleaner.fault(wrong, f"{name} {problem}", describe)


def _move_to_midnight(cleaner: _RowCleaner, timeframe: str) -> int:
    """Move bars of a day or week to 00:00 in Asia/Kolkata of their date or their Monday, and return
    the number moved.
    """
    if TIMEFRAMES[timeframe] < DAY:
        return 0
    stamped = cleaner.rows.time
    day = ist_day(stamped)
    if timeframe == "1w":
        day = day - (day + 3) % 7  # 1970-01-01 was a Thursday
    cleaner.rows = replace(cleaner.rows, time=day_start(day))
    return int(np.count_nonzero(cleaner.rows.time != stamped))


def _excess(rows: BarColumns) -> NDArray[np.float64]:
    """Return the excess of open or close over the bar's range, as a share of the close."""
    above = np.maximum(rows.open, rows.close) - rows.high
    below = rows.low - np.minimum(rows.open, rows.close)
    return np.maximum(np.maximum(above, below), 0.0) / rows.close


def _repair(cleaner: _RowCleaner) -> tuple[int, float]:
    """Repair bars; return their number, and the largest repair as a share of the price."""

    def describe(index: int) -> str:
        bar = ", ".join(f"{name} {getattr(cleaner.rows, name)[index]}" for name in PRICES)
        return f"the bar contradicts itself by more than {REPAIRABLE:.1%}: {bar}"

    cleaner.fault(_excess(cleaner.rows) > REPAIRABLE, "bars that contradict themselves", describe)
    rows = cleaner.rows
    excess = _excess(rows)
    high = np.maximum(rows.high, np.maximum(rows.open, rows.close))
    low = np.minimum(rows.low, np.minimum(rows.open, rows.close))
    cleaner.rows = replace(rows, high=high, low=low)
    return int(np.count_nonzero(excess)), float(excess.max(initial=0.0))


def _number_symbols(instruments: FileInstruments) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of each instrument's symbol, -1 without one; and the symbols."""
    symbols = list(dict.fromkeys(name.symbol for name in instruments.names if name.symbol))
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    by_name = [numbers[name.symbol] if name.symbol else -1 for name in instruments.names]
    return np.array(by_name, dtype=np.int64), symbols


def _sort(rows: BarColumns, symbol_numbers: NDArray[np.int64]) -> BarColumns:
    """Sort by symbol, then by time."""
    if len(symbol_numbers) == 1:
        in_order = (rows.time[1:] >= rows.time[:-1]).all()
        return rows if in_order else rows.select(np.argsort(rows.time, kind="stable"))
    return rows.select(np.lexsort((rows.time, symbol_numbers[rows.instrument])))


def _sort_without_repeats(cleaner: _RowCleaner, symbol_numbers: NDArray[np.int64]) -> int:
    """Sort the rows, drop exact repeats and return their number; two different rows of one time are
    a fault.
    """
    rows = cleaner.rows = _sort(cleaner.rows, symbol_numbers)
    again = np.diff(rows.time, prepend=rows.time[:1] - 1) == 0
    if len(symbol_numbers) > 1:
        again &= np.diff(symbol_numbers[rows.instrument], prepend=-1) == 0
    if not again.any():
        return 0
    differs = np.zeros(len(rows), dtype=np.bool_)
    for name in (*PRICES, "volume"):
        differs |= np.diff(getattr(rows, name), prepend=np.nan) != 0

    def describe(index: int) -> str:
        return f"is of one time with {cleaner.location(index - 1)} and differs from it"

    repeats = int(np.count_nonzero(again & ~differs))
    cleaner.fault(again & differs, "rows of one time that differ", describe)
    cleaner.drop((again & ~differs)[~(again & differs)])
    return repeats


def _split_by_symbol(
    cleaner: _RowCleaner, symbol_numbers: NDArray[np.int64], symbols: Sequence[str]
) -> tuple[InstrumentBars, ...]:
    """Return the rows, sorted by symbol, as one series each."""
    rows = cleaner.rows
    columns = (rows.open, rows.high, rows.low, rows.close, rows.volume)
    # Not by `build`: every row has been checked above, and a bhavcopy has 20,000 series of one bar.
    together = Candles.unchecked(rows.time, columns)
    numbers = symbol_numbers[rows.instrument]
    edges = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(rows)]
    return tuple(
        InstrumentBars(
            symbols[int(numbers[first])],
            cleaner.names[int(rows.instrument[first])].name_in_file,
            together.slice(first, stop),
        )
        for first, stop in pairwise(edges)
    )


def _refuse_off_session(
    cleaner: _RowCleaner,
    instruments: Sequence[InstrumentBars],
    timeframe: str,
    calendars: Calendars,
) -> None:
    first, sessions = 0, calendars([instrument.symbol for instrument in instruments])
    for instrument in instruments:
        inside = in_session(instrument.candles.time, timeframe, sessions[instrument.symbol])
        if not inside.all():
            location = cleaner.location(first + int(np.argmin(inside)))
            cleaner.table.refuse(f"{location}: the bar starts outside the session's hours")
        first += len(instrument.candles)
