"""POST /api/market/candles. GET of the same address is `apps.market.views.MarketView.candles`."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.authentication import operator_of
from apps.core.api.idempotency import idempotent
from apps.core.openapi import documented
from apps.market.feeds import openapi, services
from apps.market.feeds.serializers import candles_in, sent_out
from apps.market.views import MarketView


class CandlesView(MarketView):
    @documented(openapi.RECEIVE)
    @idempotent
    def receive(self, request: Request) -> Response:
        body = request.data  # what is no JSON is refused before anybody's role is looked at
        operator = operator_of(request)
        sent = candles_in(body)
        received = services.receive_from_operator(
            operator=operator,
            timeframe=sent.timeframe,
            series=sent.series,
            now=timezone.now(),
        )
        return Response(sent_out(sent, received))
