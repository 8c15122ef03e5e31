"""What the OpenAPI document says of the explanation of a candle."""

from typing import Final

from apps.backtests.explain.serializers import OF_POSITIONS
from apps.backtests.openapi import TRADE_SHOWN
from apps.core.errors import Code
from apps.core.openapi import (
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
    nullable,
    one_of,
    place,
    query,
    record,
    ref,
)
from apps.engine.candles import TIMEFRAMES
from apps.engine.kernel.reasons import REJECTIONS
from apps.engine.simulation.verdict import CERTAIN, UNCERTAIN
from apps.market.openapi import RANGE_END
from apps.symbols.openapi import SYMBOL

_SIDE: Final = one_of(("long", "short"))
_OPERATOR: Final = one_of(("AND", "OR"))
_PRICE: Final = nullable(NUMBER)
_FINDING: Final[dict[str, Schema]] = {
    "text": TEXT,
    "holds": described(FLAG, "At this candle."),
    "confirmed": described(FLAG, "By as many candles as confirm an entry."),
    "operands": array(
        record(
            {
                "name": TEXT,
                "value": described(nullable(NUMBER), "At this candle; null where not known yet."),
                "before": described(nullable(NUMBER), "At the candle before."),
            }
        )
    ),
    "parts": described(array(ref("ExplainedCondition")), "Of a group."),
}

_CONDITIONS: Final[dict[str, Schema]] = {
    "logicalOperator": _OPERATOR,
    "signal": described(FLAG, "The conditions together."),
    "conditions": array(record({"condition": described(TEXT, "Its place."), **_FINDING})),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "ExplainedCondition": record(_FINDING),
    "Explanation": record(
        {
            "symbol": TEXT,
            "timeframe": one_of(list(TIMEFRAMES)),
            "candle": record(
                {
                    "time": MOMENT,
                    **dict.fromkeys(("open", "high", "low", "close", "volume"), NUMBER),
                }
            ),
            "confirmationCandles": INTEGER,
            "sides": array(record({"side": _SIDE, **_CONDITIONS})),
            "entry": record(
                {
                    "reason": one_of((*CERTAIN, UNCERTAIN)),
                    "message": TEXT,
                    "side": nullable(_SIDE),
                    "possibleReasons": array(one_of(REJECTIONS)),
                    "trade": described(
                        nullable(ref("Trade")), "The one that was opened, or was in the way."
                    ),
                }
            ),
            "positions": described(
                array(ref("ExplainedPosition")),
                "Those that lived in the candle, one that was closed at its open too.",
            ),
        }
    ),
    "ExplainedPosition": record(
        {
            "reason": described(
                one_of(list(OF_POSITIONS)), "`held`, or what closed it in this candle."
            ),
            "message": TEXT,
            "trade": ref("Trade"),
            "levels": described(
                nullable(
                    record({"stopLoss": _PRICE, "trailingStop": _PRICE, "takeProfit": _PRICE})
                ),
                "That the candle's prices were held against; a trailing stop once it is tighter"
                " than the stop, whose place it then takes. In the candle that a limit or stop"
                " order was filled inside, the target is not looked at. Null where pyramiding may"
                " have added to the position.",
            ),
            "oppositeSignal": described(
                nullable(FLAG), "At the candle's close; null where it closes nothing."
            ),
            **_CONDITIONS,
        }
    ),
}

EXPLAIN: Final = Operation(
    name="explainCandle",
    summary="Why there was, or was no, entry or exit at a candle",
    text="Each condition with the values it read, for each side, and what became of the signal as "
    "far as the result tells; of each position that lived in the candle its levels, the conditions "
    "of exits, and what closed it. Conditions are computed over the candles that are held now.",
    tag="backtests",
    parameters=(
        place("backtest_id", "The backtest."),
        query("symbol", SYMBOL, "One of the backtest's.", example="NSE:RELIANCE"),
        query("at", RANGE_END, "A moment inside the candle.", example="2024-01-03T04:00:00Z"),
    ),
    answers={
        200: Answer(
            "The candle, explained.",
            ref("Explanation"),
            {
                "symbol": "NSE:RELIANCE",
                "timeframe": "5m",
                "candle": {
                    "time": MOMENT_SHOWN,
                    "open": 1400,
                    "high": 1404.5,
                    "low": 1399,
                    "close": 1403,
                    "volume": 12000,
                },
                "confirmationCandles": 1,
                "sides": [
                    {
                        "side": "long",
                        "logicalOperator": "AND",
                        "signal": False,
                        "conditions": [
                            {
                                "condition": "entryConditions.conditions[0]",
                                "text": "RSI(14) above 50",
                                "holds": False,
                                "confirmed": False,
                                "operands": [{"name": "RSI(14)", "value": 48.2, "before": 46.9}],
                                "parts": [],
                            }
                        ],
                    }
                ],
                "entry": {
                    "reason": "no_signal",
                    "message": "The conditions of no side are true.",
                    "side": None,
                    "possibleReasons": [],
                    "trade": None,
                },
                "positions": [
                    {
                        "reason": "held",
                        "message": OF_POSITIONS["held"],
                        "trade": TRADE_SHOWN,
                        "levels": {"stopLoss": 1393.45, "trailingStop": None, "takeProfit": 1414.5},
                        "oppositeSignal": False,
                        "logicalOperator": "AND",
                        "signal": False,
                        "conditions": [],
                    }
                ],
            },
        )
    },
    refusals={
        404: (Code.BACKTEST_NOT_FOUND, Code.NOT_FOUND),
        422: (Code.UNPROCESSABLE_ENTITY,),
    },
)
