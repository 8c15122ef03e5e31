"""/api/backtests"""

import secrets

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.backtests import openapi, prefer_wait, services
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus
from apps.backtests.serializers import (
    BACKTEST_KINDS,
    SORTS,
    RenameIn,
    SubmitIn,
    backtest_out,
    whole_out,
)
from apps.backtests.submissions import OVERRIDES, STUDY_FIELDS, Submission, read_date_range
from apps.backtests.tables import ResultTable
from apps.core.api.idempotency import idempotent
from apps.core.api.pagination import Query, page_of, page_with
from apps.core.api.renderers import JsonRenderer
from apps.core.api.serializers import EmptyBody
from apps.core.openapi import documented
from apps.engine.studies.configs import MOST_SEED


class BacktestView(ViewSet):
    """The caller's backtests."""

    @documented(openapi.LIST)
    def list(self, request: Request) -> Response:
        query = Query(request.query_params)
        rows = Backtest.objects.owned_by(caller(request)).matching(
            algorithm_id=query.text("algorithmId"),
            status=query.choice("status", tuple(BacktestStatus)),
            kind=query.choice("kind", BACKTEST_KINDS),
        )
        rows = rows.order_by(*query.ordering(SORTS, default="createdAt"))
        return Response(page_of(rows, query.page(), backtest_out))

    @documented(openapi.CREATE)
    def create(self, request: Request) -> Response | HttpResponse:
        """The answer of the creation is what a repeated key gets; waiting is no part of it, and a
        refusal waits for nothing.
        """
        created = self._submit(request)
        if "Prefer" not in request.headers:
            return created
        if not isinstance(created, Response) or created.status_code != 201:
            return created
        backtest = services.read(owner=caller(request), backtest_id=created.data["id"])
        return _when_ended(request, backtest, status=201)

    @idempotent
    def _submit(self, request: Request) -> Response:
        now = timezone.now()
        body = SubmitIn.read(request.data)
        configs = [field.name for field in STUDY_FIELDS.values()]
        submission = Submission(
            algorithm_id=body["algorithmId"],
            date_range=read_date_range(body["startDate"], body["endDate"], now=now),
            kind=BacktestKind(body.get("kind", BacktestKind.BACKTEST)),
            name=body.get("name", ""),
            overrides={name: body[name] for name in OVERRIDES if name in body},
            configs={name: body[name] for name in configs if name in body},
        )
        backtest = services.submit(
            owner=caller(request),
            submission=submission,
            seed=secrets.randbelow(MOST_SEED + 1),
            now=now,
        )
        return Response(whole_out(backtest), status=201)

    @documented(openapi.READ)
    def show(self, request: Request, backtest_id: str) -> Response:
        backtest = services.read(owner=caller(request), backtest_id=backtest_id)
        return _when_ended(request, backtest, status=200)

    @documented(openapi.RENAME)
    def rename(self, request: Request, backtest_id: str) -> Response:
        name = RenameIn.read(request.data)["name"]
        backtest = services.rename(
            owner=caller(request), backtest_id=backtest_id, name=name, now=timezone.now()
        )
        return Response(whole_out(backtest))

    @documented(openapi.DELETE)
    def discard(self, request: Request, backtest_id: str) -> Response:
        services.delete(owner=caller(request), backtest_id=backtest_id, now=timezone.now())
        return Response(status=204)

    @documented(openapi.CANCEL)
    @idempotent
    def cancel(self, request: Request, backtest_id: str) -> Response:
        EmptyBody.read(request.data)
        backtest = services.cancel(
            owner=caller(request), backtest_id=backtest_id, now=timezone.now()
        )
        return Response(whole_out(backtest))


class ResultView(ViewSet):
    """What the caller's backtest did, also as tables."""

    renderer_classes = [JsonRenderer, ResultTable]

    @documented(openapi.TRADES)
    def trades(self, request: Request, backtest_id: str) -> Response:
        query = Query(request.query_params)
        page, symbol = query.page(), query.text("symbol")
        found, total = services.trades(
            owner=caller(request), backtest_id=backtest_id, symbol=symbol, rows=page.rows
        )
        return Response(page_with(found, page, total=total))

    @documented(openapi.EQUITY)
    def equity(self, request: Request, backtest_id: str) -> Response:
        points = Query(request.query_params).integer(
            "points", default=openapi.DEFAULT_POINTS, most=openapi.MAX_POINTS
        )
        found = services.equity(owner=caller(request), backtest_id=backtest_id, points=points)
        return Response({"points": found})


def _when_ended(request: Request, backtest: Backtest, *, status: int) -> Response:
    """The backtest now, or as it is after the wait that the client prefers."""
    response = Response(whole_out(backtest), status=status)
    if seconds := prefer_wait.parse_wait(request.headers.get("Prefer")):
        prefer_wait.delay_until_ended(response, backtest, seconds=seconds)
    return response
