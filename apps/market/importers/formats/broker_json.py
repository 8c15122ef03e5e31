"""The JSON answers of brokers' history calls, as saved to a file.

Rows: `{"data": {"candles": [[time, open, high, low, close, volume, …], …]}}` (Kite, Upstox), the
same without `data` (Fyers). Columns: `{"open": […], …, "timestamp": […]}` (Dhan), also in `data`.
They stamp a bar at its start and do not name the instrument, so the file's name does.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
import pyarrow as pa

from apps.market.importers.file_format import FileFormat
from apps.market.importers.formats.plain import by_column_or_name
from apps.market.importers.tables.content import BadCandleFile, Content
from apps.market.importers.tables.file_table import FileTable, check_values
from apps.market.importers.tables.timestamps import StampSide

FORMAT: Final = FileFormat(
    name="broker's JSON", instruments=by_column_or_name, stamps=StampSide.START
)


_ROW: Final = ("time", "open", "high", "low", "close", "volume", "open interest")
_LEAST: Final = 5
# Each takes up to a hundred bytes in memory; brokers answer with a few thousand candles.
_MOST_VALUES: Final = 8_000_000
_COLUMNS: Final = ("timestamp", "open", "high", "low", "close", "volume")


def json_table(content: Content) -> FileTable:
    """Read the rows of such a document. Raises BadCandleFile."""
    values = sum(content.data.count(mark) for mark in (b",", b"[", b"{"))
    check_values(content.shown, values, most=_MOST_VALUES)
    try:
        document = orjson.loads(content.data)
    except orjson.JSONDecodeError as error:
        raise BadCandleFile(file=content.shown, reason=f"is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadCandleFile(file=content.shown, reason="is JSON, but no answer of a broker's")
    if document.get("status") == "error" or document.get("s") == "error":
        message = document.get("message", "")
        raise BadCandleFile(file=content.shown, reason=f"is an answer that says: error, {message}")
    data = document.get("data", document)
    if isinstance(data, dict) and isinstance(data.get("candles"), list):
        return _of_rows(content, data["candles"])
    if isinstance(data, dict) and all(isinstance(data.get(name), list) for name in _COLUMNS[:5]):
        return _of_columns(content, data)
    raise BadCandleFile(
        file=content.shown,
        reason="has neither candles nor the lists timestamp, open, high, low and close",
    )


def _of_rows(content: Content, rows: Sequence[object]) -> FileTable:
    widths = {len(row) if isinstance(row, list) else 0 for row in rows}
    if not rows or min(widths) < _LEAST or max(widths) > len(_ROW):
        raise BadCandleFile(file=content.shown, reason=_why_no_rows(rows))
    # An answer that lacks the open interest of some bars lacks nothing that is stored.
    width = min(widths)
    columns = zip(*(row[:width] for row in rows if isinstance(row, list)), strict=True)
    return _table(content, _ROW[:width], [list(column) for column in columns])


def _why_no_rows(rows: Sequence[object]) -> str:
    if not rows:
        return "holds no candles"
    first = next(
        i
        for i, row in enumerate(rows)
        if not isinstance(row, list) or not _LEAST <= len(row) <= len(_ROW)
    )
    return f"candle {first + 1} is no list of a time, four prices, a volume and an open interest"


def _of_columns(content: Content, data: Mapping[str, list[object]]) -> FileTable:
    names = [name for name in _COLUMNS if isinstance(data.get(name), list)]
    lengths = {name: len(data[name]) for name in names}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadCandleFile(file=content.shown, reason=f"its lists differ in length: {listed}")
    if not lengths["open"]:
        raise BadCandleFile(file=content.shown, reason="holds no candles")
    return _table(content, names, [data[name] for name in names])


def _table(content: Content, names: Sequence[str], columns: Sequence[list[object]]) -> FileTable:
    arrays = [_array(content, name, column) for name, column in zip(names, columns, strict=True)]
    return FileTable(
        content.name,
        content.shown,
        tuple(names),
        tuple(pa.chunked_array([array]) for array in arrays),
        lambda row: f"candle {row + 1}",
    )


# Any: text or whole numbers for times, floats for the others.
def _array(content: Content, name: str, column: list[object]) -> "pa.Array[Any]":
    kind: pa.DataType = pa.float64()
    if name in ("time", "timestamp"):
        kind = pa.string() if isinstance(column[0], str) else pa.int64()
    try:
        return pa.array(column, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        reason = f"the {name} of a candle is no {kind}: {error}"
        raise BadCandleFile(file=content.shown, reason=reason) from error
