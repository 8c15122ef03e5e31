"""Symbols and instruments on the wire."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, DateField, IntegerField

from apps.core.api.resources import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    STRING,
    AnswerSerializer,
    ChoiceField,
    NullableTextField,
    NumberField,
    QueryIntegerField,
    Schema,
    StrictSerializer,
    example,
)
from apps.engine.candles import InvalidSymbol, Symbol
from apps.symbols.models import Instrument, OptionType, Source, Type
from apps.symbols.services import MOST_EXPIRIES

LONGEST_QUERY: Final = 100

# The form of a symbol. One that names a month also has to be a whole contract.
SYMBOL: Final[Schema] = {
    "type": "string",
    "pattern": f"^({'|'.join(Symbol.EXCHANGES)}):[A-Z0-9]+$",
    "maxLength": Symbol.MAX_LENGTH,
    "description": "EXCHANGE:SYMBOL, in capitals.",
    "examples": ["NSE:RELIANCE"],
}


@extend_schema_field(STRING)
class VerbatimField(serializers.Field[str, str, str, Any]):
    """Any string, exactly as sent: the check reports a superfluous space."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        return data


@extend_schema_field(SYMBOL)
class SymbolFilterField(serializers.Field[str, str, str, Any]):
    """A well-formed symbol."""

    def to_internal_value(self, data: str) -> str:
        try:
            return str(Symbol.parse(data))
        except InvalidSymbol as error:
            raise serializers.ValidationError(error.reason) from None


@extend_schema_field(
    {**STRING, "minLength": 1, "maxLength": LONGEST_QUERY, "allOf": [{"pattern": r"\S"}]}
)
class SearchTextField(serializers.Field[str, str, str, Any]):
    """A search text, without surrounding spaces."""

    def to_internal_value(self, data: object) -> str:
        text = str(data).strip()
        if not str(data):
            raise serializers.ValidationError("is required")
        if not text or len(text) > LONGEST_QUERY:
            raise serializers.ValidationError(f"must hold 1 to {LONGEST_QUERY} characters")
        return text


@extend_schema_field(SYMBOL)
class SymbolField(CharField):
    """An EXCHANGE:SYMBOL in an answer."""


@example
class SymbolToValidateSerializer(StrictSerializer):
    refuses_unknown = False

    symbol = VerbatimField(help_text="The text to check, such as NSE:RELIANCE.")


@example
class VerdictSerializer(AnswerSerializer):
    """The check of a symbol: `valid` for its form, `tradable`, the `reason` against it, and
    `suggestions` of likely corrections.
    """

    valid = BooleanField(help_text="Whether it is well formed.")
    exchange = CharField(allow_null=True, help_text="Null if it cannot be read.")
    symbol = CharField(help_text="The value as sent.")
    type = ChoiceField(choices=Type.values, allow_null=True, help_text="Null if it cannot be read.")
    tradable = BooleanField(help_text="Whether it can be traded.")
    reason = CharField(
        required=False, help_text="Why it is malformed, or cannot be traded; absent if it can."
    )
    suggestions = serializers.ListField(
        child=CharField(),
        required=False,
        help_text="Symbols that may have been meant, the likeliest first; absent without any.",
    )

    def to_representation(self, instance: Any) -> dict[str, Any]:
        check, suggestions = instance
        answer = super().to_representation(check)
        if check.reason is None:
            del answer["reason"]
        return answer | {"suggestions": list(suggestions)} if suggestions else answer


@example
class SearchQuery(StrictSerializer):
    query = SearchTextField(
        help_text="A part of a symbol, of a name or of a broker's name for it; an ISIN;"
        " words that describe a contract, such as `NIFTY 24350 CE` or `reliance aug fut`."
    )
    exchange = ChoiceField(
        choices=Symbol.EXCHANGES, required=False, help_text="Only instruments of this exchange."
    )
    type = ChoiceField(
        choices=Type.values, required=False, help_text="Only instruments of this type."
    )
    limit = QueryIntegerField(
        max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="How many at most."
    )


class MatchSerializer(AnswerSerializer):
    """An instrument that matches a search; a contract has an `expiry`."""

    symbol = CharField()
    name = CharField()
    type = ChoiceField(choices=Type.values)
    exchange = ChoiceField(choices=Symbol.EXCHANGES)
    expiry = DateField(required=False, help_text="The date of its last session.")

    def to_representation(self, instance: Instrument) -> dict[str, Any]:
        answer = super().to_representation(instance)
        if instance.expiry is None:
            del answer["expiry"]
        return answer


@example
class MatchesSerializer(AnswerSerializer):
    """The matches, the best first."""

    results = MatchSerializer(many=True)


class AliasSerializer(AnswerSerializer):
    """A broker's or an exchange's name for an instrument."""

    source_ = ChoiceField(choices=Source.values)
    name = CharField()
    token = NullableTextField()


@example
class InstrumentSerializer(AnswerSerializer):
    """An instrument; null for fields that do not apply or are unknown."""

    symbol = CharField(source="instrument.symbol")
    exchange = ChoiceField(source="instrument.exchange", choices=Symbol.EXCHANGES)
    exchangeName = CharField(
        source="instrument.exchange_name", help_text="The name as the exchange writes it."
    )
    name = CharField(source="instrument.name")
    type = ChoiceField(source="instrument.type", choices=Type.values)
    isin = NullableTextField(source="instrument.isin")
    underlying = NullableTextField(
        source="instrument.underlying", help_text="The symbol without its exchange."
    )
    expiry = DateField(
        source="instrument.expiry", allow_null=True, help_text="The date of its last session."
    )
    strike = NumberField(source="instrument.strike", allow_null=True, help_text="Rupees.")
    optionType = ChoiceField(
        source="instrument.option_type",
        choices=OptionType.values,
        allow_null=True,
        help_text="`CE`: call; `PE`: put.",
    )
    lotSize = IntegerField(source="instrument.lot_size", help_text="Units of one lot.")
    tickSize = NumberField(source="instrument.tick_size", allow_null=True, help_text="Rupees.")
    multiplier = NumberField(
        source="instrument.multiplier",
        allow_null=True,
        help_text="Rupees a lot gains per rupee of price.",
    )
    freezeQuantity = IntegerField(
        source="instrument.freeze_quantity",
        allow_null=True,
        help_text="Units; exchanges take no larger order.",
    )
    tradable = BooleanField(source="check.tradable", help_text="Whether it can be traded today.")
    nextExpiries = serializers.ListField(
        child=DateField(),
        help_text="The next expiries of contracts on it or on its underlying; at most"
        f" {MOST_EXPIRIES}.",
    )
    aliases = AliasSerializer(many=True, help_text="Its names at brokers and exchanges.")
