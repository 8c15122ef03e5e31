"""History, sessions and charges on the wire."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, Literal, get_args

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
from apps.engine.symbols import InvalidSymbol, parse
from apps.engine.units import Unit, all_rounded
from apps.market.contract_notes import ContractNote
from apps.market.coverage import MOST_GAPS, Gaps, SessionCoverage
from apps.market.dates import read_moment
from apps.market.models import CorporateAction
from apps.market.quality import Quality
from apps.market.rule_sets import current_rule_set
from apps.market.rulebook.charges import (
    DEFAULT_BROKER,
    INSTRUMENT_KINDS,
    PRODUCTS,
    SIDES,
    Charge,
    broker_names,
)
from apps.market.rulebook.rows import (
    ChargeItem,
    ChargeSegment,
    DepositoryRow,
    Exchange,
    Market,
    Phase,
    Product,
)
from apps.market.rulebook.rule_set import RuleSet, file_of
from apps.market.rulebook.sessions import MARKETS, SessionKind, day_of
from apps.market.store import AdjustedCandles
from apps.symbols.serializers import SYMBOL, SymbolField

DEFAULT_CANDLES: Final = 500
MAX_CANDLES: Final = 5000
MAX_UNITS: Final = 999_999_999
MAX_PRICE: Final = 10**9
DEFAULT_PRODUCT: Final[Product] = "delivery"
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

# --------------------------------------------------------------------------------- fields, queries


@extend_schema_field(SYMBOL)
class ParsedSymbolField(TextField):
    """A well-formed EXCHANGE:SYMBOL."""

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        try:
            return str(parse(text))
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


@example({"symbol": "NSE:RELIANCE", "timeframe": "1d", "from": "2026-04-08", "to": "2026-06-30"})
class CandlesQuery(StrictSerializer):
    """Which candles are wanted."""

    symbol = ParsedSymbolField(exact=True, help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(choices=list(TIMEFRAMES), help_text="How long a candle is.")
    to = QueryMomentField(
        source="end", last=True, required=False, help_text="Where they end; a date is included."
    )
    limit = QueryIntegerField(
        max_value=MAX_CANDLES, default=DEFAULT_CANDLES, help_text="How many at most."
    )
    adjusted = ChoiceField(
        choices=("true", "false"),
        default="true",
        help_text="Adjusted for splits and bonuses, or as traded.",
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

    exchange = ChoiceField(choices=list(MARKETS), help_text="The exchange.")
    date = QueryDateField(source="day", help_text="A day in Asia/Kolkata.")


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
    ratio = CharField(help_text="As announced: of a bonus the new shares alone.")
    source = CharField(help_text="Where it is from.")  # type: ignore[assignment]  # the wire's name

    def to_representation(self, instance: CorporateAction) -> dict[str, Any]:
        return {
            "exDate": instance.ex_date.isoformat(),
            "kind": instance.kind,
            "ratio": instance.terms,
            "source": instance.source,
        }


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

    may_be_absent = ("dates", "adjustedFor", "synthetic")

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    timeframe = ChoiceField(choices=list(TIMEFRAMES), help_text="How long a candle is.")
    candles = CandlesField(help_text="Oldest first.")
    dates = serializers.ListField(
        child=DateField(),
        help_text="Of days and weeks alone: the date in Asia/Kolkata of each candle, of a week its"
        " Monday.",
    )
    adjustedFor = AdjustmentSerializer(many=True, help_text="What changed any of them.")
    synthetic = BooleanField(help_text="True where the history is a generated sample.")

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
    bars = IntegerField(min_value=0, help_text="Bars of the range; of an algorithm, those stored.")
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

    to = DateField(help_text="The last of them.")
    sessions = IntegerField(min_value=0, help_text="How many.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python's."""
        return {"from": DateField(help_text="The first of them."), **super().get_fields()}


class TimeframeCoverageSerializer(AnswerSerializer):
    """What is held of one timeframe; of weeks nothing is said of sessions."""

    may_be_absent = ("days", "missingSessions", "gaps", "uncheckedYears", "synthetic", "adjusted")

    timeframe = ChoiceField(choices=list(TIMEFRAMES), help_text="How long a bar is.")
    first = MomentField(help_text="The start of the first bar.")
    last = MomentField(help_text="The start of the last bar.")
    bars = IntegerField(min_value=0, help_text="How many.")
    days = IntegerField(min_value=0, help_text="Dates that have bars.")
    missingSessions = IntegerField(min_value=0, help_text="The calendar has them.")
    gaps = GapSerializer(many=True, help_text=f"Missing sessions in a row; the newest {MOST_GAPS}.")
    uncheckedYears = serializers.ListField(
        child=IntegerField(), help_text="Nobody knows the holidays of these."
    )
    synthetic = BooleanField(help_text="True where the history is a generated sample.")
    adjusted = BooleanField(help_text="Prices as their source adjusted them.")

    def to_representation(self, instance: tuple[Mapping[str, Any], Gaps | None]) -> dict[str, Any]:
        row, gaps = instance
        if gaps is None:
            return dict(row)
        return {
            **row,
            "days": gaps.days,
            "missingSessions": gaps.missing,
            "gaps": [
                {
                    "from": gap.first.isoformat(),
                    "to": gap.last.isoformat(),
                    "sessions": gap.sessions,
                }
                for gap in gaps.gaps
            ],
            "uncheckedYears": list(gaps.unchecked),
        }


class ListedDaysSerializer(AnswerSerializer):
    """How many days, and the first of them."""

    count = IntegerField(min_value=0, help_text="How many there are.")
    first = serializers.ListField(
        child=DateField(), help_text=f"The first {_MOST_SHOWN} of them at most."
    )


class ListedTimesSerializer(AnswerSerializer):
    """How many moments, and the first of them."""

    count = IntegerField(min_value=0, help_text="How many there are.")
    first = serializers.ListField(
        child=MomentField(), help_text=f"The first {_MOST_SHOWN} of them at most."
    )


class CandleQualitySerializer(AnswerSerializer):
    """The quality of the bars of one timeframe."""

    timeframe = ChoiceField(choices=list(TIMEFRAMES), help_text="How long a bar is.")
    bars = IntegerField(min_value=0, help_text="How many are looked at.")
    days = IntegerField(min_value=0, help_text="Dates that have bars.")
    barsWithoutVolume = IntegerField(min_value=0, help_text="Bars whose volume is 0.")
    barsOutsideHours = IntegerField(min_value=0, help_text="Bars outside of all sessions.")
    missingSessions = ListedDaysSerializer(help_text="The calendar has them.")
    shortDays = ListedDaysSerializer(help_text="Fewer bars than the session has periods.")
    daysWithoutSession = ListedDaysSerializer(help_text="Bars though the calendar has no session.")
    jumps = ListedTimesSerializer(help_text="Open 30 % or more away from the last close.")
    spikes = ListedTimesSerializer(help_text="Close 30 % or more away from both its neighbours.")
    runsWithoutVolume = ListedTimesSerializer(help_text="Begin ten bars or more without volume.")

    def to_representation(self, instance: tuple[str, Quality]) -> dict[str, Any]:
        timeframe, quality = instance
        return {
            "timeframe": timeframe,
            "bars": quality.bars,
            "days": len(quality.days),
            "barsWithoutVolume": quality.without_volume,
            "barsOutsideHours": quality.off_session,
            "missingSessions": _listed(quality.missing_days, "D"),
            "shortDays": _listed(quality.short_days, "D"),
            "daysWithoutSession": _listed(quality.unlisted_days, "D"),
            "jumps": _listed(quality.jumps, "s"),
            "spikes": _listed(quality.spikes, "s"),
            "runsWithoutVolume": _listed(quality.silent_runs, "s"),
        }


def _listed(values: NDArray[np.int64] | NDArray[np.int32], unit: Literal["D", "s"]) -> object:
    """Return how many there are, and the first of them as dates or as times."""
    shown = values[:_MOST_SHOWN].astype(f"M8[{unit}]")
    texts = shown.astype(str) if unit == "D" else np.datetime_as_string(shown, "ms", timezone="UTC")
    return {"count": len(values), "first": texts.tolist()}


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

    may_be_absent = ("quality",)

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    timeframes = TimeframeCoverageSerializer(many=True, help_text="Shortest first.")
    quality = CandleQualitySerializer(help_text="Of the timeframe that was asked for.")

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        rows: Sequence[Mapping[str, Any]] = instance["held"]
        gaps: Mapping[str, Gaps] = instance["gaps"]
        answer: dict[str, Any] = {
            "symbol": instance["symbol"],
            "timeframes": [
                TimeframeCoverageSerializer.render((row, gaps.get(row["timeframe"])))
                for row in rows
            ],
        }
        if instance["quality"] is not None:
            quality = (instance["timeframe"], instance["quality"])
            answer["quality"] = CandleQualitySerializer.render(quality)
        return answer


# ---------------------------------------------------------------------------- sessions and charges


@extend_schema_field(_CLOCK_TIME)
class ClockTimeField(CharField):
    """A time of day in Asia/Kolkata, HH:MM."""


class RuleSourceSerializer(AnswerSerializer):
    """Where a row of the rulebook stands and where it is from."""

    row = CharField(help_text="File and line in the edition of the rulebook.")
    source = CharField(help_text="Where it is from.")  # type: ignore[assignment]  # the wire's name
    unsourced = CharField(help_text="What of the row has no source; empty where all has one.")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return {
            "row": f"{file_of(instance)}:{instance.line}",
            "source": instance.source,
            "unsourced": instance.unsourced,
        }


class SessionPhaseSerializer(AnswerSerializer):
    """A part of a session."""

    phase = ChoiceField(choices=get_args(Phase), help_text="What is done in it.")
    opens = ClockTimeField(help_text="Its beginning in Asia/Kolkata.")
    closes = ClockTimeField(help_text="Its end in Asia/Kolkata.")


class SegmentSessionSerializer(AnswerSerializer):
    """What a segment does on a date."""

    segment = ChoiceField(choices=get_args(Market), help_text="The segment of the exchange.")
    session = ChoiceField(choices=get_args(SessionKind), help_text="The kind of day.")
    name = CharField(help_text="What the day is called, or what is not known.")
    phases = SessionPhaseSerializer(many=True, help_text="In order; none where it is closed.")
    sources = RuleSourceSerializer(many=True, help_text="The rules behind it.")


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
                "phases": [{"phase": "continuous", "opens": "09:15", "closes": "15:40"}],
                "sources": [
                    {
                        "row": "sessions.csv:10",
                        "source": "NSE/FAOP/74467; BSE notice of 2026-08-01",
                        "unsourced": "",
                    }
                ],
            }
        ],
    }
)
class SessionsSerializer(AnswerSerializer):
    """What an exchange does on a date, and why."""

    exchange = ChoiceField(choices=list(MARKETS), help_text="The exchange.")
    date = DateField(help_text="The day in Asia/Kolkata.")
    edition = CharField(help_text=_EDITION_HELP)
    segments = SegmentSessionSerializer(many=True, help_text="Each segment of the exchange.")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        rule_set, exchange, day = instance
        return {
            "exchange": exchange,
            "date": day.isoformat(),
            "edition": rule_set.sha256,
            "segments": [_segment(rule_set, exchange, market, day) for market in MARKETS[exchange]],
        }


def _segment(rule_set: RuleSet, exchange: Exchange, market: Market, day: date) -> dict[str, Any]:
    session = day_of(rule_set, exchange, market, day)
    return {
        "segment": market,
        "session": session.kind,
        "name": session.name,
        "phases": [
            {"phase": phase, "opens": f"{opens:%H:%M}", "closes": f"{closes:%H:%M}"}
            for phase, opens, closes in session.phases
        ],
        "sources": [RuleSourceSerializer.render(row) for row in session.rows],
    }


class ChargeSerializer(RuleSourceSerializer):
    """An item of a contract note, as it is and as it is paid."""

    item = ChoiceField(
        choices=("brokerage", *get_args(ChargeItem), "depository_charge"),
        help_text="`depository_charge` is what the broker and the depository take of a sale in"
        " delivery, once for each share and day.",
    )
    percent = NumberField(help_text="Of the value; 0 for fixed sums.")
    amount = NumberField(help_text="Rupees, not rounded.")
    rounded = NumberField(help_text="Rupees as a fill pays them.")
    since = DateField(help_text="The first day of the rate.")

    def to_representation(self, instance: Charge) -> dict[str, Any]:
        row = instance.row
        return {
            "item": instance.item,
            "percent": 0.0 if isinstance(row, DepositoryRow) else float(row.percent),
            "amount": float(instance.amount),
            "rounded": float(instance.rounded),
            "since": row.first_date.isoformat(),
            **super().to_representation(row),
        }


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
        "broker": "none",
        "edition": _EDITION_EXAMPLE,
        "charges": [
            {
                "item": "stamp_duty",
                "percent": 0.015,
                "amount": 21.0075,
                "rounded": 21.01,
                "since": "2020-07-01",
                "row": "charges.csv:55",
                "source": "Indian Stamp Act as amended by the Finance Act 2019",
                "unsourced": "",
            }
        ],
        "total": 21.01,
        "unknown": [],
    }
)
class ContractNoteSerializer(AnswerSerializer):
    """A virtual contract note."""

    symbol = CharField(help_text="EXCHANGE:SYMBOL")
    date = DateField(help_text="The day of the trade.")
    side = ChoiceField(choices=SIDES, help_text="The side of the order.")
    quantity = IntegerField(help_text="Units, not lots.")
    price = NumberField(help_text="Rupees; of an option the premium.")
    multiplier = NumberField(help_text="Rupees a unit gains per rupee of price.")
    value = NumberField(help_text="Rupees: quantity x price x multiplier.")
    segment = ChoiceField(choices=get_args(ChargeSegment), help_text="Whose rates apply.")
    instrument = ChoiceField(
        choices=INSTRUMENT_KINDS,
        help_text="ETFs are taxed by what they hold; nothing is charged on an index, which cannot"
        " be traded.",
    )
    product = ChoiceField(choices=PRODUCTS, help_text="It decides tax and stamp duty of shares.")
    broker = CharField(help_text="Whose prices.")
    edition = CharField(help_text=_EDITION_HELP)
    charges = ChargeSerializer(many=True, help_text="Item by item.")
    total = NumberField(help_text="Rupees: of the rounded items.")
    unknown = serializers.ListField(
        child=CharField(), help_text="Items without a rate on this date."
    )

    def to_representation(self, instance: ContractNote) -> dict[str, Any]:
        rounded: dict[str, Any] = round_for_wire(
            {
                "symbol": instance.symbol,
                "date": instance.day.isoformat(),
                "side": instance.side,
                "quantity": instance.quantity,
                "price": float(instance.price),
                "multiplier": float(instance.multiplier),
                "value": float(instance.value),
                "segment": instance.basis.segment,
                "instrument": instance.basis.instrument,
                "product": instance.basis.product,
                "broker": instance.basis.broker,
                "edition": instance.rule_set,
                "charges": [ChargeSerializer.render(row) for row in instance.charges.charges],
                "total": float(instance.charges.total),
                "unknown": list(instance.charges.unknown),
            }
        )
        return rounded
