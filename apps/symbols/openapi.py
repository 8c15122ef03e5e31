"""What the OpenAPI document says of /api/symbols."""

from typing import Final

from apps.core.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from apps.core.errors import Code
from apps.core.openapi import (
    DATE,
    FLAG,
    INTEGER,
    NOT_BLANK,
    NUMBER,
    STRING,
    TEXT,
    Answer,
    Operation,
    Schema,
    Sent,
    array,
    body_schema,
    nullable,
    one_of,
    place,
    query,
    record,
    ref,
)
from apps.engine.symbols import EXCHANGES, MAX_LENGTH
from apps.symbols.models import OptionType, Source, Type
from apps.symbols.serializers import SymbolBody

LONGEST_QUERY: Final = 100

SYMBOL: Final[Schema] = {
    "type": "string",
    "pattern": f"^({'|'.join(EXCHANGES)}):[A-Z0-9]+$",
    "maxLength": MAX_LENGTH,
}
"""The form of a symbol. One that names a month also has to be a whole contract."""

_TAG: Final = "symbols"
_EXCHANGE: Final = one_of(EXCHANGES)
_TYPE: Final = one_of(Type.values)

SCHEMAS: Final[dict[str, Schema]] = {
    "SymbolToValidate": body_schema(SymbolBody, symbol=STRING),
    "Verdict": record(
        {
            "valid": FLAG,
            "exchange": nullable(TEXT),
            "symbol": TEXT,
            "type": nullable(_TYPE),
            "tradable": FLAG,
            "reason": TEXT,
            "suggestions": array(TEXT),
        },
        optional=("reason", "suggestions"),
    ),
    "Match": record(
        {"symbol": TEXT, "name": TEXT, "type": _TYPE, "exchange": _EXCHANGE, "expiry": DATE},
        optional=("expiry",),
    ),
    "Matches": record({"results": array(ref("Match"))}),
    "Instrument": record(
        {
            "symbol": TEXT,
            "exchange": _EXCHANGE,
            "exchangeName": TEXT,
            "name": TEXT,
            "type": _TYPE,
            "isin": nullable(TEXT),
            "underlying": nullable(TEXT),
            "expiry": nullable(DATE),
            "strike": nullable(NUMBER),
            "optionType": nullable(one_of(OptionType.values)),
            "lotSize": INTEGER,
            "tickSize": nullable(NUMBER),
            "multiplier": nullable(NUMBER),
            "freezeQuantity": nullable(INTEGER),
            "tradable": FLAG,
            "nextExpiries": array(DATE),
            "aliases": array(ref("Alias")),
        }
    ),
    "Alias": record({"source": one_of(Source.values), "name": TEXT, "token": nullable(TEXT)}),
}

_EQUITY: Final = {"symbol": "NSE:RELIANCE", "type": "equity", "exchange": "NSE"}

VALIDATE_SYMBOL: Final = Operation(
    name="validateSymbol",
    summary="Whether a symbol is well formed, and whether it can be traded",
    tag=_TAG,
    idempotent=True,
    body=Sent(ref("SymbolToValidate"), {"symbol": "NSE:RELIANCE"}),
    answers={
        200: Answer(
            "The verdict; `reason` says what is wrong, `suggestions` what may have been meant.",
            ref("Verdict"),
            {**_EQUITY, "valid": True, "tradable": True},
        )
    },
)
SEARCH_SYMBOLS: Final = Operation(
    name="searchSymbols",
    summary="Instruments that match what was typed, the best match first",
    tag=_TAG,
    parameters=(
        query(
            "query",
            {**STRING, "minLength": 1, "maxLength": LONGEST_QUERY, "allOf": [NOT_BLANK]},
            "A part of a symbol, a name, or what an exchange or a broker calls it; an ISIN; words "
            "that describe a contract, such as `NIFTY 24350 CE` or `reliance aug fut`.",
            example="reliance",
        ),
        query("exchange", _EXCHANGE, "Of this exchange alone."),
        query("type", _TYPE, "Of this type alone."),
        query(
            "limit",
            {**INTEGER, "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
            "How many at most.",
        ),
    ),
    answers={
        200: Answer(
            "What matches.",
            ref("Matches"),
            {"results": [{**_EQUITY, "name": "Reliance Industries Limited"}]},
        )
    },
)
READ_SYMBOL: Final = Operation(
    name="readSymbol",
    summary="What is known of an instrument",
    tag=_TAG,
    parameters=(place("symbol", "EXCHANGE:SYMBOL", schema=SYMBOL, example="NSE:RELIANCE"),),
    answers={
        200: Answer(
            "The instrument; null where a field does not apply or is not known. `multiplier` is"
            " rupees a lot gains per rupee of price, `aliases` what brokers and exchanges call it,"
            " `nextExpiries` those of contracts of it, or of what it is derived from.",
            ref("Instrument"),
            {
                **_EQUITY,
                "exchangeName": "RELIANCE",
                "name": "Reliance Industries Limited",
                "isin": "INE002A01018",
                "underlying": None,
                "expiry": None,
                "strike": None,
                "optionType": None,
                "lotSize": 1,
                "tickSize": 0.05,
                "multiplier": 1,
                "freezeQuantity": None,
                "tradable": True,
                "nextExpiries": ["2026-11-24", "2026-12-29"],
                "aliases": [{"source": "kite", "name": "RELIANCE", "token": "738561"}],
            },
        )
    },
    refusals={404: (Code.NOT_FOUND,)},
)
