"""The positions, orders, trades and signals of an algorithm's runs; closing and cancelling
by hand.
"""

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.algorithms import services as algorithms
from apps.algorithms.models import AlgorithmNotFound
from apps.algorithms.serializers import SORTS, AlgorithmQuery
from apps.core.api.resources import (
    AFTER,
    NO_FIELDS,
    EmptyBody,
    JsonRenderer,
    OwnedViewSet,
    WholeQuery,
    growing,
    idempotent,
    ordering,
    refuses,
)
from apps.core.errors import NotFound
from apps.symbols.serializers import SYMBOL
from apps.trading.activity import live_summary, services
from apps.trading.activity.serializers import (
    ORDER_SORTS,
    POSITION_SORTS,
    SIGNAL_SORTS,
    TRADE_SORTS,
    ExecutedTradeSerializer,
    ExecutedTradesQuery,
    OrderArrow,
    OrderSerializer,
    OrdersQuery,
    OrderTable,
    PositionSerializer,
    PositionsQuery,
    SignalSerializer,
    SignalsQuery,
    StandingSerializer,
    TradeArrow,
    TradeTable,
)
from apps.trading.activity.services import ExitGoesOn, OrderEnded


@extend_schema(tags=["trading"])
class ActivityViewSet(OwnedViewSet):
    not_found = AlgorithmNotFound
    lookup_url_kwarg = "algorithm_id"

    @extend_schema(operation_id="readStanding", responses={200: StandingSerializer})
    @action(detail=True)
    def standing(self, request: Request, algorithm_id: str) -> Response:
        """Get the present state of an algorithm.

        Today's and total profit, open positions and the last signal.
        """
        algorithm = algorithms.read(owner=self.owner, algorithm_id=algorithm_id)
        summaries = live_summary.live_summaries(
            owner=self.owner, algorithm_ids=[algorithm.pk], now=self.now
        )
        return Response(StandingSerializer.render(summaries[algorithm.pk]))

    @extend_schema(
        operation_id="listPositions",
        parameters=[PositionsQuery],
        responses=PositionSerializer(many=True),
    )
    @action(detail=True)
    def positions(self, request: Request, algorithm_id: str) -> Response:
        """List the positions of an algorithm.

        Of all its runs, ended ones included; `status` selects open or closed positions.
        """
        query = self.query(PositionsQuery)
        rows = services.positions(
            owner=self.owner,
            algorithm_id=algorithm_id,
            symbol=query.get("symbol"),
            is_open=query["status"] == "open" if "status" in query else None,
        )
        return self.page(rows.order_by(*ordering(query, POSITION_SORTS)), PositionSerializer)

    @extend_schema(
        operation_id="closePosition",
        parameters=[
            OpenApiParameter(
                "symbol",
                {**SYMBOL, "examples": ["NSE:RELIANCE"]},
                OpenApiParameter.PATH,
                required=True,
                description="The symbol.",
            )
        ],
        request=NO_FIELDS,
        responses={200: PositionSerializer},
    )
    @refuses(NotFound)
    @action(detail=True, methods=["post"], url_path="positions/<str:symbol>/close")
    @idempotent
    def close(self, request: Request, algorithm_id: str, symbol: str) -> Response:
        """Close one position at its symbol's next open.

        It stays open until that bar arrives.
        """
        self.read(EmptyBody)
        position = services.request_position_close(
            owner=self.owner, algorithm_id=algorithm_id, symbol=symbol, now=self.now
        )
        return Response(PositionSerializer.render(position))

    @extend_schema(
        operation_id="listOrders",
        parameters=[OrdersQuery, AFTER, WholeQuery],
        responses=OrderSerializer(many=True),
    )
    @action(detail=True, renderer_classes=[JsonRenderer, OrderTable, OrderArrow])
    def orders(self, request: Request, algorithm_id: str) -> Response | StreamingHttpResponse:
        """List the orders of an algorithm.

        With `Accept: text/csv` or Arrow the same page as a table; headers link to the other pages.
        With `whole=true` the table has all of them.
        """
        query = self.query(OrdersQuery)
        rows = services.orders(
            owner=self.owner,
            algorithm_id=algorithm_id,
            symbol=query.get("symbol"),
            status=query.get("status"),
        )
        among = services.orders(
            owner=self.owner, algorithm_id=algorithm_id, symbol=None, status=None
        )
        rows = rows.order_by(*ordering(query, ORDER_SORTS))
        source = growing(rows, query, ORDER_SORTS, among=among, newest="placed_at")
        return self.page_or_whole(source, OrderSerializer)

    @extend_schema(
        operation_id="listExecutedTrades",
        parameters=[ExecutedTradesQuery, AFTER, WholeQuery],
        responses=ExecutedTradeSerializer(many=True),
    )
    @action(detail=True, renderer_classes=[JsonRenderer, TradeTable, TradeArrow])
    def trades(self, request: Request, algorithm_id: str) -> Response | StreamingHttpResponse:
        """List the trades of an algorithm.

        With `Accept: text/csv` or Arrow the same page as a table; headers link to the other pages.
        With `whole=true` the table has all of them.
        """
        query = self.query(ExecutedTradesQuery)
        rows = services.trades(
            owner=self.owner, algorithm_id=algorithm_id, symbol=query.get("symbol")
        )
        among = services.trades(owner=self.owner, algorithm_id=algorithm_id, symbol=None)
        rows = rows.order_by(*ordering(query, TRADE_SORTS))
        source = growing(rows, query, TRADE_SORTS, among=among, newest="exit_time")
        return self.page_or_whole(source, ExecutedTradeSerializer)

    @extend_schema(
        operation_id="listSignals",
        parameters=[SignalsQuery],
        responses=SignalSerializer(many=True),
    )
    @action(detail=True)
    def signals(self, request: Request, algorithm_id: str) -> Response:
        """List the signals of an algorithm, with their outcome.

        Signals are entries and exits at the close of a bar; `reason` tells why a signal was not
        followed. They are kept for 90 days of the market.
        """
        query = self.query(SignalsQuery)
        rows = services.signals(
            owner=self.owner,
            algorithm_id=algorithm_id,
            symbol=query.get("symbol"),
            followed=query["followed"] == "true" if "followed" in query else None,
        )
        return self.page(rows.order_by(*ordering(query, SIGNAL_SORTS)), SignalSerializer)


@extend_schema(tags=["trading"])
class StandingViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="listStandings",
        parameters=[AlgorithmQuery, AFTER],
        responses=StandingSerializer(many=True),
    )
    def list(self, request: Request) -> Response:
        """List the present state of the caller's algorithms.

        Filters, sorting and pages are the same as in the list of algorithms.
        """
        query = self.query(AlgorithmQuery)
        rows = algorithms.listed(
            owner=self.owner,
            statuses=[query["status"]] if "status" in query else (),
            strategy_type=query.get("strategy_type"),
            ordering=ordering(query, SORTS),
        )
        among = algorithms.listed(owner=self.owner, ordering=())
        source = growing(rows, query, SORTS, among=among, newest="created_at")
        keys = [row["id"] for row in self.paginate_queryset(source)]
        summaries = live_summary.live_summaries(owner=self.owner, algorithm_ids=keys, now=self.now)
        data = [StandingSerializer.render(summaries[key]) for key in keys if key in summaries]
        return self.get_paginated_response(data)


@extend_schema(tags=["trading"])
class OrderViewSet(OwnedViewSet):
    lookup_url_kwarg = "order_id"

    @extend_schema(operation_id="cancelOrder", request=NO_FIELDS, responses={200: OrderSerializer})
    @refuses(OrderEnded, ExitGoesOn)
    @action(detail=True, methods=["post"])
    @idempotent
    def cancel(self, request: Request, order_id: str) -> Response:
        """Cancel an entry that waits for the next bar.

        The cancellation takes effect when that bar arrives, and the order is not traded.
        """
        self.read(EmptyBody)
        order = services.cancel_order(owner=self.owner, order_id=order_id, now=self.now)
        return Response(OrderSerializer.render(order))
