"""Opening a master: plain, gzip or zip, CSV or JSON, and telling whose it is by its columns."""

import csv
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol

import orjson

from apps.core.errors import Code, ServiceError
from apps.symbols.importers import (
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
from apps.symbols.importers.rows import Reason, Record, Refused, Row
from apps.symbols.models import Source

MOST_ROWS: Final = 2_000_000
_MOST_JSON: Final = 1_000_000_000
_LOOKED_AT: Final = 200  # records of JSON are sparse: their keys are those of this many

_DAMAGED: Final = (EOFError, OSError, zlib.error, zipfile.BadZipFile, csv.Error, UnicodeDecodeError)


Numbered = tuple[int, Record | Refused]
"""A record with its line, or with its number in a list of JSON."""


class Lines(Protocol):
    """What csv.reader makes: rows of fields, and how many lines it has read."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


class MasterRefused(ServiceError):
    """A file that cannot be brought in as it is."""

    code = Code.VALIDATION_ERROR
    message = "{file}: {why}"


@dataclass(frozen=True, slots=True)
class Format:
    """A layout of masters: whose, the columns that tell it, and how a record of it is read."""

    source: Source
    columns: frozenset[str]
    read: Callable[[Record, int], Row]


FORMATS: Final = (
    Format(kite.SOURCE, kite.COLUMNS, kite.read),
    Format(upstox.SOURCE, upstox.COLUMNS, upstox.read),
    Format(upstox.SOURCE, upstox.JSON_COLUMNS, upstox.read_json),
    Format(angel.SOURCE, angel.COLUMNS, angel.read),
    Format(dhan.SOURCE, dhan.COLUMNS, dhan.read),
    Format(dhan.SOURCE, dhan.DETAILED_COLUMNS, dhan.read_detailed),
    Format(alice.SOURCE, alice.COLUMNS, alice.read),
    Format(shoonya.SOURCE, shoonya.COLUMNS, shoonya.read),
    Format(fivepaisa.SOURCE, fivepaisa.COLUMNS, fivepaisa.read),
    Format(nse_list.SOURCE, nse_list.COLUMNS, nse_list.read),
    Format(bse_list.SOURCE, bse_list.COLUMNS, bse_list.read),
)
_FYERS: Final = Format(fyers.SOURCE, frozenset(fyers.HEADER), fyers.read)


class MasterFile:
    """A master that is open. Iterating gives (line or number of the record, record or refusal)."""

    def __init__(self, path: Path, source: Source | None = None) -> None:
        """Raises MasterRefused if it is damaged, or not known, or not of `source`."""
        self.name = path.name
        self._stack = ExitStack()
        try:
            self.format, self._records = self._open(path, source)
        except _DAMAGED as error:
            self.close()
            raise self._damaged(error) from error
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Numbered]:
        try:
            for count, record in enumerate(self._records, start=1):
                if count > MOST_ROWS:
                    raise self._refused(f"it has more than {MOST_ROWS:,} rows")
                yield record
        except _DAMAGED as error:
            raise self._damaged(error) from error

    def __enter__(self) -> "MasterFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    def _open(self, path: Path, source: Source | None) -> tuple[Format, Iterator[Numbered]]:
        lines = io.TextIOWrapper(self._bytes(path), encoding="utf-8-sig", newline="")
        self._stack.callback(lines.close)
        start = lines.read(1)
        if not start:
            raise self._refused("it is empty")
        if start in "[{":
            return self._open_json(start + lines.read(_MOST_JSON), source)
        lines.seek(0)
        return self._open_csv(csv.reader(lines), source)

    def _bytes(self, path: Path) -> IO[bytes] | gzip.GzipFile:
        file = self._stack.enter_context(path.open("rb"))
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(b"\x1f\x8b"):
            return self._stack.enter_context(gzip.GzipFile(fileobj=file))
        if not magic.startswith(b"PK"):
            return file
        archive = self._stack.enter_context(zipfile.ZipFile(file))
        members = [one for one in archive.namelist() if not one.endswith("/")]
        if len(members) != 1:
            raise self._refused(f"the zip holds {len(members)} files; one is read")
        # A member of a zip that is encrypted raises RuntimeError.
        if archive.getinfo(members[0]).flag_bits & 1:
            raise self._refused("the zip is encrypted")
        return self._stack.enter_context(archive.open(members[0]))

    def _open_json(self, content: str, source: Source | None) -> tuple[Format, Iterator[Numbered]]:
        if len(content) > _MOST_JSON:
            raise self._refused("it is too long")
        try:
            records = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise self._refused(f"it is no JSON, or was cut off: {error}") from None
        if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
            raise self._refused("it is no list of records")
        keys = [key for record in records[:_LOOKED_AT] for key in record]
        return self._recognised(keys, source), iter(enumerate(records, start=1))

    def _open_csv(self, lines: Lines, source: Source | None) -> tuple[Format, Iterator[Numbered]]:
        first: list[str] = next(lines, [])
        if fyers.is_row(first) and source in (None, _FYERS.source):
            return _FYERS, _with_first(first, _csv_records(lines, fyers.HEADER))
        header = [name.strip() for name in first]
        return self._recognised(header, source), _csv_records(lines, header)

    def _recognised(self, columns: Sequence[str], source: Source | None) -> Format:
        names = frozenset(columns)
        for one in FORMATS:
            if one.columns <= names and source in (None, one.source):
                return one
        whose = f"no list of {source.label}" if source else "no master that is known here"
        shown = ", ".join(columns[:8])[:120]
        raise self._refused(f"it is {whose}; its columns are {shown}")

    def _refused(self, why: str) -> MasterRefused:
        return MasterRefused(file=self.name, why=why)

    def _damaged(self, error: BaseException) -> MasterRefused:
        return self._refused(f"it cannot be read to its end: {error}")


def _with_first(first: Sequence[str], rest: Iterator[Numbered]) -> Iterator[Numbered]:
    yield 1, dict(zip(fyers.HEADER, first, strict=True))
    yield from rest


def _csv_records(lines: Lines, header: Sequence[str]) -> Iterator[Numbered]:
    """Each with its line; blank lines are none."""
    width = len(header)
    for fields in lines:
        if len(fields) == width:
            yield lines.line_num, dict(zip(header, fields, strict=True))
        elif fields:
            yield lines.line_num, _of_other_width(fields, header)


def _of_other_width(fields: Sequence[str], header: Sequence[str]) -> Mapping[str, str] | Refused:
    """Columns too many may be empty: some lists end each line in commas."""
    width = len(header)
    if len(fields) > width and not any(fields[width:]):
        return dict(zip(header, fields[:width], strict=True))
    return Refused(Reason.UNREADABLE, f"{len(fields)} columns under {width} headers")
