"""The stored result of a backtest: trades in blocks, the curve in one array."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, LiteralString, NamedTuple

import numpy as np
from django.db import connection
from django.db.models import QuerySet
from numpy.typing import NDArray
from psycopg import Cursor

from apps.accounts.models import User
from apps.backtests import arrays
from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest, BacktestResult, TradeBlock
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.engine.figures.breakdowns import breakdowns
from apps.engine.figures.fills import Fills
from apps.engine.figures.paths import Excursions
from apps.engine.kernel.records import CURVE, TRADE, Array
from apps.engine.simulation.results import curve_points, trade_dicts

TRADES_A_BLOCK: Final = 5_000

RESULT: Final = (
    "INSERT INTO backtests_backtestresult (backtest_id, trades, curve, breakdowns)"
    " VALUES (%s, %s, %b, %s)"
)
BLOCK: Final = (
    "INSERT INTO backtests_tradeblock (result_id, first, data, excursions, fills)"
    " VALUES (%s, %s, %b, %b, %b)"
)


class NotCompleted(ServiceError):
    """There is no result."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The backtest is {currentStatus}; only one that is completed has a result."


def completed(*, owner: User, backtest_id: str) -> Backtest:
    """One that has a result. Raises BacktestNotFound, NotCompleted."""
    backtest = Backtest.objects.owned_by(owner).fetch(backtest_id)
    if backtest.status != Status.COMPLETED:
        raise NotCompleted(
            backtestId=backtest.pk,
            currentStatus=backtest.status,
            requiredStatus=Status.COMPLETED.value,
        )
    return backtest


class Trades(NamedTuple):
    """TRADE records in the order of their exits; how far prices went beside each, and what is known
    of the fills of each, None of results that are older than these.
    """

    records: Array
    excursions: Excursions | None
    fills: Fills | None = None

    def told(self, symbols: Sequence[str]) -> list[dict[str, object]]:
        """As clients see them."""
        return trade_dicts(self.records, symbols, self.excursions, self.fills)

    def of(self, rows: slice | NDArray[np.intp]) -> "Trades":
        """Some of them."""
        excursions = None if self.excursions is None else self.excursions.of(rows)
        fills = None if self.fills is None else self.fills.of(rows)
        return Trades(self.records[rows], excursions, fills)


def store(backtest: Backtest, *, trades: Trades, curve: Array) -> None:
    """Write a result, once: the database refuses a second one. `curve`: CURVE records."""
    found = breakdowns(
        trades.records, curve, symbols=backtest.symbols, capital=float(backtest.initial_capital)
    )
    _insert(RESULT, [(backtest.pk, len(trades.records), arrays.pack(curve), json.dumps(found))])
    _insert(
        BLOCK,
        (
            (backtest.pk, first, *_packed(trades.of(slice(first, first + TRADES_A_BLOCK))))
            for first in range(0, len(trades.records), TRADES_A_BLOCK)
        ),
    )


def _packed(trades: Trades) -> tuple[bytes, bytes | None, bytes | None]:
    """The columns of a block: its records, f8[2, trades] of its excursions, and f8[6, trades] of
    its fills.
    """
    excursions, fills = (
        None if columns is None else arrays.pack(np.stack(columns))
        for columns in (trades.excursions, trades.fills)
    )
    return arrays.pack(trades.records), excursions, fills


def _unpacked(blocks: QuerySet[TradeBlock]) -> Trades:
    """Those of the blocks, in their order; a result has excursions in all of its blocks or none,
    and fills too.
    """
    rows = list(blocks.order_by("first").values_list("data", "excursions", "fills"))
    records = np.concatenate([np.empty(0, TRADE), *(arrays.unpack(data) for data, _, _ in rows)])
    excursions = _columns([packed for _, packed, _ in rows], len(Excursions._fields))
    fills = _columns([packed for _, _, packed in rows], len(Fills._fields))
    return Trades(
        records,
        None if excursions is None else Excursions(*excursions),
        None if fills is None else Fills(*fills),
    )


def _columns(blocks: Sequence[bytes | memoryview | None], count: int) -> NDArray[np.float64] | None:
    """f8[count, trades] of all blocks; None where a block has none."""
    unpacked = [np.empty((count, 0))]
    for packed in blocks:
        if packed is None:
            return None
        unpacked.append(arrays.unpack(packed))
    return np.concatenate(unpacked, axis=1)


def _insert(statement: LiteralString, rows: Iterable[tuple[object, ...]]) -> None:
    """Bytes go as bytes: in Django's own cursor they would be written out in hexadecimal digits,
    which PostgreSQL then has to read.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
        cursor.executemany(statement, rows)


def trades(backtest: Backtest, rows: slice) -> tuple[list[dict[str, object]], int]:
    """Some of the trades, and how many there are in all; none before it is completed."""
    total = BacktestResult.objects.filter(pk=backtest.pk).values_list("trades", flat=True).first()
    if not total:
        return [], 0
    first = rows.start // TRADES_A_BLOCK * TRADES_A_BLOCK
    blocks = TradeBlock.objects.filter(result=backtest.pk, first__gte=first, first__lt=rows.stop)
    wanted = _unpacked(blocks).of(slice(rows.start - first, rows.stop - first))
    return wanted.told(backtest.symbols), total


def trades_of(backtest: Backtest, symbol: str, rows: slice) -> tuple[list[dict[str, object]], int]:
    """The same of one symbol; it reads all blocks, as none says whose trades it holds. Raises
    InvalidInput.
    """
    place = place_of(symbol, backtest)
    held = _unpacked(TradeBlock.objects.filter(result=backtest.pk))
    mine = np.flatnonzero(held.records["symbol"] == place)
    return held.of(mine[rows]).told(backtest.symbols), len(mine)


def place_of(symbol: str, backtest: Backtest) -> int:
    """Among those of the backtest. Raises InvalidInput."""
    if symbol not in backtest.symbols:
        raise InvalidInput(
            Fault("symbol", "is none of this backtest's", symbol, allowed=backtest.symbols)
        )
    return list(backtest.symbols).index(symbol)


def equity(backtest: Backtest, points: int) -> list[dict[str, object]]:
    """The curve in at most `points` buckets (engine rule 15); none before it is completed."""
    curves = BacktestResult.objects.filter(pk=backtest.pk).values_list("curve", flat=True)
    return list(chain.from_iterable(curve_points(arrays.unpack(one), points) for one in curves))


def whole(backtest: Backtest) -> tuple[Trades, Array]:
    """All its trades and CURVE records; none of either before it is completed."""
    trades = _unpacked(TradeBlock.objects.filter(result=backtest.pk))
    curves = BacktestResult.objects.filter(pk=backtest.pk).values_list("curve", flat=True)
    curve = [arrays.unpack(one) for one in curves]
    return trades, np.concatenate([np.empty(0, CURVE), *curve])


def broken_down(backtest: Backtest) -> dict[str, list[dict[str, object]]] | None:
    """Its breakdowns; None before it is completed, and of results that are older than they."""
    held = BacktestResult.objects.filter(pk=backtest.pk).values_list("breakdowns", flat=True)
    text = held.first()
    return None if text is None else json.loads(text)
