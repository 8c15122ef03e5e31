"""POST /api/market/candles; GET of the same address is `MarketViewSet.candles`."""

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.calls import operator_of
from apps.core.api.resources import idempotent, refuses
from apps.market.candles.writing import OtherPriceKind, SampleInTheWay
from apps.market.feeds import services
from apps.market.feeds.active_feed import ReplayInProgress
from apps.market.feeds.serializers import (
    CANDLES_RECEIVED,
    CANDLES_TO_RECEIVE,
    EXAMPLES,
    MOST_SERIES,
    CandleBatch,
    render_received,
)
from apps.market.feeds.validation import SKEW
from apps.market.views import MarketViewSet


@extend_schema(tags=["market"])
class CandlesViewSet(MarketViewSet):
    @extend_schema(
        operation_id="sendCandles",
        description="For operators. In any order; of one moment sent twice the last counts. A"
        f" candle that has not ended {SKEW} seconds from now (`not_closed`), or starts at no start"
        " of its timeframe (`unaligned`), is refused and the others are taken; one that is no"
        " candle refuses the call. Candles follow a generated sample; those in its range refuse the"
        " call with a 409 unless `replaceSample` is true. Rows that were traded on keep the candles"
        f" that they used. Of many symbols at once, up to {MOST_SERIES}, in `series`: it is one"
        " call to the limits, and all or nothing.",
        request=CANDLES_TO_RECEIVE,
        responses={
            200: OpenApiResponse(
                CANDLES_RECEIVED,
                "The outcome; for many symbols in `series`, in their order.",
            )
        },
        examples=EXAMPLES,
    )
    @refuses(ReplayInProgress, OtherPriceKind, SampleInTheWay)
    @idempotent
    def receive(self, request: Request) -> Response:
        """Receive closed candles, as from a feed."""
        body = request.data  # invalid JSON is refused before the role is checked
        operator = operator_of(request)
        batch = CandleBatch.read(body)
        received = services.receive_from_operator(
            operator=operator,
            timeframe=batch.timeframe,
            series=batch.series,
            replace_sample=batch.replace_sample,
            now=self.now,
        )
        return Response(render_received(batch, received))
