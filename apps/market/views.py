"""History, sessions and charges."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.api.resources import OwnedViewSet
from apps.market.candles import coverage, reading
from apps.market.candles.coverage import MOST_INSPECTED
from apps.market.rulebook import notes, rule_sets
from apps.market.serializers.candles import (
    CandlesQuery,
    CandlesSerializer,
    CoverageQuery,
    CoverageSerializer,
    SeriesQuery,
    SeriesSerializer,
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
    @extend_schema(
        operation_id="readCandles", parameters=[CandlesQuery], responses={200: CandlesSerializer}
    )
    def candles(self, request: Request) -> Response:
        """Candles of one symbol.

        The first `limit` candles from `from` on; without `from` the last ones. Prices and volumes
        are adjusted for the splits and bonuses that are known, into the terms of the newest day
        held, unless `adjusted` is false; `adjustedFor` lists those that changed any of them.
        """
        query = self.query(CandlesQuery)
        symbol, timeframe = query["symbol"], query["timeframe"]
        priced = reading.read_page(
            symbol,
            timeframe,
            start=query.get("start"),
            end=query.get("end"),
            limit=query["limit"],
            adjusted=query["adjusted"] == "true",
        )
        synthetic = bool(reading.synthetic_symbols([symbol]))
        answer = {
            "symbol": symbol,
            "timeframe": timeframe,
            "priced": priced,
            "synthetic": synthetic,
        }
        return Response(CandlesSerializer.render(answer))

    @extend_schema(
        operation_id="readCoverage",
        description="Each timeframe with the sessions between its first and last bar that the"
        " calendar has and the history has not; not of weeks. With `timeframe` also the quality of"
        f" its bars, of the newest {MOST_INSPECTED:,}, adjusted for the splits that are known;"
        " jumps and spikes not of options, which move so by nature.",
        parameters=[CoverageQuery],
        responses={200: CoverageSerializer},
    )
    def coverage(self, request: Request) -> Response:
        """What history is held of a symbol, and how complete."""
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
        """What history is held, of each symbol in each timeframe.

        In the order of the alphabet. Candles that feeds have sent today are counted; a symbol that
        has no others is listed from the next morning on.
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
        """What an exchange does on a date, and why.

        By segment: the phases of the session in Asia/Kolkata. `special` sessions may have hours
        that nobody has notified yet, then there are no phases; `unknown` is a day of a year whose
        holidays are not loaded.
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
        """What a fill costs: a virtual contract note.

        By the rates of its date, item by item, each with the row of the rulebook it comes from. A
        sale in delivery is taken to be of shares bought on an earlier day, and the first of its
        day.
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
        """What fills in a segment are charged on a date, item by item.

        All rates that are in force, each with the row of the rulebook it comes from. Where several
        are for one fill, that of its underlying comes first, then that of its kind of ETF or of
        options of the nearest expiry, then that of the whole segment.
        """
        rates = rule_sets.describe_rates(**self.query(ChargeRatesQuery))
        return Response(ChargeRatesSerializer.render(rates))
