"""One candle file, whole: recognised, read, checked, parted by instrument."""

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
from apps.market.importers.content import BadCandleFile, Content, contents_of
from apps.market.importers.file_format import FileFormat
from apps.market.importers.formats import broker_json, format_of
from apps.market.importers.formats.broker_json import json_table
from apps.market.importers.instrument_names import instrument_name
from apps.market.importers.layout import Layout, layout_of, number_columns
from apps.market.importers.tables import Column, FileTable, csv_table, parquet_table
from apps.market.importers.timestamps import StampSide, starts_of, timeframe_of
from apps.market.rulebook.sessions import bundled_sessions

_PARQUET: Final = b"PAR1"
_THOUSAND: Final = {"K": 1e3, "M": 1e6, "B": 1e9}


@dataclass(frozen=True, slots=True)
class CandleImport:
    """The bars of one file: of several instruments, but of one timeframe.

    `sha256` is of the unpacked file; `told_by` says where the symbols were taken from ("as given",
    "column SYMBOL", "file name").
    """

    file: str
    sha256: str
    timeframe: str
    parts: tuple[InstrumentBars, ...]
    report: ImportReport
    told_by: str


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is said about files beside what they say themselves; None is told by the file.

    With `strict` a faulty row refuses a file of many instruments too. `calendars` tells
    the hours of symbols.
    """

    symbol: str | None = None
    timeframe: str | None = None
    stamps: StampSide | None = None
    strict: bool = False
    calendars: Calendars = bundled_sessions


def read_candle_files(path: Path, given: ImportOptions = ImportOptions()) -> Iterator[CandleImport]:
    """The files at a path: itself, or what its gzip or zip file packs. Raises BadCandleFile."""
    for content in contents_of(path):
        yield _loaded(content, given)


def read_one_series(
    path: Path, given: ImportOptions = ImportOptions()
) -> tuple[CandleImport, InstrumentBars]:
    """A file that holds one instrument. Raises BadCandleFile."""
    [content] = contents_of(path, most_files=1)
    loaded = _loaded(content, given)
    parts = loaded.parts
    if len(parts) > 1:
        shown = ", ".join(part.symbol for part in parts[:3]) + ("…" if len(parts) > 3 else "")
        reason = f"holds {len(parts)} instruments ({shown}): give a file of one"
        raise BadCandleFile(file=path.name, reason=reason)
    return loaded, parts[0]


def _loaded(content: Content, given: ImportOptions) -> CandleImport:
    table, profile = _table(content)
    layout = layout_of(table, profile.columns)
    instruments = _instruments(table, layout, profile, given)
    stamps = profile.seconds(table, layout)
    timeframe = timeframe_of(
        table, stamps, instruments.of, given=given.timeframe or profile.timeframe
    )
    side = given.stamps or profile.stamps
    times, shifted = _starts(
        table, stamps, instruments, timeframe, side=side, calendars=given.calendars
    )
    rows = profile.amend(table, _rows(table, layout, profile, times, instruments))
    report = ImportReport(
        format=profile.name,
        rows=len(table),
        shifted=shifted,
        volume=profile.volume,
        adjusted=profile.adjusted,
    )
    parts, report = clean(
        table, rows, instruments, timeframe, report, strict=given.strict, calendars=given.calendars
    )
    sha256 = hashlib.sha256(content.data).hexdigest()
    return CandleImport(content.shown, sha256, timeframe, parts, report, instruments.told_by)


def _table(content: Content) -> tuple[FileTable, FileFormat]:
    if content.data.startswith(_PARQUET) or content.name.endswith(".parquet"):
        table = parquet_table(content)
        return table, format_of(table.names)
    if content.data.lstrip()[:1] in (b"{", b"["):
        return json_table(content), broker_json.FORMAT
    table = csv_table(content, _numbers_of)
    return table, format_of(table.names)


def _numbers_of(header: Sequence[str]) -> Collection[int]:
    profile = format_of(header)
    return [] if profile.grouped else number_columns(header, profile.columns)


def _instruments(
    table: FileTable, layout: Layout, profile: FileFormat, given: ImportOptions
) -> FileInstruments:
    """As the format tells them, or the one that is given."""
    found = profile.instruments(table, layout)
    if given.symbol is None:
        if len(found.named) == 1 and found.named[0].symbol is None:
            table.refuse(f"{found.named[0].why}: give it with --symbol")
        return found
    if len(found.named) > 1:
        table.refuse(f"holds {len(found.named)} instruments: --symbol names one")
    one = instrument_name(found.named[0].called, given.symbol)
    if one.symbol is None:
        table.refuse(one.why)
    return replace(found, named=(one,), told_by="as given")


def _starts(
    table: FileTable,
    stamps: NDArray[np.int64],
    instruments: FileInstruments,
    timeframe: str,
    *,
    side: StampSide | None,
    calendars: Calendars,
) -> tuple[NDArray[np.int64], int]:
    """The starts of the bars, and by how much their stamps were moved; all are whole minutes."""
    known = next((each.symbol for each in instruments.named if each.symbol), None)
    if known is None:
        table.refuse("none of its instruments has a symbol here")
    sessions = calendars([known])[known]
    times, shifted = starts_of(stamps, instruments.of, timeframe, sessions, side=side)
    broken = times % 60 != 0
    if broken.any():
        place = table.place(int(np.argmax(broken)))
        table.refuse(f"{place}: its time is no whole minute")
    return times, shifted


def _rows(
    table: FileTable,
    layout: Layout,
    profile: FileFormat,
    times: NDArray[np.int64],
    instruments: FileInstruments,
) -> BarColumns:
    open_, high, low, close = (_numbers(table, place, profile) for place in layout.prices)
    volume = _volume(table, layout, profile)
    return BarColumns(times, open_, high, low, close, volume, instruments.of, np.arange(len(table)))


def _numbers(table: FileTable, place: int, profile: FileFormat) -> NDArray[np.float64]:
    column = table.columns[place]
    if not profile.grouped or not pa.types.is_string(column.type):
        numbers = table.cast(place, pa.float64(), "is no number")
        return np.asarray(numbers.to_numpy(), dtype=np.float64)
    text = pc.replace_substring(column, ",", "")
    scale = np.ones(len(table))
    for letter, factor in _THOUSAND.items():
        scale[np.asarray(pc.ends_with(text, letter))] = factor
    plain = pc.utf8_rtrim(text, characters="".join(_THOUSAND))
    return np.asarray(table.converted(plain, place, pa.float64(), "is no number")) * scale


def _volume(table: FileTable, layout: Layout, profile: FileFormat) -> NDArray[np.float64]:
    """Zero where the file has no such column or nothing in all of it, as for an index."""
    if layout.volume is None or _blank(table.columns[layout.volume]):
        return np.zeros(len(table))
    return _numbers(table, layout.volume, profile)


def _blank(column: Column) -> bool:
    """Whether every value is missing, empty or 0."""
    if pa.types.is_string(column.type):
        return not pc.any(pc.not_equal(column, pa.scalar(""))).as_py()
    return not pc.any(pc.not_equal(column, pa.scalar(0))).as_py()
