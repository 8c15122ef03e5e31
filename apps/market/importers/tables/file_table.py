"""A file's rows as columns: of text or numbers (CSV), or of their own types (Parquet, JSON).

An empty value takes one byte in a file and several in memory, so values are counted before reading.
"""

import codecs
import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from apps.core.files import MOST_BYTES, TOO_LONG
from apps.market.importers.tables.content import BadCandleFile, Content
from apps.market.importers.tables.headers import Header, header_of

if TYPE_CHECKING:
    from pyarrow.csv import InvalidRow

# Any: an Arrow column may hold any type until its role in the file is known.
Column: TypeAlias = "pa.ChunkedArray[Any]"

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MARKS_OF_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_LINE_ENDS: Final = b"\r\n"
# Of a file, rows times columns: 4,000,000 bars of an exchange's list.
MOST_VALUES: Final = 40_000_000
_MOST_COLUMNS: Final = 500
_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileTable:
    """The rows of one file.

    `names` are the file's own column names, `columns` are in the same order; `location` describes
    the place of a row in the file ("line 2"), for messages. `name_in_file` is the instrument's name
    if the file has it above its rows instead of in a column. `name` is the file's own, `shown` adds
    the archive's name. `has_header` is false if the names were guessed; `from_yfinance` is true for
    three lines of names.
    """

    name: str
    shown: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    location: Callable[[int], str]
    name_in_file: str | None = None
    has_header: bool = True
    from_yfinance: bool = False

    def __len__(self) -> int:
        return len(self.columns[0])

    def refuse(self, reason: str) -> NoReturn:
        raise BadCandleFile(file=self.shown, reason=reason)

    def cast(self, index: int, target: pa.DataType, problem: str) -> Column:
        """Return a column in another type; refuse the first value that cannot be converted."""
        return self.converted(self.columns[index], index, target, problem)

    def converted(self, column: Column, index: int, target: pa.DataType, problem: str) -> Column:
        """Cast a column derived from the column at `index`, as `cast` does."""
        try:
            return pc.cast(column, target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            self.refuse_value(first_bad(column, target), index, problem)

    def refuse_first(self, wrong: Any, index: int, problem: str) -> None:
        """Refuse the first value of a column in a row that is wrong, if any is."""
        if wrong.any():
            self.refuse_value(int(wrong.argmax()), index, problem)

    def refuse_value(self, row: int, index: int, problem: str) -> NoReturn:
        value = self.columns[index][row].as_py()
        self.refuse(
            f"{self.location(row)}: {self.names[index] or 'the first column'} {value!r} {problem}"
        )


def first_bad(column: Column, target: pa.DataType) -> int:
    """Return the index of the first value that cannot be cast, by binary search."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pc.cast(column.slice(low, middle - low), target)
            low = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low


def check_values(shown: str, values: int, *, columns: int = 0, most: int = MOST_VALUES) -> None:
    """Refuse a file if its values would take too much memory."""
    if columns > _MOST_COLUMNS:
        reason = f"has {columns:,} columns: {_MOST_COLUMNS} are the most"
        raise BadCandleFile(file=shown, reason=reason)
    if values > most:
        reason = (
            f"holds about {values:,} values: {most:,} are the most, split it into smaller files"
        )
        raise BadCandleFile(file=shown, reason=reason)


def parquet_table(content: Content) -> FileTable:
    """Read the rows of a Parquet file; messages name a row by its number."""
    try:
        table = _parquet_rows(content)
        columns = tuple(_trimmed(column) for column in table.columns)
    except (pa.ArrowException, OSError) as error:
        reason = f"is no Parquet file: {error}"
        raise BadCandleFile(file=content.shown, reason=reason) from error
    if not len(table):
        raise BadCandleFile(file=content.shown, reason="holds no rows")
    names = tuple(table.column_names)
    return FileTable(content.name, content.shown, names, columns, lambda row: f"row {row + 1}")


def _parquet_rows(content: Content) -> pa.Table:
    """Read the file as a table.

    Repeated text is stored once (as a dictionary) until its total length is known.
    """
    source = pa.BufferReader(content.data)
    metadata = pq.read_metadata(source)
    leaves = [metadata.schema.column(index) for index in range(metadata.num_columns)]
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    check_values(content.shown, rows * len(leaves), columns=len(leaves))
    if sum(group.total_byte_size for group in groups) > MOST_BYTES:
        raise BadCandleFile(file=content.shown, reason=TOO_LONG)
    if any(leaf.max_repetition_level for leaf in leaves):
        raise BadCandleFile(file=content.shown, reason="has lists in its columns")
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    table = pq.ParquetFile(source, read_dictionary=texts).read()
    if sum(_text_length(column) for column in table.columns) > MOST_BYTES:
        raise BadCandleFile(file=content.shown, reason=TOO_LONG)
    return table


# Any: the stubs have no dictionaries among a column's chunks.
def _text_length(column: Column) -> int:
    """Return the bytes of the text of all rows of a dictionary column; else 0."""
    if not pa.types.is_dictionary(column.type):
        return 0
    chunks: list[Any] = column.chunks
    return sum(
        pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
        for chunk in chunks
    )


def csv_table(content: Content, numbers: Callable[[Sequence[str]], Collection[int]]) -> FileTable:
    """Read the rows of a file of separated values.

    `numbers` selects columns of numbers by their names: float64 if all of them are numbers,
    otherwise text, so that a message can quote the value.
    """
    whole = _utf8(content)
    text = whole.lstrip(_LINE_ENDS)  # Arrow counts empty lines before the header, but no others
    if not text or text.isspace():
        raise BadCandleFile(file=content.shown, reason="is empty")
    _check_text(content.shown, whole)
    above = whole.count(b"\n", 0, len(whole) - len(text))
    try:
        header = header_of(text, content.name)
    except csv.Error as error:
        raise BadCandleFile(file=content.shown, reason=f"is no CSV file: {error}") from error
    values = text.count(header.delimiter.encode()) + text.count(b"\n")
    check_values(content.shown, values, columns=len(header.names))
    types: list[pa.DataType] = [pa.string()] * len(header.names)
    for position in numbers(header.names):
        types[position] = pa.float64()
    try:
        columns = _parsed(text, header, types)
    except pa.ArrowInvalid:
        columns = _parsed_as_text(content.shown, text, header, above)
    if not len(columns[0]):
        raise BadCandleFile(file=content.shown, reason="holds a header and no rows")
    table = FileTable(
        content.name,
        content.shown,
        header.names,
        columns,
        lambda row: f"line {above + _line(text, row + header.lines)}",
        header.tickers[0] if header.tickers else None,
        has_header=header.lines > 0,
        from_yfinance=bool(header.tickers),
    )
    return _by_ticker(table, header.tickers) if len(set(header.tickers)) > 1 else table


def _by_ticker(table: FileTable, tickers: Sequence[str]) -> FileTable:
    """Stack the columns of several tickers, with a column of their names.

    A ticker that lacks a field of another is refused: its columns would not line up.
    """
    fields = tuple(dict.fromkeys(table.names[1:]))
    at = {key: i for i, key in enumerate(zip(table.names[1:], tickers, strict=True), start=1)}
    names = tuple(dict.fromkeys(tickers))
    for name in names:
        for field in fields:
            if (field, name) not in at:
                table.refuse(f"has no column {field} of {name}")
    rows = len(table)
    stacked = [_stack([table.columns[at[field, name]] for name in names]) for field in fields]
    symbols = pa.chunked_array([pa.array([name] * rows) for name in names])
    dates = _stack([table.columns[0]] * len(names))
    return replace(
        table,
        names=("Symbol", table.names[0], *fields),
        columns=(symbols, dates, *stacked),
        location=lambda row: table.location(row % rows),
        name_in_file=None,
    )


def _stack(columns: Sequence[Column]) -> Column:
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks])


def _utf8(content: Content) -> bytes:
    """Return the text in UTF-8 without its mark; UTF-16 is recognised by its own mark."""
    if not content.data.startswith(_MARKS_OF_UTF16):
        return content.data.removeprefix(_BYTE_ORDER_MARK)
    try:
        return content.data.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise BadCandleFile(file=content.shown, reason="is no text in UTF-16") from error


def _check_text(shown: str, text: bytes) -> None:
    """Refuse text that is not UTF-8, piece by piece: a single letter beyond Latin would make the
    whole text four times as long in memory.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, 0 if text.isascii() else len(text), _CHUNK):
        piece = text[start : start + _CHUNK]
        try:
            decoder.decode(piece, final=start + _CHUNK >= len(text))
        except UnicodeDecodeError as error:
            offset = start + error.start - (len(error.object) - len(piece))
            line = text.count(b"\n", 0, offset) + 1
            raise BadCandleFile(file=shown, reason=f"line {line}: is no text in UTF-8") from error


def _parsed(text: bytes, header: Header, types: Sequence[pa.DataType]) -> tuple[Column, ...]:
    """Read the columns in these types. Raises ArrowInvalid, without the position."""
    parsing = pyarrow.csv.ParseOptions(delimiter=header.delimiter)
    return _columns(text, header, types, pyarrow.csv.ReadOptions(), parsing)


def _parsed_as_text(shown: str, text: bytes, header: Header, above: int) -> tuple[Column, ...]:
    """Read the columns as text; refuse a row of another width by its line, counting the `above`
    lines above the text.
    """
    torn: list[InvalidRow] = []

    def remember(row: "InvalidRow") -> Literal["error"]:
        torn.append(row)
        return "error"

    # Arrow numbers rows only within one block of text, and in one thread.
    block_size = min(max(len(text), 1 << 20), (1 << 31) - 1)
    try:
        return _columns(
            text,
            header,
            [pa.string()] * len(header.names),
            pyarrow.csv.ReadOptions(use_threads=False, block_size=block_size),
            pyarrow.csv.ParseOptions(delimiter=header.delimiter, invalid_row_handler=remember),
        )
    except pa.ArrowInvalid as error:
        raise BadCandleFile(file=shown, reason=_why_torn(text, torn, error, above)) from error


def _columns(
    text: bytes,
    header: Header,
    types: Sequence[pa.DataType],
    reading: pyarrow.csv.ReadOptions,
    parsing: pyarrow.csv.ParseOptions,
) -> tuple[Column, ...]:
    keyed = {str(position): kind for position, kind in enumerate(types)}
    reading.column_names, reading.skip_rows = list(keyed), header.lines
    converting = pyarrow.csv.ConvertOptions(column_types=keyed, null_values=[])
    table = pyarrow.csv.read_csv(
        pa.BufferReader(text),  # type: ignore[arg-type]  # the stubs: only Python's files
        reading,
        parsing,
        converting,
    )
    return tuple(_trimmed(column) for column in table.columns)


def _why_torn(text: bytes, torn: Sequence["InvalidRow"], error: pa.ArrowInvalid, above: int) -> str:
    if not torn:
        return f"is no CSV file: {error}"
    row = torn[0]
    line = above + _line(text, (row.number or 1) - 1)
    return (
        f"line {line}: has {row.actual_columns} fields where the header has"
        f" {row.expected_columns}: {row.text[:80]!r}"
    )


def _line(text: bytes, row: int) -> int:
    """Return the line of a row: empty lines are counted, and have no row."""
    filled = (i for i, line in enumerate(io.BytesIO(text), start=1) if line.strip(_LINE_ENDS))
    return next(line for i, line in enumerate(filled) if i == row)


def _trimmed(column: Column) -> Column:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = pc.cast(column, kind.value_type), kind.value_type
    return pc.utf8_trim_whitespace(column) if pa.types.is_string(kind) else column
