"""A complete candle file: recognised, read, cleaned, split by instrument."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.market.importers.bar_columns import BarColumns, FileInstruments
from apps.market.importers.bar_times import StampSide, starts_of, timeframe_of
from apps.market.importers.cleaner import Calendars, ImportReport, InstrumentBars, clean
from apps.market.importers.formats import FileFormat, format_of
from apps.market.importers.instrument_names import FindSymbol, no_master, symbol_named
from apps.market.importers.tables.column_names import FileLayout, layout_of, likely_numbers
from apps.market.importers.tables.content import BadCandleFile, Content, contents_of
from apps.market.importers.tables.file_table import FileTable, csv_table, parquet_table
from apps.market.importers.tables.json_shapes import json_table
from apps.market.importers.tables.numbers import read_numbers
from apps.market.importers.tables.times import day_first_is_assumed
from apps.market.rulebook.sessions import bundled_sessions

_PARQUET: Final = b"PAR1"


@dataclass(frozen=True, slots=True)
class CandleImport:
    """The bars of one file: of several instruments, but of one timeframe.

    `sha256` is of the unpacked file; `symbol_source` is the source of the symbols ("as given",
    "column SYMBOL", "file name").
    """

    file: str
    sha256: str
    timeframe: str
    instruments: tuple[InstrumentBars, ...]
    report: ImportReport
    symbol_source: str


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The user's statements about files; the file decides options that are None.

    With `strict` a faulty row rejects a file of many instruments too. `ignored_columns` are columns
    that may stay unread. `calendars` returns the calendars of symbols, `find_symbol` looks up an
    ISIN or a scrip code.
    """

    symbol: str | None = None
    timeframe: str | None = None
    stamps: StampSide | None = None
    strict: bool = False
    ignored_columns: Collection[str] = ()
    find_symbol: FindSymbol = no_master
    calendars: Calendars = bundled_sessions


def read_candle_files(
    path: Path, options: ImportOptions = ImportOptions()
) -> Iterator[CandleImport]:
    """Read the files at a path: itself, or the contents of its gzip or zip.

    Raises BadCandleFile.
    """
    for content in contents_of(path):
        yield _read(content, options)


def read_one_series(
    path: Path, options: ImportOptions = ImportOptions()
) -> tuple[CandleImport, InstrumentBars]:
    """Read a file with one instrument. Raises BadCandleFile."""
    [content] = contents_of(path, most_files=1)
    loaded = _read(content, options)
    instruments = loaded.instruments
    if len(instruments) > 1:
        shown = ", ".join(instrument.symbol for instrument in instruments[:3])
        shown += "…" if len(instruments) > 3 else ""
        reason = f"holds {len(instruments)} instruments ({shown}): give a file of one"
        raise BadCandleFile(file=path.name, reason=reason)
    return loaded, instruments[0]


def _read(content: Content, options: ImportOptions) -> CandleImport:
    table = _table(content)
    file_format = format_of(table)
    layout = layout_of(table, known=bool(file_format.marks), ignored=options.ignored_columns)
    instruments = _instruments(table, layout, file_format, options)
    stamps = file_format.seconds(table, layout)
    timeframe = timeframe_of(
        table, stamps, instruments.by_row, given=options.timeframe or file_format.timeframe
    )
    times, shifted = _starts(
        table,
        stamps,
        instruments,
        timeframe,
        side=options.stamps or file_format.stamps,
        calendars=options.calendars,
    )
    bars, no_volume = _bars(table, layout, instruments, times)
    report = ImportReport(
        format=file_format.name,
        rows=len(table),
        shifted=shifted,
        volume=layout.volume_unit,
        without_volume=no_volume,
        not_read=layout.not_read,
        assumed_day_first=day_first_is_assumed(table, layout),
        prices=file_format.prices,
    )
    cleaned, report = clean(
        table,
        file_format.amend(table, bars),
        instruments,
        timeframe,
        report,
        strict=options.strict,
        calendars=options.calendars,
    )
    sha256 = hashlib.sha256(content.data).hexdigest()
    return CandleImport(
        content.shown, sha256, timeframe, cleaned, report, instruments.symbol_source
    )


def _table(content: Content) -> FileTable:
    if content.data.startswith(_PARQUET) or content.name.endswith(".parquet"):
        return parquet_table(content)
    if content.data.lstrip()[:1] in (b"{", b"["):
        return json_table(content)
    return csv_table(content, likely_numbers)


def _instruments(
    table: FileTable, layout: FileLayout, file_format: FileFormat, options: ImportOptions
) -> FileInstruments:
    """Return the instruments found by the format, or the one that the user gives."""
    if options.symbol is not None and layout.symbol is None and table.name_in_file is None:
        name = symbol_named("", options.symbol)
        instruments = FileInstruments(np.zeros(len(table), np.int32), (name,), "as given")
    else:
        instruments = file_format.instruments(table, layout, options.find_symbol)
        if options.symbol is not None:
            instruments = _as_given(table, instruments, options.symbol)
    only = instruments.names[0]
    if len(instruments.names) == 1 and only.symbol is None:
        table.refuse(f"{only.reason}: give the symbol")
    return instruments


def _as_given(table: FileTable, instruments: FileInstruments, symbol: str) -> FileInstruments:
    """Return the single instrument of a file under the given symbol; refuse a file that names
    another.

    The exchange of a name without one is assumed, so the given one may differ.
    """
    names = instruments.names
    if len(names) > 1:
        table.refuse(f"holds {len(names)} instruments: a given symbol names one")
    [name] = names
    given = symbol_named(name.name_in_file, symbol)
    if given.symbol is None:
        table.refuse(given.reason)
    same = name.symbol is None or name.symbol == given.symbol
    if not same and name.assumed:
        same = str(name.symbol).partition(":")[2] == given.symbol.partition(":")[2]
    if not same and name.name_in_file:
        table.refuse(f"names {name.name_in_file}, which is {name.symbol} and not {given.symbol}")
    return replace(instruments, names=(given,), symbol_source="as given")


def _starts(
    table: FileTable,
    stamps: NDArray[np.int64],
    instruments: FileInstruments,
    timeframe: str,
    *,
    side: StampSide | None,
    calendars: Calendars,
) -> tuple[NDArray[np.int64], int]:
    """Return the starts of the bars, all whole minutes, and the shift of their stamps."""
    symbol = next((name.symbol for name in instruments.names if name.symbol), None)
    if symbol is None:
        table.refuse("none of its instruments has a symbol here")
    sessions = calendars([symbol])[symbol]
    times, shifted = starts_of(stamps, instruments.by_row, timeframe, sessions, side=side)
    broken = times % 60 != 0
    if broken.any():
        location = table.location(int(np.argmax(broken)))
        table.refuse(f"{location}: its time is no whole minute")
    return times, shifted


def _bars(
    table: FileTable,
    layout: FileLayout,
    instruments: FileInstruments,
    times: NDArray[np.int64],
) -> tuple[BarColumns, int]:
    """Return the rows as bars, with missing prices as NaN, and the number of rows that lack a
    volume in a file with volumes: they get 0.
    """
    *prices, volume = [*read_numbers(table, layout.numbers()), np.zeros(len(table))][:5]
    open_, high, low, close = prices
    missing = np.isnan(volume)
    lacking = 0 if missing.all() else int(np.count_nonzero(missing & ~np.isnan(close)))
    volume = np.where(missing, 0.0, volume)
    rows = np.arange(len(table))
    by_row = instruments.by_row
    return BarColumns(times, open_, high, low, close, volume, by_row, rows), lacking
