"""What the OpenAPI document says of /api/market."""

from typing import Final, get_args

from apps.core.openapi import (
    COUNT,
    DATE,
    DATE_SHOWN,
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
    query,
    record,
    ref,
)
from apps.engine.candles import TIMEFRAMES
from apps.market.coverage import MOST_GAPS, MOST_INSPECTED
from apps.market.rulebook.charges import DEFAULT_BROKER, INSTRUMENT_KINDS, PRODUCTS, SIDES
from apps.market.rulebook.rows import ChargeItem, ChargeSegment, Market, Phase, Product
from apps.market.rulebook.sessions import MARKETS, SessionKind
from apps.symbols.serializers import SYMBOL

COVERAGE_SHOWN: Final = {
    "symbol": "NSE:RELIANCE",
    "bars": 4275,
    "firstBar": "2026-04-08T03:45:00.000Z",
    "lastBar": "2026-06-30T09:55:00.000Z",
    "heldSessions": 57,
    "sessions": 57,
    "percentage": 100,
    "since": "2021-06-30",
    "sessionsSince": 57,
}
DEFAULT_CANDLES: Final = 500
MAX_CANDLES: Final = 5000
MOST_UNITS: Final = 999_999_999
MOST_RUPEES: Final = 10**9
DEFAULT_PRODUCT: Final[Product] = "delivery"
YES_OR_NO: Final = ("true", "false")

RANGE_END: Final[Schema] = {
    "type": "string",
    "description": "A date is a day in Asia/Kolkata; a timestamp has its zone.",
    "anyOf": [DATE, {"format": "date-time"}],
}

_TAG: Final = "market"
_TIMEFRAME: Final = one_of(list(TIMEFRAMES))
_SYMBOL: Final = query("symbol", SYMBOL, "EXCHANGE:SYMBOL", example="NSE:RELIANCE")

_CLOCK: Final[Schema] = {"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"}
_SOURCE: Final[dict[str, Schema]] = {
    "row": described(TEXT, "File and line in the edition of the rulebook."),
    "source": TEXT,
    "unsourced": described(TEXT, "What of the row has no source; empty where all has one."),
}
_EDITION: Final = described(TEXT, "SHA-256 of the edition of the rulebook.")
_EDITION_SHOWN: Final = "5d41402abc4b2a76b9719d911017c592ae5f1c3f0d0b9d5b1f6d3c2b1a098765"

_DAYS: Final = record({"count": COUNT, "first": array(DATE)})
_TIMES: Final = record({"count": COUNT, "first": array(MOMENT)})

SCHEMAS: Final[dict[str, Schema]] = {
    "Sessions": record(
        {
            "exchange": one_of(list(MARKETS)),
            "date": DATE,
            "edition": _EDITION,
            "segments": array(
                record(
                    {
                        "segment": one_of(get_args(Market)),
                        "session": one_of(get_args(SessionKind)),
                        "name": described(TEXT, "What the day is called, or what is not known."),
                        "phases": array(
                            record(
                                {
                                    "phase": one_of(get_args(Phase)),
                                    "opens": _CLOCK,
                                    "closes": _CLOCK,
                                }
                            )
                        ),
                        "sources": array(record(_SOURCE)),
                    }
                )
            ),
        }
    ),
    "ContractNote": record(
        {
            "symbol": TEXT,
            "date": DATE,
            "side": one_of(SIDES),
            "quantity": INTEGER,
            "price": NUMBER,
            "multiplier": described(NUMBER, "Rupees a unit gains per rupee of price."),
            "value": described(NUMBER, "Rupees: quantity x price x multiplier."),
            "segment": one_of(get_args(ChargeSegment)),
            "instrument": described(
                one_of(INSTRUMENT_KINDS),
                "ETFs are taxed by what they hold; nothing is charged on an index, which cannot be"
                " traded.",
            ),
            "product": one_of(PRODUCTS),
            "broker": TEXT,
            "edition": _EDITION,
            "charges": array(
                record(
                    {
                        "item": described(
                            one_of(("brokerage", *get_args(ChargeItem), "depository_charge")),
                            "`depository_charge` is what the broker and the depository take of a"
                            " sale in delivery, once for each share and day.",
                        ),
                        "percent": described(NUMBER, "Of the value; 0 for fixed sums."),
                        "amount": described(NUMBER, "Rupees, not rounded."),
                        "rounded": described(NUMBER, "Rupees as a fill pays them."),
                        "since": DATE,
                        **_SOURCE,
                    }
                )
            ),
            "total": described(NUMBER, "Rupees: of the rounded items."),
            "unknown": described(array(TEXT), "Items without a rate on this date."),
        }
    ),
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
            "dates": described(
                array(DATE),
                "Of days and weeks alone: the date in Asia/Kolkata of each candle, of a week its"
                " Monday.",
            ),
            "adjustedFor": array(
                record(
                    {
                        "exDate": DATE,
                        "kind": one_of(["split", "bonus"]),
                        "ratio": described(TEXT, "As announced: of a bonus the new shares alone."),
                        "source": TEXT,
                    }
                )
            ),
            "synthetic": described(FLAG, "True where the history is a generated sample."),
        },
        optional=("dates", "adjustedFor", "synthetic"),
    ),
    "SessionCoverage": described(
        record(
            {
                "symbol": SYMBOL,
                "bars": described(COUNT, "Bars of the range; of an algorithm, those stored."),
                "firstBar": nullable(MOMENT),
                "lastBar": nullable(MOMENT),
                "heldSessions": described(COUNT, "Sessions of the range that have bars."),
                "sessions": described(COUNT, "Sessions of the range, by the dated calendar."),
                "percentage": described(
                    nullable(NUMBER), "Held sessions in percent of `sessions`; null without any."
                ),
                "since": described(nullable(DATE), "The first day that is held of the symbol."),
                "sessionsSince": described(
                    COUNT,
                    "Sessions of the range from `since` on: a backtest needs the percentage of"
                    " them that BACKTEST_MIN_COVERAGE says.",
                ),
            }
        ),
        "How much of a range is held of a symbol.",
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
                        "days": described(COUNT, "Dates that have bars."),
                        "missingSessions": described(COUNT, "The calendar has them."),
                        "gaps": described(
                            array(record({"from": DATE, "to": DATE, "sessions": COUNT})),
                            f"Missing sessions in a row; the newest {MOST_GAPS}.",
                        ),
                        "uncheckedYears": described(
                            array(INTEGER), "Nobody knows the holidays of these."
                        ),
                        "synthetic": FLAG,
                        "adjusted": described(FLAG, "Prices as their source adjusted them."),
                    },
                    optional=(
                        "days",
                        "missingSessions",
                        "gaps",
                        "uncheckedYears",
                        "synthetic",
                        "adjusted",
                    ),
                )
            ),
            "quality": ref("CandleQuality"),
        },
        optional=("quality",),
    ),
    "CandleQuality": record(
        {
            "timeframe": _TIMEFRAME,
            "bars": COUNT,
            "days": COUNT,
            "barsWithoutVolume": COUNT,
            "barsOutsideHours": COUNT,
            "missingSessions": _DAYS,
            "shortDays": described(_DAYS, "Fewer bars than the session has periods."),
            "daysWithoutSession": described(_DAYS, "Bars though the calendar has no session."),
            "jumps": described(_TIMES, "Open 30 % or more away from the last close."),
            "spikes": described(_TIMES, "Close 30 % or more away from both its neighbours."),
            "runsWithoutVolume": described(_TIMES, "Begin ten bars or more without volume."),
        }
    ),
}

READ_CANDLES: Final = Operation(
    name="readCandles",
    summary="Candles of one symbol",
    text=(
        "The first `limit` candles from `from` on; without `from` the last ones. Prices and volumes"
        " are adjusted for the splits and bonuses that are known, into the terms of the newest day"
        " held; `adjustedFor` lists those that changed any of them."
    ),
    tag=_TAG,
    parameters=(
        _SYMBOL,
        query("timeframe", _TIMEFRAME, "How long a candle is.", example="1d"),
        query("from", RANGE_END, "Where they begin."),
        query("to", RANGE_END, "Where they end; a date is included."),
        query(
            "limit",
            {**INTEGER, "minimum": 1, "maximum": MAX_CANDLES, "default": DEFAULT_CANDLES},
            "How many at most.",
        ),
        query(
            "adjusted",
            {**one_of(YES_OR_NO), "default": "true"},
            "Adjusted for splits and bonuses, or as traded.",
        ),
    ),
    answers={
        200: Answer(
            "What is held.",
            ref("Candles"),
            {
                "symbol": "NSE:RELIANCE",
                "timeframe": "1d",
                "candles": [["2026-11-19T18:30:00.000Z", 1400.5, 1412.0, 1391.2, 1409.9, 8812345]],
                "dates": [DATE_SHOWN],
            },
        )
    },
)
READ_COVERAGE: Final = Operation(
    name="readCoverage",
    summary="What history is held of a symbol, and how complete",
    text=(
        "Each timeframe with the sessions between its first and last bar that the calendar has and"
        " the history has not; not of weeks. With `timeframe` also the quality of its bars, of the"
        f" newest {MOST_INSPECTED:,}, adjusted for the splits that are known; jumps and spikes not"
        " of options, which move so by nature."
    ),
    tag=_TAG,
    parameters=(
        _SYMBOL,
        query("timeframe", _TIMEFRAME, "Whose quality to look at."),
    ),
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
                        "days": 1,
                        "missingSessions": 0,
                        "gaps": [],
                        "uncheckedYears": [],
                        "synthetic": True,
                    }
                ],
            },
        )
    },
)
READ_SESSIONS: Final = Operation(
    name="readSessions",
    summary="What an exchange does on a date, and why",
    text="By segment: the phases of the session in Asia/Kolkata. `special` sessions may have hours "
    "that nobody has notified yet, then there are no phases; `unknown` is a day of a year whose "
    "holidays are not loaded.",
    tag=_TAG,
    parameters=(
        query("exchange", one_of(list(MARKETS)), "The exchange.", example="NSE"),
        query("date", DATE, "A day in Asia/Kolkata.", example="2026-08-03"),
    ),
    answers={
        200: Answer(
            "Each segment.",
            ref("Sessions"),
            {
                "exchange": "NSE",
                "date": "2026-08-03",
                "edition": _EDITION_SHOWN,
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
            },
        )
    },
)
READ_CHARGES: Final = Operation(
    name="readCharges",
    summary="What a fill costs: a virtual contract note",
    text="By the rates of its date, item by item, each with the row of the rulebook it comes from."
    " A sale in delivery is taken to be of shares bought on an earlier day, and the first of its"
    " day.",
    tag=_TAG,
    parameters=(
        _SYMBOL,
        query("side", one_of(SIDES), "The side of the order.", example="buy"),
        query(
            "quantity",
            {**INTEGER, "minimum": 1, "maximum": MOST_UNITS},
            "Units, not lots.",
            example=100,
        ),
        query(
            "price",
            {**NUMBER, "exclusiveMinimum": 0, "maximum": MOST_RUPEES, "multipleOf": 0.0001},
            "Rupees; of an option the premium.",
            example=1400.5,
        ),
        query("date", DATE, "The day of the trade.", example="2026-11-20"),
        query(
            "product",
            {**one_of(PRODUCTS), "default": DEFAULT_PRODUCT},
            "It decides tax and stamp duty of shares.",
        ),
        query(
            "broker",
            {**TEXT, "default": DEFAULT_BROKER},
            "Whose prices; a refusal names those that are known.",
        ),
    ),
    answers={
        200: Answer(
            "The note.",
            ref("ContractNote"),
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
                "edition": _EDITION_SHOWN,
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
            },
        )
    },
)
