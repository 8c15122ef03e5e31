"""/api/backtests"""

import secrets

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.backtests import services
from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest
from apps.backtests.serializers import KINDS, SubmitIn, backtest_out
from apps.backtests.span import read_span
from apps.core.pages import Query, page_of, page_with

SORTS = {"createdAt": "created_at", "name": "name"}


class BacktestView(ViewSet):
    """The caller's backtests."""

    def list(self, request: Request) -> Response:
        query = Query(request.query_params)
        rows = Backtest.objects.owned_by(caller(request)).matching(
            algorithm_id=query.text("algorithmId"),
            status=query.choice("status", tuple(Status)),
            kind=query.choice("kind", KINDS),
        )
        rows = rows.order_by(*query.ordering(SORTS, default="createdAt"))
        return Response(page_of(rows, query.page(), backtest_out))

    def create(self, request: Request) -> Response:
        now = timezone.now()
        body = SubmitIn.read(request.data)
        submission = services.Submission(
            algorithm_id=body["algorithmId"],
            span=read_span(body["startDate"], body["endDate"], now=now),
            kind=body.get("kind", "backtest"),
            name=body.get("name", ""),
            overrides={name: body[name] for name in services.OVERRIDES if name in body},
        )
        backtest = services.submit(
            owner=caller(request), submission=submission, seed=secrets.randbits(48), now=now
        )
        return Response(backtest_out(backtest), status=201)

    def show(self, request: Request, backtest_id: str) -> Response:
        backtest = services.read(owner=caller(request), backtest_id=backtest_id)
        return Response(backtest_out(backtest))

    def trades(self, request: Request, backtest_id: str) -> Response:
        page = Query(request.query_params).page()
        found, total = services.trades(
            owner=caller(request), backtest_id=backtest_id, rows=page.rows
        )
        return Response(page_with(found, page, total=total))

    def equity(self, request: Request, backtest_id: str) -> Response:
        points = Query(request.query_params).integer("points", default=500, most=5000)
        found = services.equity(owner=caller(request), backtest_id=backtest_id, points=points)
        return Response({"points": found})
