from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.core.api.idempotency import idempotent
from apps.core.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, Query
from apps.core.errors import Fault, InvalidInput
from apps.core.openapi import documented
from apps.engine.symbols import EXCHANGES
from apps.symbols import openapi, services
from apps.symbols.models import Type
from apps.symbols.serializers import SymbolBody, match_out, profile_out, verdict_out


class SymbolView(ViewSet):
    @documented(openapi.VALIDATE_SYMBOL)
    @idempotent
    def validate(self, request: Request) -> Response:
        symbol = SymbolBody.read(request.data)["symbol"]
        verdict, suggestions = services.check_with_suggestions(symbol=symbol, now=timezone.now())
        return Response(verdict_out(verdict, suggestions))

    @documented(openapi.SEARCH_SYMBOLS)
    def search(self, request: Request) -> Response:
        query = Query(request.query_params)
        found = services.search(
            query=_typed(query),
            exchange=query.choice("exchange", EXCHANGES),
            type=query.choice("type", Type.values),
            limit=query.integer("limit", default=DEFAULT_LIMIT, most=MAX_LIMIT),
            now=timezone.now(),
        )
        return Response({"results": [match_out(row) for row in found]})

    @documented(openapi.READ_SYMBOL)
    def show(self, request: Request, symbol: str) -> Response:
        return Response(profile_out(services.read_details(symbol=symbol, now=timezone.now())))


def _typed(query: Query) -> str:
    text = query.required("query").strip()
    if not text or len(text) > openapi.LONGEST_QUERY:
        message = f"must hold 1 to {openapi.LONGEST_QUERY} characters"
        raise InvalidInput(Fault("query", message, text))
    return text
