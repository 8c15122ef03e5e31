"""What the OpenAPI document says of bars that are sent."""

from typing import Final

from apps.core.errors import Code
from apps.core.openapi import (
    COUNT,
    MOMENT,
    NUMBER,
    TEXT,
    Answer,
    Operation,
    Schema,
    Sent,
    array,
    described,
    one_of,
    record,
    ref,
)
from apps.engine.candles import TIMEFRAMES
from apps.market.feeds.serializers import MOST_CANDLES, MOST_RUPEES, MOST_SERIES, MOST_VOLUME
from apps.market.feeds.validation import SKEW, BarRejectReason
from apps.market.openapi import RANGE_END
from apps.symbols.serializers import SYMBOL

_PRICE: Final[Schema] = {**NUMBER, "exclusiveMinimum": 0, "maximum": MOST_RUPEES}
_VOLUME: Final[Schema] = {**NUMBER, "minimum": 0, "maximum": MOST_VOLUME}
_TIMEFRAME: Final = one_of(list(TIMEFRAMES))
_SENT: Final[Schema] = {
    "type": "array",
    "description": "[time, open, high, low, close, volume]; the time is the start of the bar.",
    "prefixItems": [RANGE_END, _PRICE, _PRICE, _PRICE, _PRICE, _VOLUME],
    "items": False,
    "minItems": 6,
}

_CANDLES: Final = array(_SENT, minItems=1, maxItems=MOST_CANDLES)


def _closed(fields: dict[str, Schema]) -> Schema:
    return {**record(fields), "additionalProperties": False}


SCHEMAS: Final[dict[str, Schema]] = {
    "ClosedCandles": _closed({"symbol": SYMBOL, "timeframe": _TIMEFRAME, "candles": _CANDLES}),
    "ClosedCandlesOfMany": _closed(
        {
            "timeframe": _TIMEFRAME,
            "series": {
                **array(
                    _closed({"symbol": SYMBOL, "candles": _CANDLES}),
                    minItems=1,
                    maxItems=MOST_SERIES,
                ),
                "description": f"Of each symbol once; {MOST_CANDLES:,} candles in all at most.",
            },
        }
    ),
    "ReceivedCandlesOfMany": record(
        {"timeframe": _TIMEFRAME, "series": array(ref("ReceivedCandles"))}
    ),
    "ReceivedCandles": record(
        {
            "symbol": TEXT,
            "timeframe": _TIMEFRAME,
            "received": described(COUNT, "Each is added, repeated, changed or refused."),
            "added": COUNT,
            "repeated": described(COUNT, "Held already with the same values, or sent twice."),
            "changed": described(COUNT, "Held already with other values; these stand now."),
            "late": described(COUNT, "Added before the newest that was held."),
            "outOfOrder": described(COUNT, "Sent after one that starts later."),
            "offSession": described(COUNT, "Outside the hours of the session, and taken."),
            "sampleDropped": described(COUNT, "Bars of a generated sample that made way."),
            "refused": array(
                record(
                    {
                        "index": described(COUNT, "Among those sent, from 0."),
                        "time": MOMENT,
                        "reason": one_of([flaw.value for flaw in BarRejectReason]),
                    }
                )
            ),
        }
    ),
}

RECEIVE: Final = Operation(
    name="sendCandles",
    summary="Bring closed candles in, as a feed does",
    text=(
        "For operators. In any order; of one moment sent twice the last counts. A candle that has"
        f" not ended {SKEW} seconds from now (`not_closed`), or starts at no start of its timeframe"
        " (`unaligned`), is refused and the others are taken; one that is no candle refuses the"
        " call. Rows that were traded on keep the candles that they used. Of many symbols at once,"
        f" up to {MOST_SERIES}, in `series`: it is one call to the limits, and all or nothing."
    ),
    tag="market",
    idempotent=True,
    body=Sent(
        {"anyOf": [ref("ClosedCandles"), ref("ClosedCandlesOfMany")]},
        {
            "symbol": "NSE:RELIANCE",
            "timeframe": "5m",
            "candles": [["2024-02-05T03:45:00Z", 2915, 2921.5, 2912.05, 2920, 184211]],
        },
    ),
    answers={
        200: Answer(
            "What became of them; of many symbols in `series`, in their order.",
            {"anyOf": [ref("ReceivedCandles"), ref("ReceivedCandlesOfMany")]},
            {
                "symbol": "NSE:RELIANCE",
                "timeframe": "5m",
                "received": 1,
                "added": 1,
                "repeated": 0,
                "changed": 0,
                "late": 0,
                "outOfOrder": 0,
                "offSession": 0,
                "sampleDropped": 0,
                "refused": [],
            },
        )
    },
    refusals={409: (Code.CONFLICT,)},
)
