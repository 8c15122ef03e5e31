"""History, sessions and charges on the wire."""

from collections.abc import Mapping
from typing import Any, Final, get_args

import numpy as np
from drf_spectacular.utils import extend_schema_field
from numpy.typing import NDArray
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, DateField, IntegerField

from apps.core.api.schema import MOMENT_EXAMPLE, Schema, example
from apps.core.api.serializers import (
    AnswerSerializer,
    ChoiceField,
    MomentField,
    NumberField,
    QueryDateField,
    QueryDecimalField,
    QueryIntegerField,
    StrictSerializer,
    TextField,
)
from apps.core.errors import Fault, InvalidInput
from apps.engine.candles import TIMEFRAMES, Candles
from apps.engine.metrics.wire_units import round_for_wire
from apps.engine.simulation.results import wire_dates
from apps.engine.symbols import InvalidSymbol, parse_symbol
from apps.engine.units import Unit, all_rounded
from apps.market.candles.coverage import MOST_GAPS, SessionCoverage
from apps.market.candles.quality import Days
from apps.market.candles.reading import AdjustedCandles
from apps.market.dates import read_moment
from apps.market.rulebook.charges import (
    DEFAULT_BROKER,
    INSTRUMENT_KINDS,
    PRODUCTS,
    RATE_SCOPES,
    SEGMENTS,
    SIDES,
    broker_names,
)
from apps.market.rulebook.files.rows import (
    ChargeItem,
    ChargeSegment,
    Market,
    Phase,
    Product,
    RuleRow,
)
from apps.market.rulebook.files.rule_set import file_of
from apps.market.rulebook.notes import ContractNote
from apps.market.rulebook.rule_sets import current_rule_set
from apps.market.rulebook.sessions import MARKETS, SessionKind
from apps.symbols.serializers import SYMBOL, SearchTextField, SymbolField

DEFAULT_CANDLES: Final = 500
MAX_CANDLES: Final = 5000
MAX_UNITS: Final = 999_999_999
MAX_PRICE: Final = 10**9
DEFAULT_PRODUCT: Final[Product] = "delivery"
CHARGE_ITEMS: Final = ("brokerage", *get_args(ChargeItem), "depository_charge")
# Timeframes whose candles start at midnight in India, the day before in UTC.
DATED: Final = ("1d", "1w")
# Days or times of one kind that a report of quality lists.
_MOST_SHOWN: Final = 20

RANGE_END: Final[Schema] = {
    "type": "string",
    "description": "A date is a day in Asia/Kolkata; a timestamp has its zone.",
    "anyOf": [{"type": "string", "format": "date"}, {"format": "date-time"}],
    "examples": ["2026-04-08"],
}
_CLOCK_TIME: Final[Schema] = {"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"}
_CANDLE: Final[Schema] = {
    "type": "array",
    "description": "[time, open, high, low, close, volume]",
    "prefixItems": [
        {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC with Z."},
        *[{"type": "number"}] * 5,
    ],
    "items": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    "minItems": 6,
    "maxItems": 6,
}
_EDITION_EXAMPLE: Final = "5d41402abc4b2a76b9719d911017c592ae5f1c3f0d0b9d5b1f6d3c2b1a098765"
_EDITION_HELP: Final = "SHA-256 of the edition of the rulebook."
_MISSING_HELP: Final = "Sessions of the calendar without a bar, between the first bar and the last."

# --------------------------------------------------------------------------------- fields, queries


@extend_schema_field(SYMBOL)
class ParsedSymbolField(TextField):
    """A well-formed EXCHANGE:SYMBOL."""

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        try:
            return str(parse_symbol(text))
        except InvalidSymbol as error:
            raise serializers.ValidationError(error.reason) from None


@extend_schema_field(RANGE_END)
class QueryMomentField(serializers.Field[int, str, str, Any]):
    """An end of a range in epoch seconds; with `last` a date is included."""

    def __init__(self, *, last: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._last = last

    def to_internal_value(self, data: str) -> int:
        try:
            return read_moment(str(self.field_name), data, last=self._last)
        except InvalidInput as error:
            raise serializers.ValidationError(error.faults[0].message) from None


@extend_schema_field(
    {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_PRICE, "multipleOf": 0.0001}
)
class PriceField(QueryDecimalField):
    """Rupees."""


@extend_schema_field({"type": "string", "default": DEFAULT_BROKER})
class BrokerField(ChoiceField):
    """A broker of the rule set in force."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=(), **options)

    def to_internal_value(self, data: object) -> str:
        self.choices = broker_names(current_rule_set())
        return super().to_internal_value(data)


class RangeQuery(StrictSerializer):
    """From when to when."""

    to = QueryMomentField(
        source="end", last=True, required=False, help_text="Where they end; a date is included."
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python's."""
        start = QueryMomentField(source="start", required=False, help_text="Where they begin.")
        return {**super().get_fields(), "from": start}

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        query = super().read(data)
        if "start" in query and "end" in query and query["end"] < query["start"]:
            raise InvalidInput(Fault("to", "lies before from", data["to"]))
        return query


@example({"symbol": "NSE:RELIANCE", "timeframe": "1d", "from": "2026-04-08", "to": "2026-06-30"})
class CandlesQuery(RangeQuery):
    """Which candles are wanted."""

    symbol = ParsedSymbolField(exact=True, help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(choices=TIMEFRAMES, help_text="How long a candle is.")
    limit = QueryIntegerField(
        max_value=MAX_CANDLES, default=DEFAULT_CANDLES, help_text="How many at most."
    )
    adjusted = ChoiceField(
        choices=("true", "false"),
        default="true",
        help_text="Adjusted for splits and bonuses, or as traded.",
    )


@example({"symbol": "NSE:RELIANCE"})
class CoverageQuery(StrictSerializer):
    """Of which symbol the history is looked at."""

    symbol = ParsedSymbolField(exact=True, help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(
        choices=list(TIMEFRAMES), required=False, help_text="Whose quality to look at."
    )


@example({"exchange": "NSE", "date": "2026-08-03"})
class SessionsQuery(StrictSerializer):
    """Which day is wanted, and of which exchange."""

    exchange = ChoiceField(choices=MARKETS, help_text="The exchange.")
    date = QueryDateField(source="day", help_text="A day in Asia/Kolkata.")


@example({"query": "RELI"})
class SeriesQuery(StrictSerializer):
    """Which stored series are wanted."""

    query = SearchTextField(required=False, help_text="A part of the symbol.")
    exchange = ChoiceField(choices=MARKETS, required=False, help_text="Of this exchange alone.")
    timeframe = ChoiceField(choices=TIMEFRAMES, required=False, help_text="Of this length alone.")


@example({"exchange": "NSE", "segment": "equity", "date": "2026-11-20"})
class ChargeRatesQuery(StrictSerializer):
    """Whose rates are wanted, and of which day."""

    exchange = ChoiceField(choices=SEGMENTS, help_text="The exchange.")
    segment = ChoiceField(
        choices=get_args(ChargeSegment),
        help_text="One of the exchange's; the `agri` ones are those of MCX and NCDEX.",
    )
    date = QueryDateField(source="day", help_text="The day of the trade.")
    broker = BrokerField(
        required=False, help_text="Whose prices; a refusal names those that are known."
    )

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        query = super().read(data)
        allowed = SEGMENTS[query["exchange"]]
        if query["segment"] not in allowed:
            message = f"is no segment of {query['exchange']}"
            raise InvalidInput(Fault("segment", message, query["segment"], allowed=allowed))
        return query


@example(
    {
        "symbol": "NSE:RELIANCE",
        "side": "buy",
        "quantity": 100,
        "price": 1400.5,
        "date": "2026-11-20",
    }
)
class ChargesQuery(StrictSerializer):
    """The fill that a contract note is wanted of."""

    symbol = ParsedSymbolField(exact=True, help_text="EXCHANGE:SYMBOL")
    side = ChoiceField(choices=SIDES, help_text="The side of the order.")
    quantity = QueryIntegerField(max_value=MAX_UNITS, help_text="Units, not lots.")
    price = PriceField(max_value=MAX_PRICE, help_text="Rupees; of an option the premium.")
    date = QueryDateField(source="day", help_text="The day of the trade.")
    product = ChoiceField(
        choices=PRODUCTS,
        default=DEFAULT_PRODUCT,
        help_text="It decides tax and stamp duty of shares.",
    )
    broker = BrokerField(
        required=False, help_text="Whose prices; a refusal names those that are known."
    )


# ----------------------------------------------------------------------------------------- candles


@extend_schema_field({"type": "array", "items": _CANDLE})
class CandlesField(serializers.Field[Candles, Any, list[tuple[object, ...]], Any]):
    """Candles, each as [time, open, high, low, close, volume]."""

    def to_representation(self, value: Candles) -> list[tuple[object, ...]]:
        stamps = np.datetime_as_string(value.time.astype("M8[s]"), unit="ms", timezone="UTC")
        volume = value.volume
        is_whole = (volume == np.rint(volume)).all()
        volumes = (
            volume.astype(np.int64).tolist() if is_whole else all_rounded(volume, Unit.QUANTITY)
        )
        prices = (value.open, value.high, value.low, value.close)
        columns = (all_rounded(column, Unit.PRICE) for column in prices)
        return list(zip(stamps.tolist(), *columns, volumes, strict=True))


class AdjustmentSerializer(AnswerSerializer):
    """A split or bonus that prices and volumes are adjusted for."""

    exDate = DateField(help_text="The first day on which it is in the price.")
    kind = ChoiceField(choices=("split", "bonus"), help_text="What it is.")
    ratio = CharField(source="terms", help_text="As announced: of a bonus the new shares alone.")
    source_ = CharField(help_text="Where it is from.")


@example(
    {
        "symbol": "NSE:RELIANCE",
        "timeframe": "1d",
        "candles": [["2026-11-19T18:30:00.000Z", 1400.5, 1412.0, 1391.2, 1409.9, 8812345]],
        "dates": ["2026-11-20"],
    }
)
class CandlesSerializer(AnswerSerializer):
    """Candles of a symbol. `dates` are those of days and weeks; `synthetic` stands only where true,
    `adjustedFor` only where there is something.
    """

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(choices=TIMEFRAMES, help_text="How long a candle is.")
    candles = CandlesField(help_text="Oldest first.")
    dates = serializers.ListField(
        child=DateField(),
        required=False,
        help_text="Of days and weeks alone: the date in Asia/Kolkata of each candle, of a week its"
        " Monday.",
    )
    adjustedFor = AdjustmentSerializer(
        many=True, required=False, help_text="What changed any of them."
    )
    synthetic = BooleanField(
        required=False, help_text="True where the history is a generated sample."
    )

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        priced: AdjustedCandles = instance["priced"]
        timeframe = instance["timeframe"]
        answer: dict[str, Any] = {
            "symbol": instance["symbol"],
            "timeframe": timeframe,
            "candles": self.fields["candles"].to_representation(priced.candles),
        }
        if timeframe in DATED:
            answer["dates"] = wire_dates(priced.candles.time)
        if priced.actions:
            answer["adjustedFor"] = [AdjustmentSerializer.render(row) for row in priced.actions]
        return answer | {"synthetic": True} if instance["synthetic"] else answer


# ---------------------------------------------------------------------------------------- coverage


class SessionCoverageSerializer(AnswerSerializer):
    """How much of a range is held of a symbol."""

    symbol = SymbolField(help_text="EXCHANGE:SYMBOL")
    bars = IntegerField(
        min_value=0,
        help_text="Bars of the range; in the review of an algorithm, all that are held.",
    )
    firstBar = MomentField(allow_null=True, help_text="The start of the first bar.")
    lastBar = MomentField(allow_null=True, help_text="The start of the last bar.")
    heldSessions = IntegerField(min_value=0, help_text="Sessions of the range that have bars.")
    sessions = IntegerField(min_value=0, help_text="Sessions of the range, by the dated calendar.")
    percentage = NumberField(
        allow_null=True, help_text="Held sessions in percent of `sessions`; null without any."
    )
    since = DateField(allow_null=True, help_text="The first day that is held of the symbol.")
    sessionsSince = IntegerField(
        min_value=0,
        help_text="Sessions of the range from `since` on: a backtest needs the percentage of them"
        " that BACKTEST_MIN_COVERAGE says.",
    )

    def to_representation(self, instance: SessionCoverage) -> dict[str, Any]:
        return instance.to_wire()


class GapSerializer(AnswerSerializer):
    """Missing sessions in a row."""

    from_ = DateField(source="first", help_text="The first of them.")
    to = DateField(source="last", help_text="The last of them.")
    sessions = IntegerField(min_value=0, help_text="How many.")


class TimeframeCoverageSerializer(AnswerSerializer):
    """What is held of one timeframe; of weeks nothing is said of sessions."""

    timeframe = ChoiceField(choices=TIMEFRAMES, help_text="How long a bar is.")
    first = MomentField(help_text="The start of the first bar.")
    last = MomentField(help_text="The start of the last bar.")
    bars = IntegerField(min_value=0, help_text="How many.")
    days = IntegerField(required=False, min_value=0, help_text="Dates that have bars.")
    missingSessions = IntegerField(
        required=False, min_value=0, source="missing", help_text=_MISSING_HELP
    )
    gaps = GapSerializer(
        many=True, required=False, help_text=f"Missing sessions in a row; the newest {MOST_GAPS}."
    )
    uncheckedYears = serializers.ListField(
        child=IntegerField(),
        required=False,
        source="unchecked",
        help_text="Years whose holidays are not loaded: no session of theirs counts as missing.",
    )
    synthetic = BooleanField(
        required=False, help_text="True where the history is a generated sample."
    )
    adjusted = BooleanField(
        required=False, help_text="True where the source had adjusted the prices for splits."
    )


@example(
    {
        "symbol": "NSE:RELIANCE",
        "timeframe": "1d",
        "first": MOMENT_EXAMPLE,
        "last": MOMENT_EXAMPLE,
        "bars": 1,
        "days": 1,
        "missingSessions": 0,
        "uncheckedYears": [],
        "synthetic": True,
    }
)
class SeriesSerializer(TimeframeCoverageSerializer):
    """What is held of one symbol in one timeframe; the call for one symbol has the gaps."""

    gaps = None  # type: ignore[assignment]  # REST framework's way to leave a field out

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"symbol": CharField(help_text="EXCHANGE:SYMBOL"), **super().get_fields()}


class ListedDaysSerializer(AnswerSerializer):
    """How many days, and the first of them."""

    count = IntegerField(min_value=0, help_text="How many there are.")
    first = serializers.ListField(
        child=DateField(), help_text=f"The first {_MOST_SHOWN} of them at most."
    )

    def to_representation(self, instance: Days) -> dict[str, Any]:
        dates = instance[:_MOST_SHOWN].astype("M8[D]").astype(str)
        return {"count": len(instance), "first": dates.tolist()}


class ListedTimesSerializer(AnswerSerializer):
    """How many moments, and the first of them."""

    count = IntegerField(min_value=0, help_text="How many there are.")
    first = serializers.ListField(
        child=MomentField(), help_text=f"The first {_MOST_SHOWN} of them at most."
    )

    def to_representation(self, instance: NDArray[np.int64]) -> dict[str, Any]:
        times = instance[:_MOST_SHOWN].astype("M8[s]")
        stamps = np.datetime_as_string(times, unit="ms", timezone="UTC")
        return {"count": len(instance), "first": stamps.tolist()}


class CandleQualitySerializer(AnswerSerializer):
    """The quality of the bars of one timeframe."""

    timeframe = ChoiceField(choices=TIMEFRAMES, help_text="How long a bar is.")
    bars = IntegerField(min_value=0, help_text="How many are looked at.")
    days = IntegerField(min_value=0, source="days.size", help_text="Dates that have bars.")
    barsWithoutVolume = IntegerField(
        min_value=0, source="without_volume", help_text="Bars whose volume is 0."
    )
    barsOutsideHours = IntegerField(
        min_value=0, source="off_session", help_text="Bars outside of all sessions."
    )
    missingSessions = ListedDaysSerializer(source="missing_days", help_text=_MISSING_HELP)
    shortDays = ListedDaysSerializer(help_text="Fewer bars than the session has periods.")
    daysWithoutSession = ListedDaysSerializer(
        source="unlisted_days", help_text="Bars though the calendar has no session."
    )
    jumps = ListedTimesSerializer(help_text="Open 30 % or more away from the last close.")
    spikes = ListedTimesSerializer(
        help_text="Close 30 % or more away from both its neighbours, which are near each other."
    )
    runsWithoutVolume = ListedTimesSerializer(
        source="silent_runs",
        help_text="Begin ten bars or more without volume, of a symbol that has volumes elsewhere.",
    )


@example(
    {
        "symbol": "NSE:RELIANCE",
        "timeframes": [
            {
                "timeframe": "1d",
                "first": MOMENT_EXAMPLE,
                "last": MOMENT_EXAMPLE,
                "bars": 1,
                "days": 1,
                "missingSessions": 0,
                "gaps": [],
                "uncheckedYears": [],
                "synthetic": True,
            }
        ],
    }
)
class CoverageSerializer(AnswerSerializer):
    """What is held of a symbol, and the quality of one timeframe of it."""

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    timeframes = TimeframeCoverageSerializer(many=True, help_text="Shortest first.")
    quality = CandleQualitySerializer(
        required=False, help_text="Of the timeframe that was asked for."
    )


# ---------------------------------------------------------------------------- sessions and charges


@extend_schema_field(_CLOCK_TIME)
class ClockTimeField(serializers.TimeField):
    """A time of day in Asia/Kolkata, HH:MM."""

    format = "%H:%M"


@extend_schema_field({"type": "string"})
class RuleRowField(serializers.Field[RuleRow, Any, str, Any]):
    """Where a row of the rulebook stands: file and line."""

    def to_representation(self, value: RuleRow) -> str:
        return f"{file_of(value)}:{value.line}"


class RuleSourceSerializer(AnswerSerializer):
    """Where a row of the rulebook stands and where it is from."""

    row = RuleRowField(source="*", help_text="File and line in the edition of the rulebook.")
    source_ = CharField(help_text="Where it is from.")
    unsourced = CharField(help_text="What of the row has no source; empty where all has one.")


class SessionPhaseSerializer(AnswerSerializer):
    """A part of a session."""

    phase = ChoiceField(choices=get_args(Phase), help_text="What is done in it.")
    opens = ClockTimeField(help_text="Its beginning in Asia/Kolkata.")
    closes = ClockTimeField(help_text="Its end in Asia/Kolkata.")


class SegmentSessionSerializer(AnswerSerializer):
    """What a segment does on a date."""

    segment = ChoiceField(
        choices=get_args(Market),
        help_text="What keeps the same hours: of NSE and BSE shares with derivatives, other shares"
        " and derivatives; of MCX and NCDEX groups of commodities.",
    )
    session = ChoiceField(
        choices=get_args(SessionKind),
        source="day.kind",
        help_text="The kind of day; `partial`: the morning or the evening is closed; `unknown`: the"
        " year's holidays are not loaded.",
    )
    name = CharField(source="day.name", help_text="What the day is called, or what is not known.")
    phases = SessionPhaseSerializer(
        many=True, source="day.phases", help_text="In order; none where it is closed."
    )
    sources = RuleSourceSerializer(many=True, source="day.rows", help_text="The rules behind it.")


@example(
    {
        "exchange": "NSE",
        "date": "2026-08-03",
        "edition": _EDITION_EXAMPLE,
        "segments": [
            {
                "segment": "derivatives",
                "session": "regular",
                "name": "",
                "phases": [
                    {"phase": "pre_open", "opens": "09:00", "closes": "09:08"},
                    {"phase": "continuous", "opens": "09:15", "closes": "15:40"},
                ],
                "sources": [
                    {
                        "row": "sessions.csv:10",
                        "source": "NSE/FAOP/74467; BSE notice of 2026-08-01",
                        "unsourced": "",
                    },
                    {
                        "row": "sessions.csv:14",
                        "source": "NSE notice of 2025-12-05",
                        "unsourced": "",
                    },
                ],
            }
        ],
    }
)
class SessionsSerializer(AnswerSerializer):
    """What an exchange does on a date, and why."""

    exchange = ChoiceField(choices=MARKETS, help_text="The exchange.")
    date = DateField(help_text="The day in Asia/Kolkata.")
    edition = CharField(help_text=_EDITION_HELP)
    segments = SegmentSessionSerializer(many=True, help_text="Each segment of the exchange.")


class ChargeSerializer(AnswerSerializer):
    """An item of a contract note, as it is and as it is paid."""

    item = ChoiceField(
        choices=CHARGE_ITEMS,
        help_text="`depository_charge` is what the broker and the depository take of a sale in"
        " delivery, once for each share and day.",
    )
    percent = NumberField(
        help_text="Of the value; of `gst` of the brokerage and of the exchange's and SEBI's fees; 0"
        " for fixed sums."
    )
    amount = NumberField(help_text="Rupees, not rounded.")
    rounded = NumberField(help_text="Rupees as a fill pays them.")
    since = DateField(source="row.first_date", help_text="The first day of the rate.")
    row = RuleRowField(help_text="File and line in the edition of the rulebook.")
    source_ = CharField(source="row.source", help_text="Where it is from.")
    unsourced = CharField(
        source="row.unsourced", help_text="What of the row has no source; empty where all has one."
    )


@example(
    {
        "symbol": "NSE:RELIANCE",
        "date": "2026-11-20",
        "side": "buy",
        "quantity": 100,
        "price": 1400.5,
        "multiplier": 1,
        "value": 140050,
        "segment": "equity",
        "instrument": "share",
        "product": "delivery",
        "broker": "discount",
        "edition": _EDITION_EXAMPLE,
        "charges": [
            {
                "item": item,
                "percent": percent,
                "amount": amount,
                "rounded": rounded,
                "since": since,
                "row": f"{file}:{line}",
                "source": "…",
                "unsourced": "",
            }
            for item, percent, amount, rounded, since, file, line in (
                ("brokerage", 0, 0, 0, "2009-01-01", "brokers.csv", 3),
                ("transaction_tax", 0.1, 140.05, 140.05, "2012-07-01", "charges.csv", 3),
                ("exchange_fee", 0.0030699, 4.299395, 4.3, "2026-03-01", "charges.csv", 31),
                ("ipft", 1e-7, 0.00014, 0, "2026-03-01", "charges.csv", 47),
                ("sebi_fee", 0.0001, 0.14005, 0.14, "2021-04-01", "charges.csv", 69),
                ("stamp_duty", 0.015, 21.0075, 21.01, "2020-07-01", "charges.csv", 71),
                ("gst", 18, 0.7991, 0.8, "2017-07-01", "charges.csv", 79),
            )
        ],
        "total": 166.3,
        "unknown": [],
    }
)
class ContractNoteSerializer(AnswerSerializer):
    """A virtual contract note."""

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    date = DateField(source="day", help_text="The day of the trade.")
    side = ChoiceField(choices=SIDES, help_text="The side of the order.")
    quantity = IntegerField(help_text="Units, not lots.")
    price = NumberField(help_text="Rupees; of an option the premium.")
    multiplier = NumberField(help_text="Rupees a unit gains per rupee of price.")
    value = NumberField(help_text="Rupees: quantity x price x multiplier.")
    segment = ChoiceField(
        choices=get_args(ChargeSegment), source="basis.segment", help_text="Whose rates apply."
    )
    instrument = ChoiceField(
        choices=INSTRUMENT_KINDS,
        source="basis.instrument",
        help_text="ETFs are taxed by what they hold; nothing is charged on an index, which cannot"
        " be traded.",
    )
    product = ChoiceField(
        choices=PRODUCTS,
        source="basis.product",
        help_text="It decides tax and stamp duty of shares.",
    )
    broker = CharField(source="basis.broker", help_text="Whose prices.")
    edition = CharField(source="rule_set", help_text=_EDITION_HELP)
    charges = ChargeSerializer(many=True, source="charges.charges", help_text="Item by item.")
    total = NumberField(source="charges.total", help_text="Rupees: of the rounded items.")
    unknown = serializers.ListField(
        child=CharField(), source="charges.unknown", help_text="Items without a rate on this date."
    )

    def to_representation(self, instance: ContractNote) -> dict[str, Any]:
        rounded: dict[str, Any] = round_for_wire(super().to_representation(instance))
        return rounded


class RateInForceSerializer(AnswerSerializer):
    """A rate of the rulebook, and what it is for."""

    item = ChoiceField(choices=CHARGE_ITEMS, help_text="What it is charged as.")
    percent = NumberField(
        source="row.percent",
        required=False,
        help_text="Of the value, of options of the premium; of `gst` of the brokerage and of the"
        " exchange's and SEBI's fees.",
    )
    flat = NumberField(
        source="row.flat", required=False, help_text="Of brokerage: rupees of each order."
    )
    cap = NumberField(
        source="row.cap",
        required=False,
        allow_null=True,
        help_text="Of brokerage: the most that the percentage comes to, in rupees.",
    )
    amount = NumberField(
        source="row.amount",
        required=False,
        help_text="Of the depository charge: rupees of each share and day.",
    )
    sides = serializers.ListField(
        child=ChoiceField(choices=SIDES), help_text="The sides of an order that pay it."
    )
    products = serializers.ListField(
        child=ChoiceField(choices=PRODUCTS), help_text="The products that pay it."
    )
    scopes = serializers.ListField(
        child=ChoiceField(choices=RATE_SCOPES),
        help_text="What it is for: the segment, or kinds of ETF or options in it, whose own rates"
        " come before the segment's.",
    )
    underlyings = serializers.ListField(
        child=CharField(), help_text="The only ones that it is for; empty where it is for all."
    )
    since = DateField(source="row.first_date", help_text="The first day of the rate.")
    row = RuleRowField(help_text="File and line in the edition of the rulebook.")
    source_ = CharField(source="row.source", help_text="Where it is from.")
    unsourced = CharField(
        source="row.unsourced", help_text="What of the row has no source; empty where all has one."
    )


@example(
    {
        "exchange": "NSE",
        "segment": "equity",
        "date": "2026-11-20",
        "broker": "discount",
        "edition": _EDITION_EXAMPLE,
        "rates": [
            {
                "item": "stamp_duty",
                "percent": 0.015,
                "cap": None,
                "sides": ["buy"],
                "products": ["delivery"],
                "scopes": ["equity"],
                "underlyings": [],
                "since": "2020-07-01",
                "row": "charges.csv:71",
                "source": "Indian Stamp Act as amended by the Finance Act 2019: nseindia.com and"
                " Zerodha bulletin 259741",
                "unsourced": "",
            }
        ],
    }
)
class ChargeRatesSerializer(AnswerSerializer):
    """The rates of a segment on a date."""

    exchange = ChoiceField(choices=SEGMENTS, help_text="The exchange.")
    segment = ChoiceField(choices=get_args(ChargeSegment), help_text="The segment.")
    date = DateField(help_text="The day of the trade.")
    broker = CharField(help_text="Whose prices.")
    edition = CharField(help_text=_EDITION_HELP)
    rates = RateInForceSerializer(many=True, help_text="Item by item.")
