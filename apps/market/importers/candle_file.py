"""One candle file, whole: recognised, read, cleaned, split by instrument."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.market.importers.bar_columns import BarColumns, FileInstruments
from apps.market.importers.cleaner import Calendars, ImportReport, InstrumentBars, clean
from apps.market.importers.file_format import FileFormat
from apps.market.importers.formats import broker_json, format_of
from apps.market.importers.instrument_names import instrument_name
from apps.market.importers.tables.content import BadCandleFile, Content, contents_of
from apps.market.importers.tables.file_table import Column, FileTable, csv_table, parquet_table
from apps.market.importers.tables.layout import FileLayout, layout_of, number_columns
from apps.market.importers.tables.timestamps import StampSide, starts_of, timeframe_of
from apps.market.rulebook.sessions import bundled_sessions

_PARQUET: Final = b"PAR1"
_THOUSAND: Final = {"K": 1e3, "M": 1e6, "B": 1e9}


@dataclass(frozen=True, slots=True)
class CandleImport:
    """The bars of one file: of several instruments, but of one timeframe.

    `sha256` is of the unpacked file; `symbol_source` says where the symbols were taken from ("as
    given", "column SYMBOL", "file name").
    """

    file: str
    sha256: str
    timeframe: str
    instruments: tuple[InstrumentBars, ...]
    report: ImportReport
    symbol_source: str


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the user says about files; where an option is None, the file decides.

    With `strict` a faulty row refuses a file of many instruments too. `calendars` returns the
    calendars of symbols.
    """

    symbol: str | None = None
    timeframe: str | None = None
    stamps: StampSide | None = None
    strict: bool = False
    calendars: Calendars = bundled_sessions


def read_candle_files(
    path: Path, options: ImportOptions = ImportOptions()
) -> Iterator[CandleImport]:
    """Read the files at a path: itself, or what its gzip or zip packs. Raises BadCandleFile."""
    for content in contents_of(path):
        yield _read(content, options)


def read_one_series(
    path: Path, options: ImportOptions = ImportOptions()
) -> tuple[CandleImport, InstrumentBars]:
    """Read a file that holds one instrument. Raises BadCandleFile."""
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
    table, file_format = _table(content)
    layout = layout_of(table, file_format.columns)
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
    open_, high, low, close = (_numbers(table, index, file_format) for index in layout.prices)
    volume = _volume(table, layout, file_format)
    bars = BarColumns(
        times, open_, high, low, close, volume, instruments.by_row, np.arange(len(table))
    )
    report = ImportReport(
        format=file_format.name,
        rows=len(table),
        shifted=shifted,
        volume=file_format.volume,
        adjusted=file_format.adjusted,
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


def _table(content: Content) -> tuple[FileTable, FileFormat]:
    if content.data.startswith(_PARQUET) or content.name.endswith(".parquet"):
        table = parquet_table(content)
        return table, format_of(table.names)
    if content.data.lstrip()[:1] in (b"{", b"["):
        return broker_json.json_table(content), broker_json.FORMAT
    table = csv_table(content, _number_columns)
    return table, format_of(table.names)


def _number_columns(header: Sequence[str]) -> Collection[int]:
    file_format = format_of(header)
    return [] if file_format.grouped else number_columns(header, file_format.columns)


def _instruments(
    table: FileTable, layout: FileLayout, file_format: FileFormat, options: ImportOptions
) -> FileInstruments:
    """Return the instruments as the format finds them, or the one that the user gives."""
    instruments = file_format.instruments(table, layout)
    names = instruments.names
    if options.symbol is None:
        if len(names) == 1 and names[0].symbol is None:
            table.refuse(f"{names[0].reason}: give the symbol")
        return instruments
    if len(names) > 1:
        table.refuse(f"holds {len(names)} instruments: a given symbol names one")
    name = instrument_name(names[0].name_in_file, options.symbol)
    if name.symbol is None:
        table.refuse(name.reason)
    return replace(instruments, names=(name,), symbol_source="as given")


def _starts(
    table: FileTable,
    stamps: NDArray[np.int64],
    instruments: FileInstruments,
    timeframe: str,
    *,
    side: StampSide | None,
    calendars: Calendars,
) -> tuple[NDArray[np.int64], int]:
    """Return the starts of the bars, all whole minutes, and by how much stamps were moved."""
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


def _numbers(table: FileTable, index: int, file_format: FileFormat) -> NDArray[np.float64]:
    column = table.columns[index]
    if not file_format.grouped or not pa.types.is_string(column.type):
        numbers = table.cast(index, pa.float64(), "is no number")
        return np.asarray(numbers.to_numpy(), dtype=np.float64)
    text = pc.replace_substring(column, ",", "")
    scale = np.ones(len(table))
    for letter, factor in _THOUSAND.items():
        scale[np.asarray(pc.ends_with(text, letter))] = factor
    plain = pc.utf8_rtrim(text, characters="".join(_THOUSAND))
    return np.asarray(table.converted(plain, index, pa.float64(), "is no number")) * scale


def _volume(table: FileTable, layout: FileLayout, file_format: FileFormat) -> NDArray[np.float64]:
    """Return the volume: zero where the file has no volume, as for an index."""
    if layout.volume is None or _is_blank(table.columns[layout.volume]):
        return np.zeros(len(table))
    return _numbers(table, layout.volume, file_format)


def _is_blank(column: Column) -> bool:
    """Return whether every value is missing, empty or 0."""
    if pa.types.is_string(column.type):
        return not pc.any(pc.not_equal(column, pa.scalar(""))).as_py()
    return not pc.any(pc.not_equal(column, pa.scalar(0))).as_py()
