"""/api/symbols: check, search and describe instruments."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.api.resources import OwnedViewSet, idempotent, refuses
from apps.core.errors import NotFound
from apps.symbols import services
from apps.symbols.serializers import (
    SYMBOL,
    InstrumentSerializer,
    MatchesSerializer,
    SearchQuery,
    SymbolToValidateSerializer,
    VerdictSerializer,
)

_SYMBOL_IN_PATH = OpenApiParameter(
    "symbol",
    SYMBOL,
    OpenApiParameter.PATH,
    required=True,
    description="EXCHANGE:SYMBOL",
)


@extend_schema(tags=["symbols"])
class SymbolViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="validateSymbol",
        request=SymbolToValidateSerializer,
        responses={200: VerdictSerializer},
    )
    @idempotent
    def validate(self, request: Request) -> Response:
        """Check the form of a symbol, and whether it can be traded.

        A malformed symbol is a 200 too, with `valid` false. `reason` gives the problem, and
        `suggestions` likely corrections.
        """
        check = services.check_with_suggestions(
            now=self.now, **self.read(SymbolToValidateSerializer)
        )
        return Response(VerdictSerializer.render(check))

    @extend_schema(
        operation_id="searchSymbols", parameters=[SearchQuery], responses={200: MatchesSerializer}
    )
    def search(self, request: Request) -> Response:
        """Search instruments, the best match first.

        `limit` is the maximum number; there are no further pages. Expired and delisted instruments
        come last unless they match exactly.
        """
        results = services.search(now=self.now, **self.query(SearchQuery))
        return Response(MatchesSerializer.render({"results": results}))

    @extend_schema(
        operation_id="readSymbol",
        parameters=[_SYMBOL_IN_PATH],
        responses={200: InstrumentSerializer},
    )
    @refuses(NotFound)
    def retrieve(self, request: Request, symbol: str) -> Response:
        """Get the details of an instrument.

        Its lot, tick and other terms, the next expiries of its contracts, and its names at brokers
        and exchanges. Prices are not included.
        """
        details = services.read_details(symbol=symbol, now=self.now)
        return Response(InstrumentSerializer.render(details))
