"""A master's file: plain, gzip or zip, CSV or JSON. Its columns identify its source."""

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import orjson

from apps.core import files
from apps.core.errors import Code, ServiceError
from apps.symbols.importers.formats import (
    alice,
    angel,
    bse_list,
    dhan,
    fivepaisa,
    fyers,
    kite,
    nse_list,
    shoonya,
    upstox,
)
from apps.symbols.importers.rows import InstrumentRow, Record, RejectedRow, RejectReason
from apps.symbols.models import Source

MOST_ROWS: Final = 2_000_000
_MOST_JSON_VALUES: Final = 8_000_000  # Upstox's longest list has 2,000,000
_LONGEST_LINE: Final = 100_000  # characters
_LOOKED_AT: Final = 200  # JSON records omit empty keys: so many are read for all keys

_DAMAGED: Final = (csv.Error, UnicodeDecodeError)


# A record with its line, or with its number in a list of JSON.
NumberedRecord = tuple[int, Record | RejectedRow]


class Lines(Protocol):
    """The type of csv.reader: rows of fields, and how many lines it has read."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


class InvalidMaster(ServiceError):
    """A file that cannot be imported."""

    code = Code.VALIDATION_ERROR
    message = "{file}: {reason}"


@dataclass(frozen=True, slots=True)
class MasterFormat:
    """A format of masters: its source, its identifying columns, and the reader of a record."""

    source: Source
    columns: frozenset[str]
    read: Callable[[Record, int], InstrumentRow]


_FORMATS: Final = (
    MasterFormat(kite.SOURCE, kite.COLUMNS, kite.read),
    MasterFormat(upstox.SOURCE, upstox.COLUMNS, upstox.read),
    MasterFormat(upstox.SOURCE, upstox.JSON_COLUMNS, upstox.read_json_row),
    MasterFormat(angel.SOURCE, angel.COLUMNS, angel.read),
    MasterFormat(dhan.SOURCE, dhan.COLUMNS, dhan.read),
    MasterFormat(dhan.SOURCE, dhan.DETAILED_COLUMNS, dhan.read_detailed),
    MasterFormat(alice.SOURCE, alice.COLUMNS, alice.read),
    MasterFormat(shoonya.SOURCE, shoonya.COLUMNS, shoonya.read),
    MasterFormat(fivepaisa.SOURCE, fivepaisa.COLUMNS, fivepaisa.read),
    MasterFormat(nse_list.SOURCE, nse_list.COLUMNS, nse_list.read),
    MasterFormat(bse_list.SOURCE, bse_list.COLUMNS, bse_list.read),
)
_FYERS: Final = MasterFormat(fyers.SOURCE, frozenset(fyers.HEADER), fyers.read)


class MasterFile:
    """A master's file. Iterating yields (line or number of the record, record or rejection)."""

    def __init__(self, path: Path, source: Source | None = None) -> None:
        """Raises InvalidMaster if the file is damaged, of an unknown format, or not of `source`."""
        self.name = path.name
        try:
            [content] = files.unpack(path, most_files=1)
            self.format, self._records = self._open(content.data, source)
        except files.Unreadable as error:
            raise self._refused(str(error)) from error
        except _DAMAGED as error:
            raise self._damaged(error) from error

    def __iter__(self) -> Iterator[NumberedRecord]:
        try:
            for count, record in enumerate(self._records, start=1):
                if count > MOST_ROWS:
                    raise self._refused(f"has more than {MOST_ROWS:,} rows")
                yield record
        except _DAMAGED as error:
            raise self._damaged(error) from error

    def _open(
        self, data: bytes, source: Source | None
    ) -> tuple[MasterFormat, Iterator[NumberedRecord]]:
        text = data.removeprefix(codecs.BOM_UTF8)
        if not text:
            raise self._refused("is empty")
        if text[:1] in (b"[", b"{"):
            return self._open_json(text, source)
        return self._open_csv(csv.reader(_lines(text)), source)

    def _open_json(
        self, content: bytes, source: Source | None
    ) -> tuple[MasterFormat, Iterator[NumberedRecord]]:
        if sum(content.count(mark) for mark in (b",", b"[", b"{")) > _MOST_JSON_VALUES:
            raise self._refused(f"holds more than {_MOST_JSON_VALUES:,} values: split it")
        try:
            records = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise self._refused(f"it is no JSON, or was cut off: {error}") from None
        if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
            raise self._refused("it is no list of records")
        keys = [key for record in records[:_LOOKED_AT] for key in record]
        return self._recognised(keys, source), iter(enumerate(records, start=1))

    def _open_csv(
        self, lines: Lines, source: Source | None
    ) -> tuple[MasterFormat, Iterator[NumberedRecord]]:
        first: list[str] = next(lines, [])
        if fyers.is_row(first) and source in (None, _FYERS.source):
            return _FYERS, _with_first(first, _csv_records(lines, fyers.HEADER))
        header = [name.strip() for name in first]
        return self._recognised(header, source), _csv_records(lines, header)

    def _recognised(self, columns: Sequence[str], source: Source | None) -> MasterFormat:
        names = frozenset(columns)
        for known in _FORMATS:
            if known.columns <= names and source in (None, known.source):
                return known
        expected = f"no list of {source.label}" if source else "no master that is known here"
        shown = ", ".join(columns[:8])[:120]
        raise self._refused(f"it is {expected}; its columns are {shown}")

    def _refused(self, reason: str) -> InvalidMaster:
        return InvalidMaster(file=self.name, reason=reason)

    def _damaged(self, error: BaseException) -> InvalidMaster:
        return self._refused(f"it cannot be read to its end: {error}")


def _lines(text: bytes) -> Iterator[str]:
    """Yield lines with their ends, for csv.reader. Raises csv.Error for a line that is too long."""
    file = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise csv.Error(f"a line is longer than {_LONGEST_LINE:,} characters")
        yield line


def _with_first(
    first: Sequence[str], records: Iterator[NumberedRecord]
) -> Iterator[NumberedRecord]:
    yield 1, dict(zip(fyers.HEADER, first, strict=True))
    yield from records


def _csv_records(lines: Lines, header: Sequence[str]) -> Iterator[NumberedRecord]:
    """Yield each record with its line; blank lines are skipped."""
    width = len(header)
    for fields in lines:
        if len(fields) == width:
            yield lines.line_num, dict(zip(header, fields, strict=True))
        elif fields:
            yield lines.line_num, _of_other_width(fields, header)


def _of_other_width(
    fields: Sequence[str], header: Sequence[str]
) -> Mapping[str, str] | RejectedRow:
    """Return a record of another width: some lists end each line with commas."""
    width = len(header)
    if len(fields) > width and not any(fields[width:]):
        return dict(zip(header, fields[:width], strict=True))
    return RejectedRow(RejectReason.UNREADABLE, f"{len(fields)} columns under {width} headers")
