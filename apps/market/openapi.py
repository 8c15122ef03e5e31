"""What the OpenAPI document says of /api/market."""

from typing import Final

from apps.core.openapi import (
    COUNT,
    FLAG,
    INTEGER,
    MOMENT,
    MOMENT_SHOWN,
    NUMBER,
    TEXT,
    Answer,
    Operation,
    Schema,
    array,
    described,
    one_of,
    query,
    record,
    ref,
)
from apps.engine.candles import TIMEFRAMES

DEFAULT_CANDLES: Final = 500
MAX_CANDLES: Final = 5000

_TAG: Final = "market"
_TIMEFRAME: Final = one_of(list(TIMEFRAMES))
_END: Final = "A date is a day in Asia/Kolkata; a timestamp has its zone."
_SYMBOL: Final = query("symbol", TEXT, "EXCHANGE:SYMBOL", example="NSE:RELIANCE")

SCHEMAS: Final[dict[str, Schema]] = {
    "Candle": {
        "type": "array",
        "description": "[time, open, high, low, close, volume]",
        "prefixItems": [MOMENT, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER],
        "items": False,
        "minItems": 6,
    },
    "Candles": record(
        {
            "symbol": TEXT,
            "timeframe": _TIMEFRAME,
            "candles": array(ref("Candle")),
            "synthetic": described(FLAG, "True where the history is a generated sample."),
        },
        optional=("synthetic",),
    ),
    "Coverage": record(
        {
            "symbol": TEXT,
            "timeframes": array(
                record(
                    {
                        "timeframe": _TIMEFRAME,
                        "first": MOMENT,
                        "last": MOMENT,
                        "bars": COUNT,
                        "synthetic": FLAG,
                    },
                    optional=("synthetic",),
                )
            ),
        }
    ),
}

READ_CANDLES: Final = Operation(
    name="readCandles",
    summary="Candles of one symbol",
    text="The first `limit` candles from `from` on; without `from` the last ones.",
    tag=_TAG,
    parameters=(
        _SYMBOL,
        query("timeframe", _TIMEFRAME, "How long a candle is.", example="1d"),
        query("from", TEXT, f"Where they begin. {_END}"),
        query("to", TEXT, f"Where they end; a date is included. {_END}"),
        query(
            "limit",
            {**INTEGER, "minimum": 1, "maximum": MAX_CANDLES, "default": DEFAULT_CANDLES},
            "How many at most.",
        ),
    ),
    answers={
        200: Answer(
            "What is held.",
            ref("Candles"),
            {
                "symbol": "NSE:RELIANCE",
                "timeframe": "1d",
                "candles": [[MOMENT_SHOWN, 1400.5, 1412.0, 1391.2, 1409.9, 8812345]],
            },
        )
    },
)
READ_COVERAGE: Final = Operation(
    name="readCoverage",
    summary="What history is held of a symbol",
    tag=_TAG,
    parameters=(_SYMBOL,),
    answers={
        200: Answer(
            "Each timeframe that is held.",
            ref("Coverage"),
            {
                "symbol": "NSE:RELIANCE",
                "timeframes": [
                    {
                        "timeframe": "1d",
                        "first": MOMENT_SHOWN,
                        "last": MOMENT_SHOWN,
                        "bars": 1,
                        "synthetic": True,
                    }
                ],
            },
        )
    },
)
