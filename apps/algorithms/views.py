from typing import Final

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.algorithms import services
from apps.algorithms.lifecycle import LISTED
from apps.algorithms.serializers import (
    algorithm_out,
    changes_in,
    item_out,
    review_out,
    version_out,
)
from apps.algorithms.steps import STRATEGY_TYPES
from apps.core.pages import Query, page_of

SORTS: Final = {
    "name": "name",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "performance.totalTrades": "total_trades",
    "performance.winRate": "win_rate",
    "performance.totalProfit": "total_profit",
    "performance.profitFactor": "profit_factor",
}


class AlgorithmView(ViewSet):
    def list(self, request: Request) -> Response:
        query = Query(request.query_params)
        page = query.page()
        rows = services.listed(
            owner=caller(request),
            status=query.choice("status", LISTED),
            strategy_type=query.choice("strategyType", STRATEGY_TYPES),
            ordering=query.ordering(SORTS, default="createdAt"),
        )
        return Response(page_of(rows, page, item_out))

    def create(self, request: Request) -> Response:
        algorithm = services.create(
            owner=caller(request), changes=changes_in(request.data), now=timezone.now()
        )
        return Response(algorithm_out(algorithm), status=201)

    def show(self, request: Request, algorithm_id: str) -> Response:
        algorithm = services.read(owner=caller(request), algorithm_id=algorithm_id)
        return Response(algorithm_out(algorithm))

    def update(self, request: Request, algorithm_id: str) -> Response:
        """PUT and PATCH alike: what is sent replaces, what is absent stays."""
        algorithm = services.update(
            owner=caller(request),
            algorithm_id=algorithm_id,
            changes=changes_in(request.data),
            now=timezone.now(),
        )
        return Response(algorithm_out(algorithm))

    def archive(self, request: Request, algorithm_id: str) -> Response:
        services.archive(owner=caller(request), algorithm_id=algorithm_id, now=timezone.now())
        return Response(status=204)

    def validate(self, request: Request, algorithm_id: str) -> Response:
        review = services.validate(
            owner=caller(request), algorithm_id=algorithm_id, now=timezone.now()
        )
        return Response(review_out(review))

    def versions(self, request: Request, algorithm_id: str) -> Response:
        page = Query(request.query_params).page()
        rows = services.versions(owner=caller(request), algorithm_id=algorithm_id)
        return Response(page_of(rows, page, version_out))
