"""The stored result of a backtest: trades in blocks, the equity curve in one array."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, LiteralString

import numpy as np
import pyarrow as pa
from django.db import connection
from django.db.models import QuerySet
from numpy.typing import NDArray
from psycopg import Cursor

from apps.accounts.models import User
from apps.algorithms.performance import BacktestedReturns, register_returns
from apps.backtests.models import Backtest, BacktestKind, BacktestResult, BacktestStatus, TradeBlock
from apps.backtests.running import queries
from apps.backtests.running.receipts import Receipt
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.engine import notes_on_engine
from apps.engine.results import (
    Array,
    ClosedTrade,
    EquityCurve,
    EquityPoint,
    ReceiptNote,
    ResultData,
    Trades,
)

TRADES_PER_BLOCK: Final = 5_000
POINTS_PER_BLOCK: Final = 5_000


class NotCompleted(ServiceError):
    """The backtest has no result."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The backtest is {currentStatus}; only a completed one has a result."


def fetch_completed(*, owner: User, backtest_id: str) -> Backtest:
    """Return the user's completed backtest. Raises BacktestNotFound, NotCompleted."""
    backtest = Backtest.objects.owned_by(owner).fetch(backtest_id)
    if backtest.status != BacktestStatus.COMPLETED:
        raise NotCompleted(
            backtestId=backtest.pk,
            currentStatus=backtest.status,
            requiredStatus=BacktestStatus.COMPLETED.value,
        )
    return backtest


def pack_array(array: NDArray[Any]) -> bytes:
    """Return the array in NumPy's own file format, compressed by zstd.

    It is exact, and equal arrays give equal bytes.
    """
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(buffer.getbuffer())
    return bytes(sink.getvalue())


def unpack_array(data: bytes | memoryview) -> NDArray[Any]:
    """Return the array that `pack_array` packed."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        array: NDArray[Any] = np.load(io.BytesIO(stream.read()), allow_pickle=False)
    return array


def digest(*arrays: NDArray[Any]) -> str:
    """Return the SHA-256, in hex, of the lengths and bytes of the arrays."""
    checksum = sha256()
    for array in arrays:
        checksum.update(len(array).to_bytes(8, "big"))
        checksum.update(np.ascontiguousarray(array).reshape(-1).data)
    return checksum.hexdigest()


def save_result(
    backtest: Backtest,
    *,
    trades: Trades,
    curve: Array,
    candle_series: Sequence[Mapping[str, object]],
    study_chart: Mapping[str, object] | None = None,
) -> None:
    """Write the result, once: the database refuses a second one. `curve` has CURVE records,
    `candle_series` are JSON.
    """
    result = ResultData(trades.records, curve, float(backtest.initial_capital))
    _insert(
        queries.INSERT_RESULT,
        [
            (
                backtest.pk,
                len(trades.records),
                pack_array(curve),
                json.dumps(result.breakdowns(backtest.symbols)),
                json.dumps(candle_series),
                study_chart and json.dumps(study_chart),
            )
        ],
    )
    _insert(
        queries.INSERT_BLOCK,
        (
            (
                backtest.pk,
                first,
                *_pack_trades(trades.select(slice(first, first + TRADES_PER_BLOCK))),
            )
            for first in range(0, len(trades.records), TRADES_PER_BLOCK)
        ),
    )


def _pack_trades(trades: Trades) -> tuple[bytes, bytes | None, bytes | None]:
    """Return the columns of a block: its records, f8[2, trades] of its excursions, and f8[6,
    trades] of its fills.
    """
    excursions, fills = (
        None if columns is None else pack_array(np.stack(columns))
        for columns in (trades.excursions, trades.fills)
    )
    return pack_array(trades.records), excursions, fills


def _unpack_trades(blocks: QuerySet[TradeBlock]) -> Trades:
    """Return the trades of the blocks.

    All blocks of a result have excursions or none has; the same holds for fills.
    """
    rows = blocks.order_by("first").values_list("data", "excursions", "fills")
    return Trades.joined(
        (unpack_array(data), _unpack_columns(excursions), _unpack_columns(fills))
        for data, excursions, fills in rows
    )


def _unpack_columns(data: bytes | memoryview | None) -> NDArray[np.float64] | None:
    return None if data is None else unpack_array(data)


def _insert(statement: LiteralString, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert the rows with binary parameters: Django's own cursor would send bytes as hexadecimal
    text, which PostgreSQL must parse.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
        cursor.executemany(statement, rows)


def trades_page(backtest: Backtest, rows: slice) -> tuple[list[ClosedTrade], int]:
    """Return a page of the trades and their total number; empty before the backtest is
    completed.
    """
    total = BacktestResult.objects.filter(pk=backtest.pk).values_list("trades", flat=True).first()
    if not total:
        return [], 0
    first = rows.start // TRADES_PER_BLOCK * TRADES_PER_BLOCK
    blocks = TradeBlock.objects.filter(result=backtest.pk, first__gte=first, first__lt=rows.stop)
    trades = _unpack_trades(blocks).select(slice(rows.start - first, rows.stop - first))
    return trades.to_wire(backtest.symbols), total


def trade_blocks(backtest: Backtest, symbol: int | None = None) -> Iterator[list[ClosedTrade]]:
    """Yield every trade, or every trade of the symbol with this index, as clients see them, with
    one block in memory at a time.
    """
    first = 0
    while rows := TradeBlock.objects.filter(result=backtest.pk, first=first):
        trades = _unpack_trades(rows)
        first += len(trades.records)
        if symbol is not None:
            trades = trades.select(np.flatnonzero(trades.records["symbol"] == symbol))
        yield trades.to_wire(backtest.symbols)


def trades_page_of_symbol(
    backtest: Backtest, symbol: str, rows: slice
) -> tuple[list[ClosedTrade], int]:
    """Return the same for one symbol.

    It reads all blocks, because they hold trades of every symbol. Raises InvalidInput.
    """
    trades = _unpack_trades(TradeBlock.objects.filter(result=backtest.pk))
    indices = np.flatnonzero(trades.records["symbol"] == symbol_index(symbol, backtest))
    return trades.select(indices[rows]).to_wire(backtest.symbols), len(indices)


def symbol_index(symbol: str, backtest: Backtest) -> int:
    """Return the index of the symbol in the backtest's list. Raises InvalidInput."""
    if symbol not in backtest.symbols:
        raise InvalidInput(
            Fault("symbol", "is not a symbol of this backtest", symbol, allowed=backtest.symbols)
        )
    return list(backtest.symbols).index(symbol)


def equity_points(backtest: Backtest, points: int) -> list[EquityPoint]:
    """Return the equity curve in at most `points` buckets (engine rule 15); empty before the
    backtest is completed.
    """
    return EquityCurve(load_curve(backtest)).points(points)


def equity_blocks(backtest: Backtest) -> Iterator[list[EquityPoint]]:
    """Return the equity at every bar, as clients see it, in blocks; none before the backtest is
    completed.
    """
    return EquityCurve(load_curve(backtest)).blocks(POINTS_PER_BLOCK)


def load_result(backtest: Backtest) -> tuple[Trades, Array]:
    """Return all trades and CURVE records; both empty before the backtest is completed."""
    return _unpack_trades(TradeBlock.objects.filter(result=backtest.pk)), load_curve(backtest)


def load_curve(backtest: Backtest) -> Array:
    """Return CURVE records; empty before the backtest is completed."""
    curves = BacktestResult.objects.filter(pk=backtest.pk).values_list("curve", flat=True)
    return EquityCurve.joined(map(unpack_array, curves)).records


@register_returns
def _returns_of(algorithm_id: str, steps: Mapping[str, Any]) -> BacktestedReturns | None:
    """Return the daily returns of the newest backtest with exactly these steps."""
    completed = Backtest.objects.filter(
        algorithm_id=algorithm_id,
        kind__in=(BacktestKind.BACKTEST, BacktestKind.MONTE_CARLO),
        status=BacktestStatus.COMPLETED,
        configuration=steps,
    )
    backtest = completed.order_by("-completed_at", "-pk").first()
    if backtest is None:
        return None
    result = ResultData(
        Trades.joined([]).records, load_curve(backtest), float(backtest.initial_capital)
    )
    return BacktestedReturns(backtest.pk, result.daily, backtest.seed)


def load_breakdowns(backtest: Backtest) -> dict[str, list[dict[str, object]]] | None:
    """Return the breakdowns; None before the backtest is completed, and in results of releases that
    did not record them.
    """
    rows = BacktestResult.objects.filter(pk=backtest.pk).values_list("breakdowns", flat=True)
    text = rows.first()
    return None if text is None else json.loads(text)


def engine_notes(backtest: Backtest) -> list[ReceiptNote]:
    """Return what is known today of the engine that made the result; none before there is one."""
    if backtest.receipt is None:
        return []
    notes = notes_on_engine(backtest.configuration, backtest.receipt["engineVersion"])
    return [note.to_wire() for note in notes]


def noted_receipt(backtest: Backtest) -> Receipt | None:
    """Return the receipt with these notes; None without a result."""
    receipt: Receipt | None = backtest.receipt
    if receipt is None:
        return None
    return {**receipt, "notes": [*engine_notes(backtest), *receipt["notes"]]}
