"""/api/trading/algorithms/<id>/drift"""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.core.api.pagination import Query
from apps.core.openapi import documented
from apps.trading.drift import openapi, services
from apps.trading.drift.serializers import drift_out


class DriftView(ViewSet):
    @documented(openapi.READ)
    def show(self, request: Request, algorithm_id: str) -> Response:
        query = Query(request.query_params)
        day = None if query.text("date") is None else query.date("date")
        drift = services.read(owner=caller(request), algorithm_id=algorithm_id, day=day)
        return Response(drift_out(drift))
