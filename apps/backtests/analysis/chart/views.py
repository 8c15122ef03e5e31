"""The chart of a backtest."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.backtests.analysis.chart import services
from apps.backtests.analysis.chart.serializers import ChartQuery, ChartSerializer
from apps.backtests.models import BacktestNotFound
from apps.backtests.running.results import NotCompleted
from apps.core.api.resources import OwnedViewSet, refuses


@extend_schema(tags=["backtests"])
class ChartViewSet(OwnedViewSet):
    not_found = BacktestNotFound

    @extend_schema(
        operation_id="readChart", parameters=[ChartQuery], responses={200: ChartSerializer}
    )
    @refuses(NotCompleted)
    def retrieve(self, request: Request, backtest_id: str) -> Response:
        """Get the candles of a symbol with its fills, reduced for a chart.

        They have the shortest timeframe, from the backtest's own on, in which they are at most
        `limit`, else weeks. Prices are adjusted as in the backtest, from the candles stored now.
        """
        query = self.query(ChartQuery)
        chart = services.chart(
            owner=self.owner,
            backtest_id=backtest_id,
            symbol=query["symbol"],
            start=query.get("start"),
            end=query.get("end"),
            max_candles=query["limit"],
        )
        return Response(ChartSerializer.render(chart))
