"""Candles in JSON, in the shapes of brokers, charting libraries and programs.

Bars are a list of lists (time, open, high, low, close, volume, open interest), a list of objects,
or an object of lists, at any depth; lines of JSON are a list of objects. The names of objects are
column names. A broker's error answer is quoted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
import pyarrow as pa

from apps.market.importers.tables.column_names import COLUMNS, PRICES, normalise
from apps.market.importers.tables.content import BadCandleFile, Content
from apps.market.importers.tables.file_table import FileTable, check_values

_ROW: Final = ("time", "open", "high", "low", "close", "volume", "open interest")
_LEAST: Final = 5
# Each takes up to a hundred bytes in memory; brokers answer with a few thousand candles.
_MOST_VALUES: Final = 8_000_000
_DEEPEST: Final = 8
_STAMPS: Final = frozenset(COLUMNS["stamp"])
_ERRORS: Final = re.compile(
    "error|errors|errorcode|errortype|errormessage|errmsg|emsg|message|remarks|description"
)
# Any: arbitrary JSON.
_Node = Any


def json_table(content: Content) -> FileTable:
    """Read the rows of such a document. Raises BadCandleFile."""
    values = sum(content.data.count(mark) for mark in (b",", b"[", b"{"))
    check_values(content.shown, values, most=_MOST_VALUES)
    document = _document(content)
    bars = next(_bars_in(document, {}, _DEEPEST), None)
    if bars is None:
        raise BadCandleFile(file=content.shown, reason=_why_no_bars(document))
    columns, symbol = bars
    return _table(content, columns, symbol)


def _document(content: Content) -> _Node:
    try:
        return orjson.loads(content.data)
    except orjson.JSONDecodeError as error:
        lines = content.data.splitlines()
        try:
            if len(lines) > 1 and lines[0].rstrip().endswith(b"}"):
                return [orjson.loads(line) for line in lines if line.strip()]
        except orjson.JSONDecodeError:
            pass  # no lines of JSON either: the first error tells more
        raise BadCandleFile(file=content.shown, reason=f"is no JSON: {error}") from error


_Bars = tuple[Mapping[str, Sequence[object]], str | None]


def _bars_in(node: _Node, around: Mapping[str, object], depth: int) -> Iterator[_Bars]:
    """Yield the bars in a document: columns by name, and the instrument named around them.

    `around` are the lists and texts of the objects around the node.
    """
    if depth == 0:
        return
    if isinstance(node, list):
        if columns := _columns_of_list(node):
            yield columns, _symbol(around)
        for part in node if len(node) == 1 else ():
            yield from _bars_in(part, around, depth - 1)
    if isinstance(node, dict):
        near = {**around, **{normalise(key): value for key, value in node.items()}}
        if columns := _columns_of_lists(node, near):
            yield columns, _symbol(near)
        for part in node.values():
            yield from _bars_in(part, near, depth - 1)


def _columns_of_list(rows: Sequence[_Node]) -> Mapping[str, Sequence[object]] | None:
    if not rows:
        return None
    if all(map(_is_row, rows)):
        # An answer that lacks the open interest of some bars lacks nothing that is stored.
        width = min(map(len, rows))
        return dict(zip(_ROW, zip(*(row[:width] for row in rows), strict=True), strict=False))
    if all(isinstance(row, dict) and not _holds_lists(row) for row in rows) and _has_prices(
        rows[0]
    ):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: [row.get(name) for row in rows] for name in names}
    return None


def _columns_of_lists(
    node: Mapping[str, _Node], around: Mapping[str, _Node]
) -> Mapping[str, Sequence[object]] | None:
    """Return the lists of an object with prices; the times may be in an object around it."""
    lists = {name: value for name, value in node.items() if isinstance(value, list)}
    if not _has_prices(lists):
        return None
    if not any(normalise(name) in _STAMPS for name in lists):
        times = (around[name] for name in _STAMPS if isinstance(around.get(name), list))
        stamp = next(times, None)
        lists = {"timestamp": stamp, **lists} if stamp is not None else lists
    return lists


def _has_prices(names: Mapping[str, object]) -> bool:
    known = {normalise(name) for name in names}
    return all(not known.isdisjoint(COLUMNS[role]) for role in PRICES)


def _holds_lists(row: Mapping[str, _Node]) -> bool:
    return any(isinstance(value, list) for value in row.values())


def _symbol(around: Mapping[str, _Node]) -> str | None:
    """Return the instrument named by an object around the bars, such as Yahoo's `meta`."""
    meta = around.get("meta")
    holders = [around, meta] if isinstance(meta, dict) else [around]
    names = (holder.get("symbol") for holder in holders)
    return next((name for name in names if isinstance(name, str) and name), None)


def _why_no_bars(document: _Node) -> str:
    said = list(dict.fromkeys(_messages(document, _DEEPEST)))
    if said:
        return f"holds no candles but an answer that says: {': '.join(said)[:300]}"
    if document in ([], {}):
        return "holds no candles"
    rows = document.get("candles") if isinstance(document, dict) else document
    if isinstance(rows, list) and rows and any(isinstance(row, list) for row in rows):
        bad = next(i for i, row in enumerate(rows, 1) if not _is_row(row))
        return (
            f"candle {bad} is no list of a time, four prices, perhaps a volume and an open interest"
        )
    if isinstance(rows, list) and not rows:
        return "holds no candles"
    return "is JSON without candles: neither lists of them nor lists named open, high, low, close"


def _is_row(row: _Node) -> bool:
    return isinstance(row, list) and _LEAST <= len(row) <= len(_ROW)


def _messages(node: _Node, depth: int) -> Iterator[str]:
    """Yield the texts under names of errors, the code before the message."""
    if depth == 0 or not isinstance(node, dict):
        return
    for name, value in node.items():
        is_text = isinstance(value, str) and value.lower() not in ("", "success", "ok")
        if _ERRORS.fullmatch(normalise(name)) and is_text:
            yield value
        yield from _messages(value, depth - 1)


def _table(
    content: Content, columns: Mapping[str, Sequence[object]], symbol: str | None
) -> FileTable:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadCandleFile(file=content.shown, reason=f"its lists differ in length: {listed}")
    if not any(lengths.values()):
        raise BadCandleFile(file=content.shown, reason="holds no candles")
    return FileTable(
        content.name,
        content.shown,
        tuple(columns),
        tuple(pa.chunked_array([_array(values)]) for values in columns.values()),
        lambda row: f"candle {row + 1}",
        symbol,
    )


# Any: text where a value is text, else whole numbers or floats.
def _array(values: Sequence[object]) -> "pa.Array[Any]":
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int}:
        try:
            return pa.array(values, pa.int64())
        except OverflowError:
            return pa.array([str(value) for value in values], pa.string())
    if kinds and kinds <= {int, float}:
        return pa.array(values, pa.float64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())
