"""The query of an event stream."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.core.api.resources import StrictSerializer, TextField, example
from apps.engine.candles import InvalidSymbol, Symbol
from apps.symbols.serializers import SYMBOL

MOST_SYMBOLS: Final = 50
_SYMBOL_PATTERN: Final = SYMBOL["pattern"][1:-1]
_SYMBOLS: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": f"^{_SYMBOL_PATTERN}(,{_SYMBOL_PATTERN}){{0,{MOST_SYMBOLS - 1}}}$",
    "examples": ["NSE:RELIANCE,NSE:TCS"],
}


@extend_schema_field(_SYMBOLS)
class SymbolListField(TextField):
    """Distinct symbols, separated by commas."""

    def to_internal_value(self, data: object) -> Any:
        texts = super().to_internal_value(data).split(",")
        if len(texts) > MOST_SYMBOLS:
            raise serializers.ValidationError(f"must name at most {MOST_SYMBOLS} symbols")
        try:
            return tuple(dict.fromkeys(str(Symbol.parse(text)) for text in texts))
        except InvalidSymbol as error:
            raise serializers.ValidationError(error.reason) from None


@example
class EventStreamQuery(StrictSerializer):
    """The hints that a stream sends beside events."""

    symbols = SymbolListField(
        required=False,
        exact=True,
        max_length=MOST_SYMBOLS * (Symbol.MAX_LENGTH + 1),
        help_text="Symbols for hints of new bars, separated by commas.",
    )
