"""A file's rows as columns of text (CSV) or of their own types (Parquet), with their places."""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from apps.core.errors import Code, ServiceError

if TYPE_CHECKING:
    from pyarrow.csv import InvalidRow

# Any: an Arrow column may hold any type until its role in the file is known.
Column: TypeAlias = "pa.ChunkedArray[Any]"

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_DELIMITERS: Final = (",", ";", "\t", "|")


class BadCandleFile(ServiceError):
    """A file that cannot be read as candles: `reason` names line, field and value."""

    code = Code.VALIDATION_ERROR
    message = "{file}: {reason}"


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one file.

    `names` are the file's own column names, `columns` stand in the same order; `place` says where
    row i is found in the file ("line 2"), for messages.
    """

    file: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    place: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.columns[0])

    def refuse(self, reason: str) -> NoReturn:
        raise BadCandleFile(file=self.file, reason=reason)

    def cast(self, index: int, target: pa.DataType, what: str) -> Column:
        """A column in another type; the first value that has no such form is refused."""
        column = self.columns[index]
        try:
            return pc.cast(column, target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            self.refuse_value(first_bad(column, target), index, what)

    def refuse_value(self, row: int, index: int, problem: str) -> NoReturn:
        value = self.columns[index][row].as_py()
        self.refuse(
            f"{self.place(row)}: {self.names[index] or 'the first column'} {value!r} {problem}"
        )


def first_bad(column: Column, target: pa.DataType) -> int:
    """The index of the first value that cannot be cast, found by halving."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pc.cast(column.slice(low, middle - low), target)
            low = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low


def read_table(path: Path, numbers: Callable[[Sequence[str]], Collection[int]]) -> Table:
    """The rows of a Parquet (`.parquet`) or CSV file (any other name, also `.gz`).

    `numbers` tells from the names which columns ought to be numbers: float64 if all of a CSV file's
    are, otherwise text, so that a message can show what is written.
    """
    if path.suffix == ".parquet":
        return _read_parquet(path)
    return _read_csv(path, numbers)


def _read_parquet(path: Path) -> Table:
    try:
        table = pq.ParquetFile(path).read()
    except OSError as error:
        raise BadCandleFile(file=path.name, reason=error.strerror or str(error)) from error
    except pa.ArrowException as error:
        raise BadCandleFile(file=path.name, reason=f"is no Parquet file: {error}") from error
    columns = tuple(_trimmed(column) for column in table.columns)
    if not len(table):
        raise BadCandleFile(file=path.name, reason="holds no rows")
    return Table(path.name, tuple(table.column_names), columns, lambda row: f"row {row + 1}")


def _read_csv(path: Path, numbers: Callable[[Sequence[str]], Collection[int]]) -> Table:
    content = _content(path).removeprefix(_BYTE_ORDER_MARK)
    if not content or content.isspace():
        raise BadCandleFile(file=path.name, reason="is empty")
    _check_text(path.name, content)
    delimiter, names = _header(content)
    types: list[pa.DataType] = [pa.string()] * len(names)
    for position in numbers(names):
        types[position] = pa.float64()
    try:
        columns = _parsed(content, delimiter, types)
    except pa.ArrowInvalid:
        columns = _parsed_as_text(path.name, content, delimiter, len(names))
    if not len(columns[0]):
        raise BadCandleFile(file=path.name, reason="holds a header and no rows")
    return Table(path.name, names, columns, lambda row: f"line {_line(content, row + 1)}")


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        reason = f"is a damaged or truncated gzip file ({error})"
        raise BadCandleFile(file=path.name, reason=reason) from error
    except OSError as error:
        raise BadCandleFile(file=path.name, reason=error.strerror or str(error)) from error


def _check_text(file: str, content: bytes) -> None:
    try:
        if not content.isascii():
            content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadCandleFile(file=file, reason=f"line {line}: is no text in UTF-8") from error


def _header(content: bytes) -> tuple[str, tuple[str, ...]]:
    """The delimiter, the likeliest of four in the first line, and the names that line holds."""
    first = next(io.BytesIO(content)).decode().rstrip("\r\n")
    delimiter = max(_DELIMITERS, key=first.count)
    names = next(csv.reader([first], delimiter=delimiter))
    return delimiter, tuple(name.strip() for name in names)


def _parsed(content: bytes, delimiter: str, types: Sequence[pa.DataType]) -> tuple[Column, ...]:
    """The columns in these types; ArrowInvalid, which does not say where, if they are not."""
    return _columns(
        content,
        types,
        pyarrow.csv.ReadOptions(),
        pyarrow.csv.ParseOptions(delimiter=delimiter),
    )


def _parsed_as_text(file: str, content: bytes, delimiter: str, width: int) -> tuple[Column, ...]:
    """The columns as they are written; a row of another width is refused by its line."""
    torn: list[InvalidRow] = []

    def remember(row: "InvalidRow") -> Literal["error"]:
        torn.append(row)
        return "error"

    # Arrow numbers rows only within one block of text, and in one thread.
    block_size = min(max(len(content), 1 << 20), (1 << 31) - 1)
    try:
        return _columns(
            content,
            [pa.string()] * width,
            pyarrow.csv.ReadOptions(use_threads=False, block_size=block_size),
            pyarrow.csv.ParseOptions(delimiter=delimiter, invalid_row_handler=remember),
        )
    except pa.ArrowInvalid as error:
        raise BadCandleFile(file=file, reason=_why_torn(content, torn, error)) from error


def _columns(
    content: bytes,
    types: Sequence[pa.DataType],
    reading: pyarrow.csv.ReadOptions,
    parsing: pyarrow.csv.ParseOptions,
) -> tuple[Column, ...]:
    keyed = {str(position): kind for position, kind in enumerate(types)}
    reading.column_names, reading.skip_rows = list(keyed), 1
    converting = pyarrow.csv.ConvertOptions(column_types=keyed, null_values=[])
    table = pyarrow.csv.read_csv(
        pa.BufferReader(content),  # type: ignore[arg-type]  # the stubs: only Python's files
        reading,
        parsing,
        converting,
    )
    return tuple(_trimmed(column) for column in table.columns)


def _why_torn(content: bytes, torn: Sequence["InvalidRow"], error: pa.ArrowInvalid) -> str:
    if not torn:
        return f"is no CSV file: {error}"
    row = torn[0]
    line = _line(content, (row.number or 1) - 1)
    return (
        f"line {line}: has {row.actual_columns} fields where the header has"
        f" {row.expected_columns}: {row.text[:80]!r}"
    )


def _line(content: bytes, row: int) -> int:
    """The line of the row, the header being row 0: empty lines are no rows but count as lines."""
    filled = (i for i, line in enumerate(content.splitlines(), start=1) if line.strip())
    return next(line for i, line in enumerate(filled) if i == row)


def _trimmed(column: Column) -> Column:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = pc.cast(column, kind.value_type), kind.value_type
    return pc.utf8_trim_whitespace(column) if pa.types.is_string(kind) else column
