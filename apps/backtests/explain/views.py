"""/api/backtests/<id>/explain"""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.backtests.explain import openapi, services
from apps.backtests.explain.serializers import explanation_out
from apps.core.api.pagination import Query
from apps.core.openapi import documented
from apps.market.dates import read_moment


class ExplainView(ViewSet):
    """One candle of the caller's own backtest."""

    @documented(openapi.EXPLAIN)
    def explain(self, request: Request, backtest_id: str) -> Response:
        query = Query(request.query_params)
        found = services.explain(
            owner=caller(request),
            backtest_id=backtest_id,
            symbol=query.required("symbol"),
            at=read_moment("at", query.required("at"), last=False),
        )
        return Response(explanation_out(found))
