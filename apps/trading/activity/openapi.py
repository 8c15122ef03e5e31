"""What the OpenAPI document says of positions, orders, trades and signals."""

from collections.abc import Sequence
from typing import Final

from apps.core.api.renderers import table_of
from apps.core.errors import Code
from apps.core.openapi import (
    COUNT,
    DATE_IN_INDIA,
    DATE_SHOWN,
    FLAG,
    ID,
    ID_SHOWN,
    INTEGER,
    MOMENT,
    MOMENT_SHOWN,
    NOTHING,
    NUMBER,
    PAGED,
    TABLE_HEADERS,
    TABLE_TEXT,
    TEXT,
    Answer,
    Operation,
    Schema,
    described,
    nullable,
    one_of,
    page_of,
    page_shown,
    place,
    query,
    record,
    ref,
    sorted_by,
)
from apps.engine.kernel.reasons import CHARGE_KINDS, EXIT_REASONS
from apps.symbols.serializers import SYMBOL
from apps.trading.activity.serializers import (
    ORDER_COLUMNS,
    ORDER_SORTS,
    POSITION_SORTS,
    SIGNAL_SORTS,
    TRADE_COLUMNS,
    TRADE_SORTS,
)
from apps.trading.models import Intent, OrderStatus

POSITION_STATUSES: Final = ("open", "closed")
FLAGS: Final = ("true", "false")

_TAG: Final = "trading"
_ID: Final = place("algorithm_id", "The algorithm.")
_GONE: Final = {404: (Code.ALGORITHM_NOT_FOUND,)}
_SIDES: Final = ("long", "short")
_OF_SYMBOL: Final = query("symbol", SYMBOL, "Of this symbol alone.")

SCHEMAS: Final[dict[str, Schema]] = {
    "Position": record(
        {
            "runId": ID,
            "symbol": TEXT,
            "status": one_of(POSITION_STATUSES),
            "side": one_of(_SIDES),
            "quantity": INTEGER,
            "entryPrice": described(NUMBER, "The average of its entries."),
            "lastPrice": described(nullable(NUMBER), "The last close; of a closed one, its exit."),
            "unrealisedProfit": described(NUMBER, "At the last price, before charges."),
            "stopLoss": nullable(NUMBER),
            "takeProfit": nullable(NUMBER),
            "openedAt": described(MOMENT, "Start of the bar."),
            "closedAt": nullable(MOMENT),
            "closeRequestedAt": described(
                nullable(MOMENT), "When its owner asked for it to be closed."
            ),
        }
    ),
    "Order": record(
        {
            "id": described(ID, "The client order id."),
            "runId": ID,
            "symbol": TEXT,
            "side": one_of(("buy", "sell")),
            "intent": one_of([intent.value for intent in Intent]),
            "type": one_of(("market", "limit", "stop")),
            "price": nullable(NUMBER),
            "quantity": described(nullable(INTEGER), "An entry is sized when it is filled."),
            "status": one_of([status.value for status in OrderStatus]),
            "reason": described(nullable(TEXT), "Of an exit, or why it was not filled."),
            "barTime": described(MOMENT, "Start of the bar that made it."),
            "placedAt": described(
                MOMENT, "By the market's time: the close of that bar, or later where many came."
            ),
            "endedAt": described(
                nullable(MOMENT), "By the market's time: the close of the bar that ended it."
            ),
            "cancelRequestedAt": described(
                nullable(MOMENT), "When its owner asked for it to be cancelled."
            ),
            "fillPrice": nullable(NUMBER),
            "charges": nullable(NUMBER),
            "chargesByKind": nullable(record(dict.fromkeys(CHARGE_KINDS, NUMBER))),
        }
    ),
    "ExecutedTrade": record(
        {
            "id": ID,
            "runId": ID,
            "symbol": TEXT,
            "side": one_of(_SIDES),
            "quantity": INTEGER,
            "entryTime": MOMENT,
            "entryDate": DATE_IN_INDIA,
            "entryPrice": NUMBER,
            "exitTime": MOMENT,
            "exitDate": DATE_IN_INDIA,
            "exitPrice": NUMBER,
            "exitReason": one_of([reason for reason in EXIT_REASONS if reason]),
            "grossProfit": described(
                NUMBER, "With what a split left over of its shares, settled in cash, won or lost."
            ),
            "charges": NUMBER,
            "profit": described(NUMBER, "Net of charges."),
            "returnPercentage": NUMBER,
            "bars": COUNT,
        }
    ),
    "Signal": record(
        {
            "runId": ID,
            "symbol": TEXT,
            "time": described(MOMENT, "Start of the bar at whose close it was known."),
            "side": one_of(_SIDES),
            "action": one_of(("entry", "exit")),
            "followed": FLAG,
            "reason": described(nullable(TEXT), "Why it was not followed."),
        }
    ),
}

_POSITION_SHOWN: Final = {
    "runId": ID_SHOWN,
    "symbol": "NSE:RELIANCE",
    "status": "open",
    "side": "long",
    "quantity": 100,
    "entryPrice": 1400.5,
    "lastPrice": 1404,
    "unrealisedProfit": 350,
    "stopLoss": 1393.5,
    "takeProfit": 1414.55,
    "openedAt": MOMENT_SHOWN,
    "closedAt": None,
    "closeRequestedAt": None,
}
_ORDER_SHOWN: Final = {
    "id": ID_SHOWN,
    "runId": ID_SHOWN,
    "symbol": "NSE:RELIANCE",
    "side": "buy",
    "intent": "entry",
    "type": "market",
    "price": None,
    "quantity": None,
    "status": "open",
    "reason": None,
    "barTime": MOMENT_SHOWN,
    "placedAt": MOMENT_SHOWN,
    "endedAt": None,
    "cancelRequestedAt": None,
    "fillPrice": None,
    "charges": None,
    "chargesByKind": None,
}
_TRADE_SHOWN: Final = {
    "id": ID_SHOWN,
    "runId": ID_SHOWN,
    "symbol": "NSE:RELIANCE",
    "side": "long",
    "quantity": 100,
    "entryTime": MOMENT_SHOWN,
    "entryDate": DATE_SHOWN,
    "entryPrice": 1400.5,
    "exitTime": MOMENT_SHOWN,
    "exitDate": DATE_SHOWN,
    "exitPrice": 1414.5,
    "exitReason": "take_profit",
    "grossProfit": 1400,
    "charges": 94.2,
    "profit": 1305.8,
    "returnPercentage": 0.93,
    "bars": 7,
}
_SIGNAL_SHOWN: Final = {
    "runId": ID_SHOWN,
    "symbol": "NSE:RELIANCE",
    "time": MOMENT_SHOWN,
    "side": "long",
    "action": "entry",
    "followed": False,
    "reason": "position_limit",
}


def _sorted(sorts: Sequence[str]) -> tuple[Schema, Schema]:
    """The first is the default."""
    return sorted_by(list(sorts), default=next(iter(sorts)))


POSITIONS: Final = Operation(
    name="listPositions",
    summary="What its runs hold and held",
    tag=_TAG,
    parameters=(
        _ID,
        *PAGED,
        _OF_SYMBOL,
        query("status", one_of(POSITION_STATUSES), "Of this status alone."),
        *_sorted(list(POSITION_SORTS)),
    ),
    answers={200: Answer("One page.", page_of(ref("Position")), page_shown(_POSITION_SHOWN))},
    refusals=_GONE,
)
ORDERS: Final = Operation(
    name="listOrders",
    summary="The orders of its runs",
    text=TABLE_TEXT,
    tag=_TAG,
    parameters=(
        _ID,
        *PAGED,
        _OF_SYMBOL,
        query("status", one_of([one.value for one in OrderStatus]), "Of this status alone."),
        *_sorted(list(ORDER_SORTS)),
    ),
    answers={
        200: Answer(
            "One page.",
            page_of(ref("Order")),
            page_shown(_ORDER_SHOWN),
            headers=TABLE_HEADERS,
            table=table_of(ORDER_COLUMNS, [_ORDER_SHOWN]),
        )
    },
    refusals=_GONE,
)
TRADES: Final = Operation(
    name="listExecutedTrades",
    summary="The trades of its runs",
    text=TABLE_TEXT,
    tag=_TAG,
    parameters=(_ID, *PAGED, _OF_SYMBOL, *_sorted(list(TRADE_SORTS))),
    answers={
        200: Answer(
            "One page.",
            page_of(ref("ExecutedTrade")),
            page_shown(_TRADE_SHOWN),
            headers=TABLE_HEADERS,
            table=table_of(TRADE_COLUMNS, [_TRADE_SHOWN]),
        )
    },
    refusals=_GONE,
)
SIGNALS: Final = Operation(
    name="listSignals",
    summary="What its conditions said, and whether it was followed",
    tag=_TAG,
    parameters=(
        _ID,
        *PAGED,
        _OF_SYMBOL,
        query("followed", one_of(FLAGS), "Those that were, or were not."),
        *_sorted(list(SIGNAL_SORTS)),
    ),
    answers={200: Answer("One page.", page_of(ref("Signal")), page_shown(_SIGNAL_SHOWN))},
    refusals=_GONE,
)
CLOSE: Final = Operation(
    name="closePosition",
    summary="Close one position at its symbol's next open",
    tag=_TAG,
    parameters=(_ID, place("symbol", "The symbol.", schema=SYMBOL, example="NSE:RELIANCE")),
    idempotent=True,
    body=NOTHING,
    answers={
        200: Answer(
            "It is open until that bar has come.",
            ref("Position"),
            {**_POSITION_SHOWN, "closeRequestedAt": MOMENT_SHOWN},
        )
    },
    refusals={404: (Code.ALGORITHM_NOT_FOUND, Code.NOT_FOUND), 409: (Code.CONFLICT,)},
)
CANCEL: Final = Operation(
    name="cancelOrder",
    summary="Take back an entry that waits for the next bar",
    tag=_TAG,
    parameters=(place("order_id", "The order."),),
    idempotent=True,
    body=NOTHING,
    answers={
        200: Answer(
            "It is cancelled when that bar has come, and not traded.",
            ref("Order"),
            {**_ORDER_SHOWN, "cancelRequestedAt": MOMENT_SHOWN},
        )
    },
    refusals={404: (Code.NOT_FOUND,), 409: (Code.CONFLICT,)},
)
