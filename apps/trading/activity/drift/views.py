"""The comparison of a session's paper trading with its backtest."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.algorithms.models import AlgorithmNotFound
from apps.core.api.resources import OwnedViewSet
from apps.trading.activity.drift import services
from apps.trading.activity.drift.serializers import DriftQuery, DriftSerializer


@extend_schema(tags=["trading"])
class DriftViewSet(OwnedViewSet):
    not_found = AlgorithmNotFound
    lookup_url_kwarg = "algorithm_id"

    @extend_schema(
        operation_id="readDrift", parameters=[DriftQuery], responses={200: DriftSerializer}
    )
    @action(detail=True)
    def drift(self, request: Request, algorithm_id: str) -> Response:
        """Compare paper trading with the backtester.

        Each session is simulated again over the candles stored by then, from the state at its
        start: in the following night, and on request, even during the session. Differences are of
        candles that came late or were changed (`data`), of signals, fills and charges, and of
        interventions by the owner, an operator or a limit (`risk`), with their consequences until
        the end of the session. `band` compares the run's returns with a backtest of the same steps.
        """
        day = self.query(DriftQuery).get("date")
        drift = services.read_drift(owner=self.owner, algorithm_id=algorithm_id, day=day)
        return Response(DriftSerializer.render(drift))
