"""The explanation of a candle of a backtest."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.backtests.analysis.explanation import services
from apps.backtests.analysis.explanation.serializers import ExplainQuery, ExplanationSerializer
from apps.backtests.analysis.explanation.services import NoCandle
from apps.backtests.models import BacktestNotFound
from apps.backtests.running.results import NotCompleted
from apps.core.api.resources import OwnedViewSet, refuses
from apps.core.times import read_moment


@extend_schema(tags=["backtests"])
class ExplanationViewSet(OwnedViewSet):
    not_found = BacktestNotFound

    @extend_schema(
        operation_id="explainCandle",
        parameters=[ExplainQuery],
        responses={200: ExplanationSerializer},
    )
    @refuses(NoCandle, NotCompleted)
    def retrieve(self, request: Request, backtest_id: str) -> Response:
        """Explain an entry or exit at a candle, or its absence.

        Each condition with the values it read, for each side, and the outcome of the signal as the
        result shows it; for each position open in the candle its levels, the conditions of exits,
        and the reason of its exit. Conditions are computed over the candles stored now.
        """
        query = self.query(ExplainQuery)
        explanation = services.explain_backtest(
            owner=self.owner,
            backtest_id=backtest_id,
            symbol=query["symbol"],
            at=read_moment("at", query["at"], last=False),
        )
        return Response(ExplanationSerializer.render(explanation))
