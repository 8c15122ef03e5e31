"""/api/market: history, sessions and charges."""

from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.api.resources import (
    JsonRenderer,
    OwnedViewSet,
    WholeQuery,
    send_whole,
    whole_list,
)
from apps.market.candles import coverage, reading
from apps.market.candles.coverage import MOST_INSPECTED
from apps.market.rulebook import notes, rule_sets
from apps.market.serializers.candles import (
    CandlesArrow,
    CandlesQuery,
    CandlesSerializer,
    CandlesTable,
    CoverageQuery,
    CoverageSerializer,
    SeriesQuery,
    SeriesSerializer,
    candle_rows,
)
from apps.market.serializers.rulebook import (
    ChargeRatesQuery,
    ChargeRatesSerializer,
    ChargesQuery,
    ContractNoteSerializer,
    SessionsQuery,
    SessionsSerializer,
)


@extend_schema(tags=["market"])
class MarketViewSet(OwnedViewSet):
    def get_renderers(self) -> list[BaseRenderer]:
        if self.action == "candles":
            return [JsonRenderer(), CandlesTable(), CandlesArrow()]
        return super().get_renderers()

    @extend_schema(
        operation_id="readCandles",
        parameters=[CandlesQuery, WholeQuery],
        responses={200: CandlesSerializer},
    )
    def candles(self, request: Request) -> Response | StreamingHttpResponse:
        """List candles of one symbol.

        The first `limit` candles from `from` on; without `from` the last ones. Unless `adjusted` is
        false, prices and volumes are adjusted for the known splits and bonuses to the newest stored
        day; `adjustedFor` lists the corporate actions with an effect on them. With `Accept:
        text/csv` or Arrow the candles are a table, and with `whole=true` it has all of the range.
        """
        query = self.query(CandlesQuery)
        symbol, timeframe = query["symbol"], query["timeframe"]
        start, end = query.get("start"), query.get("end")
        adjusted = query["adjusted"] == "true"
        if whole_list(request, instead_of=("limit",)):
            pieces = reading.read_whole(symbol, timeframe, start=start, end=end, adjusted=adjusted)
            answers = (
                CandlesSerializer.render({"symbol": symbol, "timeframe": timeframe, "priced": part})
                for part in pieces
            )
            return send_whole(request, "candles", map(candle_rows, answers))
        priced = reading.read_page(
            symbol, timeframe, start=start, end=end, limit=query["limit"], adjusted=adjusted
        )
        answer = {"symbol": symbol, "timeframe": timeframe, "priced": priced}
        return Response(CandlesSerializer.render(answer))

    @extend_schema(
        operation_id="readCoverage",
        description="Each timeframe with the sessions of the calendar between its first and last"
        " bar that are missing from the history, except for weeks. With `timeframe` also the"
        f" quality of its newest {MOST_INSPECTED:,} bars, adjusted for the known splits. Options"
        " are not checked for jumps and spikes, because they naturally move so much.",
        parameters=[CoverageQuery],
        responses={200: CoverageSerializer},
    )
    def coverage(self, request: Request) -> Response:
        """Get the stored history of a symbol, and its completeness."""
        query = self.query(CoverageQuery)
        symbol = query["symbol"]
        answer: dict[str, object] = {
            "symbol": symbol,
            "timeframes": coverage.timeframes_of(symbol),
        }
        quality = coverage.quality_of(symbol, query["timeframe"]) if "timeframe" in query else None
        if quality is not None:
            answer["quality"] = quality
        return Response(CoverageSerializer.render(answer))

    @extend_schema(
        operation_id="listSeries",
        parameters=[SeriesQuery],
        responses=SeriesSerializer(many=True),
    )
    def series(self, request: Request) -> Response:
        """List the stored history of each symbol in each timeframe.

        In alphabetical order. Candles received from feeds today are counted; a symbol with no
        others is listed from the next morning on.
        """
        query = self.query(SeriesQuery)
        keys = self.paginate_queryset(coverage.stored_series(**query)) or []
        data = [SeriesSerializer.render(row) for row in coverage.series_of_keys(keys)]
        return self.get_paginated_response(data)


@extend_schema(tags=["market"])
class RulebookViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="readSessions", parameters=[SessionsQuery], responses={200: SessionsSerializer}
    )
    def sessions(self, request: Request) -> Response:
        """Get the sessions of an exchange on a date, with their reasons.

        By segment: the phases of the session in Asia/Kolkata. `special` sessions at hours not yet
        notified have no phases; `unknown` is a day of a year whose holidays are not loaded.
        """
        query = self.query(SessionsQuery)
        answer = rule_sets.describe_day(query["exchange"], query["day"])
        return Response(SessionsSerializer.render(answer))

    @extend_schema(
        operation_id="readCharges",
        parameters=[ChargesQuery],
        responses={200: ContractNoteSerializer},
    )
    def charges(self, request: Request) -> Response:
        """Get the cost of a fill: a virtual contract note.

        By the rates of its date, item by item, each with its row of the rulebook. A sale in
        delivery counts as a sale of shares bought on an earlier day, and as the first of its day.
        """
        query = {"broker": None, **self.query(ChargesQuery)}
        note = notes.make_contract_note(rule_sets.current_rule_set(), **query)
        return Response(ContractNoteSerializer.render(note))

    @extend_schema(
        operation_id="readChargeRates",
        parameters=[ChargeRatesQuery],
        responses={200: ChargeRatesSerializer},
    )
    def charge_rates(self, request: Request) -> Response:
        """List the charges of fills in a segment on a date, item by item.

        All rates in force, each with its row of the rulebook. If several apply to a fill, that of
        its underlying comes first, then that of its kind of ETF or of options of the nearest
        expiry, then that of the whole segment.
        """
        rates = rule_sets.describe_rates(**self.query(ChargeRatesQuery))
        return Response(ChargeRatesSerializer.render(rates))
