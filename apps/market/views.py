from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.core.api.pagination import Query
from apps.core.errors import Fault, InvalidInput
from apps.core.openapi import documented
from apps.engine.candles import TIMEFRAMES
from apps.engine.symbols import InvalidSymbol, parse
from apps.market import contract_notes, coverage, openapi, rule_sets, store
from apps.market.dates import read_moment
from apps.market.rulebook import charges, sessions
from apps.market.serializers import candles_out, coverage_out, note_out, sessions_out


class MarketView(ViewSet):
    @documented(openapi.READ_CANDLES)
    def candles(self, request: Request) -> Response:
        query = Query(request.query_params)
        symbol, timeframe = _symbol(query), _timeframe(query)
        start, end = _moment(query, "from", last=False), _moment(query, "to", last=True)
        if start is not None and end is not None and end < start:
            raise InvalidInput(Fault("to", "lies before from", query.text("to")))
        limit = query.integer("limit", default=openapi.DEFAULT_CANDLES, most=openapi.MAX_CANDLES)
        adjusted = query.choice("adjusted", openapi.YES_OR_NO) != "false"
        found = store.read_page(
            symbol, timeframe, start=start, end=end, limit=limit, adjusted=adjusted
        )
        synthetic = bool(store.synthetic_symbols([symbol]))
        return Response(candles_out(symbol, timeframe, found, synthetic=synthetic))

    @documented(openapi.READ_COVERAGE)
    def coverage(self, request: Request) -> Response:
        query = Query(request.query_params)
        symbol, timeframe = _symbol(query), query.choice("timeframe", list(TIMEFRAMES))
        held, gaps = store.stored_timeframes(symbol), coverage.gaps_of(symbol)
        quality = coverage.quality_of(symbol, timeframe) if timeframe else None
        return Response(coverage_out(symbol, held, gaps, timeframe, quality))


class RulebookView(ViewSet):
    @documented(openapi.READ_SESSIONS)
    def sessions(self, request: Request) -> Response:
        query, rule_set = Query(request.query_params), rule_sets.current_rule_set()
        exchange, day = query.one_of("exchange", list(sessions.MARKETS)), query.date("date")
        return Response(sessions_out(rule_set, exchange, day))

    @documented(openapi.READ_CHARGES)
    def charges(self, request: Request) -> Response:
        query, rule_set = Query(request.query_params), rule_sets.current_rule_set()
        note = contract_notes.make_contract_note(
            rule_set,
            symbol=_symbol(query),
            side=query.one_of("side", charges.SIDES),
            quantity=_units(query),
            price=query.amount("price", most=openapi.MOST_RUPEES),
            day=query.date("date"),
            product=query.choice("product", charges.PRODUCTS) or openapi.DEFAULT_PRODUCT,
            broker=query.choice("broker", charges.broker_names(rule_set)),
        )
        return Response(note_out(note))


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
    return query.one_of("timeframe", list(TIMEFRAMES))


def _units(query: Query) -> int:
    query.required("quantity")
    return query.integer("quantity", default=1, most=openapi.MOST_UNITS)
