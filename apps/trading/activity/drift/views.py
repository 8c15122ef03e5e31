"""How a session's paper trading compares with its backtest."""

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
        """Whether paper trading did what the backtester does.

        Each session is played again over the candles that are stored by then, from the state in
        which it began: in the night after it, and when it is asked for, be it under way.
        Differences are of candles that came late or were changed (`data`), of signals, fills and
        charges, and of what an owner, an operator or a limit did (`risk`), with what followed from
        it until the end of the session. `band` says whether the run's returns are such as the
        backtest of the same steps lets expect.
        """
        day = self.query(DriftQuery).get("date")
        drift = services.read_drift(owner=self.owner, algorithm_id=algorithm_id, day=day)
        return Response(DriftSerializer.render(drift))
