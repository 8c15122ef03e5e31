"""/api/backtests: submit, read and manage backtests."""

import secrets

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.algorithms.models import AlgorithmNotFound
from apps.algorithms.services import AlgorithmIncomplete
from apps.backtests import services
from apps.backtests.models import BACKTEST_ENDED_CHANNEL, Backtest, BacktestKind, BacktestNotFound
from apps.backtests.prefer_wait import (
    PREFERENCE_APPLIED,
    prefer_header,
    respond_when_ended,
)
from apps.backtests.running.estimates import TooManySeconds, TooMuchMemory
from apps.backtests.running.submissions import OVERRIDES, STUDY_FIELDS, read_date_range
from apps.backtests.running.sufficient_history import InsufficientHistory
from apps.backtests.serializers import (
    BACKTEST_SORTS,
    BacktestChangeSerializer,
    BacktestQuery,
    BacktestRequestSerializer,
    BacktestSerializer,
    EquityQuery,
    EquitySerializer,
    ResultArrow,
    ResultTable,
    TradeSerializer,
    TradesQuery,
    WholeBacktestSerializer,
)
from apps.backtests.services import BacktestRunning
from apps.core.api.resources import (
    AFTER,
    NO_FIELDS,
    EmptyBody,
    JsonRenderer,
    OwnedViewSet,
    Page,
    PageQuery,
    WholeQuery,
    growing,
    idempotent,
    ordering,
    page_with,
    refuses,
    send_whole,
    whole_list,
)
from apps.engine.studies import StudyConfig
from apps.market.rulebook import SymbolNotTradable

PREFER = prefer_header("the backtest has ended")


@extend_schema(tags=["backtests"])
class BacktestViewSet(OwnedViewSet):
    not_found = BacktestNotFound
    lookup_url_kwarg = "backtest_id"

    @extend_schema(
        operation_id="listBacktests",
        parameters=[BacktestQuery, AFTER],
        responses=BacktestSerializer(many=True),
    )
    def list(self, request: Request) -> Response:
        """List the caller's backtests.

        They have metrics, but no warnings and breakdowns, which the call for one backtest returns.
        """
        query = self.query(BacktestQuery)
        rows = services.backtests_of(
            owner=self.owner,
            algorithm_id=query.get("algorithm_id"),
            status=query.get("status"),
            kind=query.get("kind"),
        )
        among = services.backtests_of(owner=self.owner, algorithm_id=None, status=None, kind=None)
        rows = rows.order_by(*ordering(query, BACKTEST_SORTS))
        source = growing(rows, query, BACKTEST_SORTS, among=among, newest="created_at")
        return self.page(source, BacktestSerializer)

    @extend_schema(
        operation_id="submitBacktest",
        parameters=[PREFER, PREFERENCE_APPLIED],
        request=BacktestRequestSerializer,
        responses={201: WholeBacktestSerializer},
    )
    @refuses(
        AlgorithmNotFound,
        AlgorithmIncomplete,
        SymbolNotTradable,
        InsufficientHistory,
        TooMuchMemory,
        TooManySeconds,
    )
    def create(self, request: Request) -> Response | HttpResponse:
        """Submit a backtest.

        `symbols`, `timeframe`, `initialCapital`, `slippage` and `charges` override the algorithm's.
        A study takes its configuration from the request. Without one, a walk-forward or a Monte
        Carlo simulation takes the algorithm's; a Monte Carlo needs none. Metrics, trades and curve
        are those of the best set (optimization) or of the joined tests (walk_forward). The stored
        answer of an Idempotency-Key is the answer without any wait.
        """
        created = self._submit(request)
        if "Prefer" not in request.headers:
            return created
        if not isinstance(created, Response) or created.status_code != 201:
            return created  # a refusal waits for nothing
        backtest = services.read(owner=self.owner, backtest_id=created.data["id"])
        return self._when_ended(backtest, status=201)

    # Only the writing part is idempotent: a replay is never the answer after a wait.
    create.is_idempotent = True  # type: ignore[attr-defined]

    @idempotent
    def _submit(self, request: Request) -> Response:
        body = self.read(BacktestRequestSerializer)
        configs = [field.name for field in STUDY_FIELDS.values()]
        backtest = services.submit(
            owner=self.owner,
            algorithm_id=body["algorithmId"],
            date_range=read_date_range(body["startDate"], body["endDate"], now=self.now),
            kind=BacktestKind(body.get("kind", BacktestKind.BACKTEST)),
            name=body.get("name", ""),
            overrides={name: body[name] for name in OVERRIDES if name in body},
            configs={name: body[name] for name in configs if name in body},
            seed=secrets.randbelow(StudyConfig.MOST_SEED + 1),
            now=self.now,
        )
        return Response(WholeBacktestSerializer.render(backtest), status=201)

    @extend_schema(
        operation_id="readBacktest",
        parameters=[PREFER, PREFERENCE_APPLIED],
        responses={200: WholeBacktestSerializer},
    )
    def retrieve(self, request: Request, backtest_id: str) -> Response:
        """Get a backtest.

        It has its progress and, once it is completed, its metrics and breakdowns. Trades and equity
        curve have their own calls.
        """
        backtest = services.read(owner=self.owner, backtest_id=backtest_id)
        return self._when_ended(backtest, status=200)

    @extend_schema(
        operation_id="renameBacktest",
        request=BacktestChangeSerializer,
        responses={200: WholeBacktestSerializer},
    )
    @refuses(BacktestRunning)
    def partial_update(self, request: Request, backtest_id: str) -> Response:
        """Rename a finished backtest, or mark it as kept.

        A kept backtest is not deleted by the service (`expiresAt`). Other fields cannot be changed;
        422 while it is queued or running.
        """
        body = self.read(BacktestChangeSerializer)
        backtest = services.update_backtest(
            owner=self.owner,
            backtest_id=backtest_id,
            name=body.get("name"),
            is_kept=body.get("kept"),
            now=self.now,
        )
        return Response(WholeBacktestSerializer.render(backtest))

    @extend_schema(operation_id="deleteBacktest", responses={204: None})
    @refuses(BacktestRunning)
    def destroy(self, request: Request, backtest_id: str) -> Response:
        """Delete a finished backtest, with its result.

        It cannot be undone. 422 while it is queued or running: cancel it first.
        """
        services.delete(owner=self.owner, backtest_id=backtest_id, now=self.now)
        return Response(status=204)

    @extend_schema(
        operation_id="cancelBacktest",
        request=NO_FIELDS,
        responses={200: WholeBacktestSerializer},
    )
    @action(detail=True, methods=["post"])
    @idempotent
    def cancel(self, request: Request, backtest_id: str) -> Response:
        """Cancel a queued or running backtest.

        It ends without a result. 422 if it has ended already.
        """
        self.read(EmptyBody)
        backtest = services.cancel(owner=self.owner, backtest_id=backtest_id, now=self.now)
        return Response(WholeBacktestSerializer.render(backtest))

    @extend_schema(
        operation_id="listTrades",
        parameters=[TradesQuery, WholeQuery],
        responses=TradeSerializer(many=True),
    )
    @action(detail=True, renderer_classes=[JsonRenderer, ResultTable, ResultArrow])
    def trades(self, request: Request, backtest_id: str) -> Response | StreamingHttpResponse:
        """List the trades of a backtest, in the order of their exits.

        With `Accept: text/csv` or Arrow the same page as a table; headers link to the other pages.
        With `whole=true` the table has all of them.
        """
        query, symbol = self.query(PageQuery), self.query(TradesQuery).get("symbol")
        if whole_list(request, instead_of=("page", "limit")):
            blocks = services.all_trades(owner=self.owner, backtest_id=backtest_id, symbol=symbol)
            return send_whole(request, "data", blocks)
        page = Page(number=query["page"], limit=query["limit"])
        trades, total = services.trades(
            owner=self.owner,
            backtest_id=backtest_id,
            symbol=symbol,
            rows=page.rows,
        )
        return Response(page_with(trades, page, total=total))

    @extend_schema(
        operation_id="readEquity",
        parameters=[EquityQuery, WholeQuery],
        responses={200: EquitySerializer},
    )
    @action(detail=True, renderer_classes=[JsonRenderer, ResultTable, ResultArrow])
    def equity(self, request: Request, backtest_id: str) -> Response | StreamingHttpResponse:
        """Get the equity curve of a backtest.

        Each point keeps the low, the high and the largest drawdown of its bars. With `Accept:
        text/csv` or Arrow the points are a table, and with `whole=true` it has a point for each
        bar. It is empty before the backtest is completed.
        """
        if whole_list(request, instead_of=("points",)):
            blocks = services.whole_equity(owner=self.owner, backtest_id=backtest_id)
            return send_whole(request, "points", blocks)
        points = services.equity(
            owner=self.owner,
            backtest_id=backtest_id,
            points=self.query(EquityQuery)["points"],
        )
        return Response({"points": points})

    def _when_ended(self, backtest: Backtest, *, status: int) -> Response:
        """Answer the backtest now, or in its state after the wait that the client prefers."""
        return respond_when_ended(
            backtest,
            headers=self.request.headers,
            channel=BACKTEST_ENDED_CHANNEL,
            render=WholeBacktestSerializer.render,
            status=status,
        )
