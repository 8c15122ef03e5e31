"""The explanation of a candle of a run."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.algorithms.models import AlgorithmNotFound
from apps.core.api.resources import OwnedViewSet, refuses
from apps.core.times import read_moment
from apps.trading.activity.run_explanation import services
from apps.trading.activity.run_explanation.serializers import (
    ExplainRunQuery,
    RunExplanationSerializer,
)
from apps.trading.activity.run_explanation.services import CannotBeExplained, NoCandleOfRun


@extend_schema(tags=["trading"])
class RunExplanationViewSet(OwnedViewSet):
    not_found = AlgorithmNotFound
    lookup_url_kwarg = "algorithm_id"

    @extend_schema(
        operation_id="explainRun",
        parameters=[ExplainRunQuery],
        responses={200: RunExplanationSerializer},
    )
    @refuses(NoCandleOfRun, CannotBeExplained)
    @action(detail=True)
    def explain(self, request: Request, algorithm_id: str) -> Response:
        """Explain an entry or exit at a candle of paper trading, or its absence.

        As for a backtest: each condition with the values it read, for each side, over the candles
        that the run used; the outcome of the signal; and for each position open in the candle its
        levels, the conditions of exits, and the reason of its exit. The candles are kept for 90
        days, or longer while runs use them.
        """
        query = self.query(ExplainRunQuery)
        explanation = services.explain_run(
            owner=self.owner,
            algorithm_id=algorithm_id,
            symbol=query["symbol"],
            at=read_moment("at", query["at"], last=False),
        )
        return Response(RunExplanationSerializer.render(explanation))
