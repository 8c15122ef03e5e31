"""The comparison of two backtests."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.backtests.analysis.comparison import services
from apps.backtests.analysis.comparison.serializers import (
    BacktestComparisonSerializer,
    CompareQuery,
)
from apps.backtests.models import BacktestNotFound
from apps.backtests.running.results import NotCompleted
from apps.core.api.resources import OwnedViewSet, refuses


@extend_schema(tags=["backtests"])
class ComparisonViewSet(OwnedViewSet):
    not_found = BacktestNotFound

    @extend_schema(
        operation_id="compareBacktests",
        parameters=[CompareQuery],
        responses={200: BacktestComparisonSerializer},
    )
    @refuses(BacktestNotFound, NotCompleted)
    def retrieve(self, request: Request) -> Response:
        """Compare two completed backtests.

        Their metrics, the differences in their steps in words, and their daily returns on the
        common days, resampled together (stationary bootstrap).
        """
        ids = self.query(CompareQuery)["ids"]
        comparison = services.compare_backtests(owner=self.owner, ids=ids)
        return Response(BacktestComparisonSerializer.render(comparison))
