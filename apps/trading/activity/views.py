"""/api/trading/algorithms/<id>/positions, orders, trades and signals; /api/trading/orders/<id>."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.core.api.idempotency import idempotent
from apps.core.api.pagination import Query, page_of
from apps.core.api.renderers import JsonRenderer, TableRenderer
from apps.core.api.serializers import EmptyBody
from apps.core.errors import Fault, InvalidInput
from apps.core.openapi import documented
from apps.engine.symbols import InvalidSymbol, parse
from apps.trading.activity import openapi, services
from apps.trading.activity.serializers import (
    ORDER_COLUMNS,
    ORDER_SORTS,
    POSITION_SORTS,
    SIGNAL_SORTS,
    TRADE_COLUMNS,
    TRADE_SORTS,
    order_out,
    position_out,
    signal_out,
    trade_out,
)
from apps.trading.models import OrderStatus


class OrderTable(TableRenderer):
    columns = {"data": ORDER_COLUMNS}


class TradeTable(TableRenderer):
    columns = {"data": TRADE_COLUMNS}


class PositionView(ViewSet):
    @documented(openapi.POSITIONS)
    def list(self, request: Request, algorithm_id: str) -> Response:
        query = Query(request.query_params)
        status = query.choice("status", openapi.POSITION_STATUSES)
        rows = services.positions(
            owner=caller(request),
            algorithm_id=algorithm_id,
            symbol=_symbol(query),
            is_open=None if status is None else status == "open",
        )
        rows = rows.order_by(*query.ordering(POSITION_SORTS, default="openedAt"))
        return Response(page_of(rows, query.page(), position_out))

    @documented(openapi.CLOSE)
    @idempotent
    def close(self, request: Request, algorithm_id: str, symbol: str) -> Response:
        EmptyBody.read(request.data)
        position = services.close_position(
            owner=caller(request), algorithm_id=algorithm_id, symbol=symbol, now=timezone.now()
        )
        return Response(position_out(position))


class OrdersView(ViewSet):
    """All of an algorithm, also as a table."""

    renderer_classes = [JsonRenderer, OrderTable]

    @documented(openapi.ORDERS)
    def list(self, request: Request, algorithm_id: str) -> Response:
        query = Query(request.query_params)
        rows = services.orders(
            owner=caller(request),
            algorithm_id=algorithm_id,
            symbol=_symbol(query),
            status=query.choice("status", tuple(OrderStatus)),
        )
        rows = rows.order_by(*query.ordering(ORDER_SORTS, default="placedAt"))
        return Response(page_of(rows, query.page(), order_out))


class OrderView(ViewSet):
    @documented(openapi.CANCEL)
    @idempotent
    def cancel(self, request: Request, order_id: str) -> Response:
        EmptyBody.read(request.data)
        order = services.cancel_order(owner=caller(request), order_id=order_id, now=timezone.now())
        return Response(order_out(order))


class TradesView(ViewSet):
    """All of an algorithm, also as a table."""

    renderer_classes = [JsonRenderer, TradeTable]

    @documented(openapi.TRADES)
    def list(self, request: Request, algorithm_id: str) -> Response:
        query = Query(request.query_params)
        rows = services.trades(
            owner=caller(request), algorithm_id=algorithm_id, symbol=_symbol(query)
        )
        rows = rows.order_by(*query.ordering(TRADE_SORTS, default="exitTime"))
        return Response(page_of(rows, query.page(), trade_out))


class SignalsView(ViewSet):
    @documented(openapi.SIGNALS)
    def list(self, request: Request, algorithm_id: str) -> Response:
        query = Query(request.query_params)
        followed = query.choice("followed", openapi.FLAGS)
        rows = services.signals(
            owner=caller(request),
            algorithm_id=algorithm_id,
            symbol=_symbol(query),
            followed=None if followed is None else followed == "true",
        )
        rows = rows.order_by(*query.ordering(SIGNAL_SORTS, default="time"))
        return Response(page_of(rows, query.page(), signal_out))


def _symbol(query: Query) -> str | None:
    text = query.text("symbol")
    try:
        return None if text is None else str(parse(text))
    except InvalidSymbol as error:
        raise InvalidInput(Fault("symbol", error.reason, text)) from None
