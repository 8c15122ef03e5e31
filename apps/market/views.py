from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.core.errors import Fault, InvalidInput
from apps.core.openapi import documented
from apps.core.pages import Query
from apps.engine.candles import TIMEFRAMES
from apps.engine.symbols import InvalidSymbol, parse
from apps.market import openapi, store
from apps.market.moments import read_moment
from apps.market.serializers import candles_out, coverage_out


class MarketView(ViewSet):
    @documented(openapi.READ_CANDLES)
    def candles(self, request: Request) -> Response:
        query = Query(request.query_params)
        symbol, timeframe = _symbol(query), _timeframe(query)
        start, end = _moment(query, "from", last=False), _moment(query, "to", last=True)
        if start is not None and end is not None and end < start:
            raise InvalidInput(Fault("to", "lies before from", query.text("to")))
        limit = query.integer("limit", default=openapi.DEFAULT_CANDLES, most=openapi.MAX_CANDLES)
        found = store.page(symbol, timeframe, start=start, end=end, limit=limit)
        synthetic = bool(store.synthetic_among([symbol]))
        return Response(candles_out(symbol, timeframe, found, synthetic=synthetic))

    @documented(openapi.READ_COVERAGE)
    def coverage(self, request: Request) -> Response:
        symbol = _symbol(Query(request.query_params))
        return Response(coverage_out(symbol, store.coverage(symbol)))


def _moment(query: Query, name: str, *, last: bool) -> int | None:
    text = query.text(name)
    return None if text is None else read_moment(name, text, last=last)


def _symbol(query: Query) -> str:
    text = query.required("symbol")
    try:
        return str(parse(text))
    except InvalidSymbol as error:
        raise InvalidInput(Fault("symbol", error.reason, text)) from None


def _timeframe(query: Query) -> str:
    return query.choice("timeframe", list(TIMEFRAMES)) or query.required("timeframe")
