"""Positions, orders, trades and signals on the wire; prices and money in rupees."""

from datetime import datetime
from decimal import Decimal
from typing import Final

from apps.core.times import wire_time
from apps.engine.kernel.reasons import CHARGE_KINDS
from apps.engine.units import Unit, rounded
from apps.market.dates import INDIA
from apps.trading.models import Order, Position, Signal, Trade

POSITION_SORTS: Final = {
    "openedAt": "opened_at", "symbol": "symbol", "unrealisedProfit": "unrealised",
}  # fmt: skip
ORDER_SORTS: Final = {"placedAt": "placed_at", "symbol": "symbol"}
TRADE_SORTS: Final = {"exitTime": "exit_time", "symbol": "symbol", "profit": "profit"}
SIGNAL_SORTS: Final = {"time": "bar_time", "symbol": "symbol"}
"""What each list can be sorted by, the first unless said; and the column of each."""

ORDER_COLUMNS: Final = (
    "id", "runId", "symbol", "side", "intent", "type", "price", "quantity", "status", "reason",
    "barTime", "placedAt", "endedAt", "fillPrice", "charges",
)  # fmt: skip
TRADE_COLUMNS: Final = (
    "id", "runId", "symbol", "side", "quantity", "entryTime", "entryDate", "entryPrice", "exitTime",
    "exitDate", "exitPrice", "exitReason", "grossProfit", "charges", "profit", "returnPercentage",
    "bars",
)  # fmt: skip
"""Of the tables, by the names of the JSON."""


def position_out(position: Position) -> dict[str, object]:
    closed, asked = position.closed_at, position.close_requested_at
    return {
        "runId": position.run_id,
        "symbol": position.symbol,
        "status": "closed" if closed else "open",
        "side": "long" if position.quantity > 0 else "short",
        "quantity": abs(position.quantity),
        "entryPrice": float(position.entry_price),
        "lastPrice": _number(position.mark),
        "unrealisedProfit": float(position.unrealised),
        "stopLoss": _number(position.stop),
        "takeProfit": _number(position.target),
        "openedAt": wire_time(position.opened_at),
        "closedAt": wire_time(closed) if closed else None,
        "closeRequestedAt": wire_time(asked) if asked else None,
    }


def order_out(order: Order) -> dict[str, object]:
    """An order is filled at once or not at all: it has one fill at most."""
    fill = next(iter(order.fills.all()), None)
    ended, asked = order.ended_at, order.cancel_requested_at
    return {
        "id": order.pk,
        "runId": order.run_id,
        "symbol": order.symbol,
        "side": order.side,
        "intent": order.intent,
        "type": order.type,
        "price": _number(order.price),
        "quantity": order.quantity,
        "status": order.status,
        "reason": order.reason or None,
        "barTime": wire_time(order.bar_time),
        "placedAt": wire_time(order.placed_at),
        "endedAt": wire_time(ended) if ended else None,
        "cancelRequestedAt": wire_time(asked) if asked else None,
        "fillPrice": float(fill.price) if fill else None,
        "charges": float(fill.charges) if fill else None,
        "chargesByKind": (
            {kind: float(fill.charges_by_kind.get(kind, 0)) for kind in CHARGE_KINDS}
            if fill
            else None
        ),
    }


def trade_out(trade: Trade) -> dict[str, object]:
    return {
        "id": trade.pk,
        "runId": trade.run_id,
        "symbol": trade.symbol,
        "side": trade.side,
        "quantity": trade.quantity,
        "entryTime": wire_time(trade.entry_time),
        "entryDate": _date_in_india(trade.entry_time),
        "entryPrice": float(trade.entry_price),
        "exitTime": wire_time(trade.exit_time),
        "exitDate": _date_in_india(trade.exit_time),
        "exitPrice": float(trade.exit_price),
        "exitReason": trade.exit_reason,
        "grossProfit": float(trade.gross_profit),
        "charges": float(trade.charges),
        "profit": float(trade.profit),
        "returnPercentage": rounded(trade.return_percentage, Unit.PERCENT),
        "bars": trade.bars,
    }


def signal_out(signal: Signal) -> dict[str, object]:
    return {
        "runId": signal.run_id,
        "symbol": signal.symbol,
        "time": wire_time(signal.bar_time),
        "side": signal.side,
        "action": signal.action,
        "followed": signal.followed,
        "reason": signal.reason or None,
    }


def _date_in_india(moment: datetime) -> str:
    return moment.astimezone(INDIA).date().isoformat()


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)
