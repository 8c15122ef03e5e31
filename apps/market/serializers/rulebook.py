"""Sessions, charges and contract notes on the wire."""

from typing import Any, Final, get_args

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import CharField, DateField, IntegerField

from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    NumberField,
    QueryDateField,
    QueryDecimalField,
    QueryIntegerField,
    Schema,
    StrictSerializer,
    example,
)
from apps.core.errors import Fault, InvalidInput
from apps.engine.results import round_for_wire
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
from apps.market.serializers.candles import ParsedSymbolField

MAX_UNITS: Final = 999_999_999
MAX_PRICE: Final = 10**9
DEFAULT_PRODUCT: Final[Product] = "delivery"
CHARGE_ITEMS: Final = ("brokerage", *get_args(ChargeItem), "depository_charge")
_CLOCK_TIME: Final[Schema] = {"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"}
_EDITION_HELP: Final = "SHA-256 of the edition of the rulebook."


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


@example
class SessionsQuery(StrictSerializer):
    """The day and the exchange of a session."""

    exchange = ChoiceField(choices=MARKETS, help_text="The exchange.")
    date = QueryDateField(source="day", help_text="A day in Asia/Kolkata.")


@example
class ChargeRatesQuery(StrictSerializer):
    """The segment and the day of charge rates."""

    exchange = ChoiceField(choices=SEGMENTS, help_text="The exchange.")
    segment = ChoiceField(
        choices=get_args(ChargeSegment),
        help_text="A segment of the exchange; the `agri` segments are on MCX and NCDEX.",
    )
    date = QueryDateField(source="day", help_text="The day of the trade.")
    broker = BrokerField(
        required=False, help_text="The broker of the prices; an error lists the known ones."
    )

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        query = super().read(data)
        allowed = SEGMENTS[query["exchange"]]
        if query["segment"] not in allowed:
            message = f"is not a segment of {query['exchange']}"
            raise InvalidInput(Fault("segment", message, query["segment"], allowed=allowed))
        return query


@example
class ChargesQuery(StrictSerializer):
    """The fill for a contract note."""

    symbol = ParsedSymbolField(exact=True, help_text="EXCHANGE:SYMBOL")
    side = ChoiceField(choices=SIDES, help_text="The side of the order.")
    quantity = QueryIntegerField(max_value=MAX_UNITS, help_text="Units, not lots.")
    price = PriceField(max_value=MAX_PRICE, help_text="Rupees; of an option the premium.")
    date = QueryDateField(source="day", help_text="The day of the trade.")
    product = ChoiceField(
        choices=PRODUCTS,
        default=DEFAULT_PRODUCT,
        help_text="The product, which decides the tax and the stamp duty of shares.",
    )
    broker = BrokerField(
        required=False, help_text="The broker of the prices; an error lists the known ones."
    )


@extend_schema_field(_CLOCK_TIME)
class ClockTimeField(serializers.TimeField):
    """A time of day in Asia/Kolkata, HH:MM."""

    format = "%H:%M"


@extend_schema_field({"type": "string"})
class RuleRowField(serializers.Field[RuleRow, Any, str, Any]):
    """The location of a row of the rulebook: file and line."""

    def to_representation(self, value: RuleRow) -> str:
        return f"{file_of(value)}:{value.line}"


class RuleSourceSerializer(AnswerSerializer):
    """The location and the source of a row of the rulebook."""

    row = RuleRowField(source="*", help_text="File and line in the edition of the rulebook.")
    source_ = CharField(help_text="The source.")
    unsourced = CharField(help_text="Facts in the row without a source; empty without any.")


class SessionPhaseSerializer(AnswerSerializer):
    """A part of a session."""

    phase = ChoiceField(choices=get_args(Phase), help_text="The kind of trading in it.")
    opens = ClockTimeField(help_text="Its beginning in Asia/Kolkata.")
    closes = ClockTimeField(help_text="Its end in Asia/Kolkata.")


class SegmentSessionSerializer(AnswerSerializer):
    """The session of a segment on a date."""

    segment = ChoiceField(
        choices=get_args(Market),
        help_text="Instruments with the same hours: on NSE and BSE shares with derivatives, other"
        " shares and derivatives; on MCX and NCDEX groups of commodities.",
    )
    session = ChoiceField(
        choices=get_args(SessionKind),
        source="day.kind",
        help_text="The kind of day; `partial`: the morning or the evening is closed; `unknown`: the"
        " year's holidays are not loaded.",
    )
    name = CharField(
        source="day.name", help_text="The name of the day, or the missing information."
    )
    phases = SessionPhaseSerializer(
        many=True,
        source="day.phases",
        help_text="The phases in order; empty if the segment is closed.",
    )
    sources = RuleSourceSerializer(many=True, source="day.rows", help_text="The rules behind it.")


@example
class SessionsSerializer(AnswerSerializer):
    """The sessions of an exchange on a date, with their reasons."""

    exchange = ChoiceField(choices=MARKETS, help_text="The exchange.")
    date = DateField(help_text="The day in Asia/Kolkata.")
    edition = CharField(help_text=_EDITION_HELP)
    segments = SegmentSessionSerializer(many=True, help_text="Each segment of the exchange.")


class ChargeSerializer(AnswerSerializer):
    """An item of a contract note, exact and rounded as paid."""

    item = ChoiceField(
        choices=CHARGE_ITEMS,
        help_text="`depository_charge` is the charge of the broker and the depository for a sale in"
        " delivery, once for each share and day.",
    )
    percent = NumberField(
        help_text="Percent of the value; for `gst` of the brokerage and the exchange's and SEBI's"
        " fees; 0 for fixed sums."
    )
    amount = NumberField(help_text="Rupees, not rounded.")
    rounded = NumberField(help_text="Rupees as a fill pays them.")
    since = DateField(source="row.first_date", help_text="The first day of the rate.")
    row = RuleRowField(help_text="File and line in the edition of the rulebook.")
    source_ = CharField(source="row.source", help_text="The source.")
    unsourced = CharField(
        source="row.unsourced", help_text="Facts in the row without a source; empty without any."
    )


@example
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
        choices=get_args(ChargeSegment),
        source="basis.segment",
        help_text="The segment of the rates.",
    )
    instrument = ChoiceField(
        choices=INSTRUMENT_KINDS,
        source="basis.instrument",
        help_text="ETFs are taxed by their holdings. An index cannot be traded, so it has no"
        " charges.",
    )
    product = ChoiceField(
        choices=PRODUCTS,
        source="basis.product",
        help_text="The product, which decides the tax and the stamp duty of shares.",
    )
    broker = CharField(source="basis.broker", help_text="The broker of the prices.")
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
    """A rate of the rulebook, and its scope."""

    item = ChoiceField(choices=CHARGE_ITEMS, help_text="The item on the contract note.")
    percent = NumberField(
        source="row.percent",
        required=False,
        help_text="Percent of the value, for options of the premium; for `gst` of the brokerage and"
        " of the exchange's and SEBI's fees.",
    )
    flat = NumberField(
        source="row.flat", required=False, help_text="For brokerage: rupees an order."
    )
    cap = NumberField(
        source="row.cap",
        required=False,
        allow_null=True,
        help_text="For brokerage: the maximum of the percentage, in rupees.",
    )
    amount = NumberField(
        source="row.amount",
        required=False,
        help_text="For the depository charge: rupees for each share and day.",
    )
    sides = serializers.ListField(
        child=ChoiceField(choices=SIDES), help_text="The sides of an order that pay it."
    )
    products = serializers.ListField(
        child=ChoiceField(choices=PRODUCTS), help_text="The products that pay it."
    )
    scopes = serializers.ListField(
        child=ChoiceField(choices=RATE_SCOPES),
        help_text=(
            "The scope of the rate: the segment, or kinds of ETF or options in it; these"
            " take precedence over the segment."
        ),
    )
    underlyings = serializers.ListField(
        child=CharField(), help_text="The underlyings of the rate; empty for all."
    )
    since = DateField(source="row.first_date", help_text="The first day of the rate.")
    row = RuleRowField(help_text="File and line in the edition of the rulebook.")
    source_ = CharField(source="row.source", help_text="The source.")
    unsourced = CharField(
        source="row.unsourced", help_text="Facts in the row without a source; empty without any."
    )


@example
class ChargeRatesSerializer(AnswerSerializer):
    """The rates of a segment on a date."""

    exchange = ChoiceField(choices=SEGMENTS, help_text="The exchange.")
    segment = ChoiceField(choices=get_args(ChargeSegment), help_text="The segment.")
    date = DateField(help_text="The day of the trade.")
    broker = CharField(help_text="The broker of the prices.")
    edition = CharField(help_text=_EDITION_HELP)
    rates = RateInForceSerializer(many=True, help_text="Item by item.")
