"""What the OpenAPI document says of /api/backtests."""

from typing import Final

from apps.algorithms.examples import STEPS as STEPS_SHOWN
from apps.backtests import study_schemas
from apps.backtests.models import BacktestStatus
from apps.backtests.prefer_wait import MAX_SECONDS
from apps.backtests.serializers import BACKTEST_KINDS, SORTS, RenameIn, SubmitIn
from apps.backtests.submissions import STUDY_FIELDS
from apps.backtests.tables import POINT_COLUMNS, TRADE_COLUMNS
from apps.core.api.renderers import table_of
from apps.core.errors import Code
from apps.core.openapi import (
    COUNT,
    DATE_IN_INDIA,
    DATE_SHOWN,
    ID,
    ID_SHOWN,
    INTEGER,
    MOMENT,
    MOMENT_SHOWN,
    NOTHING,
    NUMBER,
    PAGED,
    STRING,
    TABLE_HEADERS,
    TABLE_TEXT,
    TEXT,
    Answer,
    Operation,
    Schema,
    Sent,
    array,
    body_schema,
    described,
    header,
    nullable,
    one_of,
    page_of,
    page_shown,
    place,
    query,
    record,
    ref,
    sorted_by,
)
from apps.engine.candles import TIMEFRAMES
from apps.engine.figures.breakdowns import DAYS, MONTHS, MOST_PERIODS, WEEKS, YEARS
from apps.engine.figures.metrics import LEAST_DAYS, METRICS
from apps.engine.kernel.reasons import CHARGE_KINDS, EXIT_REASONS, REJECTIONS
from apps.engine.units import Unit
from apps.market.openapi import RANGE_END
from apps.symbols.openapi import SYMBOL

DEFAULT_POINTS: Final = 500
MAX_POINTS: Final = 5000

_TAG: Final = "backtests"
_ID: Final = place("backtest_id", "The backtest.")
_GONE: Final = {404: (Code.BACKTEST_NOT_FOUND,)}
_ENDED_ONLY: Final = {**_GONE, 422: (Code.BACKTEST_RUNNING,)}
_TIMEFRAME: Final = one_of(list(TIMEFRAMES))
_HASH: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _figures() -> dict[str, Schema]:
    """Every figure, with its unit; of older results those are null that nobody told of then."""
    found: dict[str, Schema] = {}
    for name, metric in METRICS.items():
        told = "" if metric.unit in (Unit.COUNT, Unit.RATIO) else f" In {metric.unit}."
        kind = COUNT if metric.unit is Unit.COUNT else NUMBER
        if metric.annual:
            told += f" Null under {LEAST_DAYS} days."
        found[name] = described(nullable(kind), metric.text + told)
    return found


def _periods(length: str, text: str) -> Schema:
    return described(array(ref("Period"), maxItems=MOST_PERIODS[length]), text)


_PREFER: Final = header(
    "Prefer",
    TEXT,
    f"`wait=N` holds the answer until it has ended, or N seconds; {MAX_SECONDS} are the most.",
)
_APPLIED: Final = ("Preference-Applied",)

_BACKTEST: Final[dict[str, Schema]] = {
    "id": ID,
    "algorithmId": ID,
    "algorithmVersion": INTEGER,
    "name": TEXT,
    "kind": one_of(BACKTEST_KINDS),
    "status": one_of([status.value for status in BacktestStatus]),
    "progress": {**COUNT, "maximum": 100},
    "startDate": TEXT,
    "endDate": TEXT,
    "symbols": array(TEXT),
    "timeframe": _TIMEFRAME,
    "initialCapital": NUMBER,
    "config": described(study_schemas.CONFIG, "Of a study, with all defaults."),
    "performance": nullable(ref("BacktestPerformance")),
    "results": described(study_schemas.RESULTS, "What a study tells, by its kind."),
    "error": nullable(record({"code": TEXT, "message": TEXT})),
    "createdAt": MOMENT,
    "startedAt": nullable(MOMENT),
    "completedAt": nullable(MOMENT),
    "receipt": nullable(ref("Receipt")),
}
_GROUP: Final[dict[str, Schema]] = {
    "name": TEXT,
    "trades": COUNT,
    "winningTrades": COUNT,
    "losingTrades": COUNT,
    "winRate": described(nullable(NUMBER), "Percent of those that won or lost."),
    "grossProfit": NUMBER,
    "charges": NUMBER,
    "netProfit": NUMBER,
    "averageProfit": nullable(NUMBER),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "BacktestRequest": body_schema(
        SubmitIn,
        algorithmId=ID,
        startDate=RANGE_END,
        endDate=described(RANGE_END, "As startDate; a date is included."),
        symbols={**array(SYMBOL, minItems=1, maxItems=50), "uniqueItems": True},
        timeframe=_TIMEFRAME,
        **{field.name: ref(field.model.__name__) for field in STUDY_FIELDS.values()},
    ),
    **study_schemas.schemas(),
    "BacktestName": body_schema(RenameIn),
    "Backtest": record(_BACKTEST),
    "WholeBacktest": record(
        {
            **_BACKTEST,
            "warnings": described(
                array(record({"field": TEXT, "message": TEXT})), "What was probably not meant."
            ),
            "breakdowns": nullable(ref("Breakdowns")),
        }
    ),
    "Breakdowns": record(
        {
            "bySymbol": array(ref("BreakdownRow")),
            "bySide": array(ref("BreakdownRow")),
            "byExitReason": array(ref("BreakdownRow")),
            "byWeekday": described(array(ref("BreakdownRow")), "Of the entry."),
            "byDay": _periods(DAYS, "The newest days that have bars."),
            "byWeek": _periods(WEEKS, "The newest weeks, by their Mondays."),
            "byMonth": _periods(MONTHS, "The newest months."),
            "byYear": _periods(YEARS, "The newest years."),
        },
        optional=("byDay", "byWeek"),  # of results that are older than these
    ),
    "BreakdownRow": record(_GROUP),
    "Period": record(
        {**_GROUP, "returnPercentage": described(NUMBER, "Of equity; the trades ended in it.")}
    ),
    "BacktestPerformance": record(
        {
            **_figures(),
            "chargesByKind": described(
                record(dict.fromkeys(CHARGE_KINDS, NUMBER)),
                "Rupees; absent from results of engine version 1.",
            ),
            "rejectedSignals": record(dict.fromkeys(REJECTIONS, COUNT)),
        },
        optional=("chargesByKind",),
    ),
    "Receipt": record(
        {
            "engineVersion": INTEGER,
            "configuration": _HASH,
            "candles": _HASH,
            "rulebook": _HASH,
            "result": _HASH,
            "study": nullable(_HASH),
            "start": INTEGER,
            "end": INTEGER,
            "capital": NUMBER,
            "seed": INTEGER,
            "synthetic": described(array(TEXT), "Symbols whose history was a generated sample."),
            "coverage": described(
                array(ref("SessionCoverage")),
                "Of the range, by symbol; absent from results of engine version 9 and before.",
            ),
            "notes": array(record({"code": TEXT, "message": TEXT})),
        },
        optional=("coverage",),
    ),
    "Trade": record(
        {
            "symbol": TEXT,
            "side": one_of(("long", "short")),
            "quantity": NUMBER,
            "entryTime": MOMENT,
            "entryDate": DATE_IN_INDIA,
            "entryPrice": NUMBER,
            "exitTime": MOMENT,
            "exitDate": DATE_IN_INDIA,
            "exitPrice": NUMBER,
            "exitReason": one_of([reason for reason in EXIT_REASONS if reason]),
            "grossProfit": NUMBER,
            "charges": NUMBER,
            "profit": described(NUMBER, "Net of charges."),
            "returnPercentage": NUMBER,
            "bars": COUNT,
            "maxAdverseExcursion": described(
                nullable(NUMBER),
                "MAE: how far prices went against it, percent of the average entry; null of"
                " results that are older than this.",
            ),
            "maxFavorableExcursion": described(
                nullable(NUMBER), "MFE: how far they went for it, as above."
            ),
            "entryDelayBars": described(
                nullable(COUNT),
                "Bars of sessions between the signal and the bar of the first entry, in which the"
                " symbol had none; 0 is the very next bar. Null where nobody knows the hours, and"
                " of results that are older than this.",
            ),
            "entryDelayMinutes": described(
                nullable(NUMBER), "The minutes of sessions of that wait; nights are none."
            ),
            "entryBarVolume": described(
                nullable(NUMBER), "Volume of that bar; null of a symbol without volumes."
            ),
            "entryVolumeShare": described(
                nullable(NUMBER),
                "The trade's quantity, adds included, in percent of that volume; null without any.",
            ),
            "exitDelayBars": described(
                nullable(COUNT),
                "As of the entry, of exits that a close decides: signal, opposite_signal,"
                " max_holding, daily_loss_limit, stopped; null of others.",
            ),
            "exitDelayMinutes": described(nullable(NUMBER), "The minutes of that wait."),
            "exitBarVolume": described(
                nullable(NUMBER), "Volume of the exit's bar; null of end_of_data and expiry."
            ),
            "exitVolumeShare": described(
                nullable(NUMBER), "The quantity in percent of that volume; null without any."
            ),
        }
    ),
    "Equity": record({"points": ref("EquityPoints")}),
    "EquityPoints": array(
        record(
            {
                "time": MOMENT,
                "equity": NUMBER,
                "low": NUMBER,
                "high": NUMBER,
                "drawdown": described(NUMBER, "Percent under the running peak."),
            }
        )
    ),
}

_NAME_SHOWN: Final = "First try"
_BACKTEST_SHOWN: Final = {
    "id": ID_SHOWN,
    "algorithmId": ID_SHOWN,
    "algorithmVersion": 1,
    "name": _NAME_SHOWN,
    "kind": "backtest",
    "status": "queued",
    "progress": 0,
    "startDate": "2024-01-01",
    "endDate": "2024-12-31",
    "symbols": STEPS_SHOWN["basicInfo"]["symbols"],
    "timeframe": STEPS_SHOWN["basicInfo"]["timeframe"],
    "initialCapital": 1_000_000,
    "config": None,
    "performance": None,
    "results": None,
    "error": None,
    "createdAt": MOMENT_SHOWN,
    "startedAt": None,
    "completedAt": None,
    "receipt": None,
}
_WHOLE_SHOWN: Final = {**_BACKTEST_SHOWN, "warnings": [], "breakdowns": None}
_CANCELLED_SHOWN: Final = {
    **_WHOLE_SHOWN, "status": "cancelled", "completedAt": MOMENT_SHOWN,
}  # fmt: skip
TRADE_SHOWN: Final = {
    "symbol": "NSE:RELIANCE",
    "side": "long",
    "quantity": 100,
    "entryTime": MOMENT_SHOWN,
    "entryDate": DATE_SHOWN,
    "entryPrice": 1400.5,
    "exitTime": MOMENT_SHOWN,
    "exitDate": DATE_SHOWN,
    "exitPrice": 1414.5,
    "exitReason": "take_profit",
    "grossProfit": 1400,
    "charges": 0,
    "profit": 1400,
    "returnPercentage": 1,
    "bars": 7,
    "maxAdverseExcursion": 0.2,
    "maxFavorableExcursion": 1.1,
    "entryDelayBars": 0,
    "entryDelayMinutes": 0,
    "entryBarVolume": 48_200,
    "entryVolumeShare": 0.2075,
    "exitDelayBars": None,
    "exitDelayMinutes": None,
    "exitBarVolume": 51_900,
    "exitVolumeShare": 0.1927,
}
_POINT_SHOWN: Final = {
    "time": MOMENT_SHOWN,
    "equity": 1_001_400,
    "low": 1_000_000,
    "high": 1_001_400,
    "drawdown": 0,
}

LIST: Final = Operation(
    name="listBacktests",
    summary="The caller's backtests",
    tag=_TAG,
    parameters=(
        *PAGED,
        query("algorithmId", STRING, "Of this algorithm alone."),
        query(
            "status", one_of([status.value for status in BacktestStatus]), "Of this status alone."
        ),
        query("kind", one_of(BACKTEST_KINDS), "Of this kind alone."),
        *sorted_by(list(SORTS)),
    ),
    answers={200: Answer("One page.", page_of(ref("Backtest")), page_shown(_BACKTEST_SHOWN))},
)
CREATE: Final = Operation(
    name="submitBacktest",
    summary="Ask for a backtest",
    text="`symbols`, `timeframe`, `initialCapital`, `slippage` and `charges` override the "
    "algorithm's. A study takes its configuration, else the algorithm's own; the figures, trades "
    "and curve are then those of the best set (optimization) or of the joined tests "
    "(walk_forward). What is stored for an Idempotency-Key is the answer without any wait.",
    tag=_TAG,
    parameters=(_PREFER,),
    idempotent=True,
    body=Sent(
        ref("BacktestRequest"),
        {
            "algorithmId": ID_SHOWN,
            "startDate": "2024-01-01",
            "endDate": "2024-12-31",
            "name": _NAME_SHOWN,
        },
    ),
    answers={201: Answer("The backtest.", ref("WholeBacktest"), _WHOLE_SHOWN, _APPLIED)},
    refusals={
        404: (Code.ALGORITHM_NOT_FOUND,),
        422: (Code.ALGORITHM_INCOMPLETE, Code.INSUFFICIENT_DATA),
    },
)
READ: Final = Operation(
    name="readBacktest",
    summary="One backtest",
    tag=_TAG,
    parameters=(_ID, _PREFER),
    answers={200: Answer("The backtest.", ref("WholeBacktest"), _WHOLE_SHOWN, _APPLIED)},
    refusals=_GONE,
)
RENAME: Final = Operation(
    name="renameBacktest",
    summary="Give one that has ended another name",
    tag=_TAG,
    parameters=(_ID,),
    body=Sent(ref("BacktestName"), {"name": _NAME_SHOWN}),
    answers={200: Answer("The backtest as it is now.", ref("WholeBacktest"), _CANCELLED_SHOWN)},
    refusals=_ENDED_ONLY,
)
DELETE: Final = Operation(
    name="deleteBacktest",
    summary="Delete one that has ended, with its result",
    tag=_TAG,
    parameters=(_ID,),
    answers={204: Answer("It is gone.")},
    refusals=_ENDED_ONLY,
)
CANCEL: Final = Operation(
    name="cancelBacktest",
    summary="End one that waits or runs",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=NOTHING,
    answers={200: Answer("The backtest.", ref("WholeBacktest"), _CANCELLED_SHOWN)},
    refusals=_GONE,
)
TRADES: Final = Operation(
    name="listTrades",
    summary="Its trades, in the order of their exits",
    tag=_TAG,
    parameters=(_ID, *PAGED, query("symbol", SYMBOL, "Of this symbol of the backtest alone.")),
    text=TABLE_TEXT,
    answers={
        200: Answer(
            "One page.",
            page_of(ref("Trade")),
            page_shown(TRADE_SHOWN),
            headers=TABLE_HEADERS,
            table=table_of(TRADE_COLUMNS, [TRADE_SHOWN]),
        )
    },
    refusals=_GONE,
)
EQUITY: Final = Operation(
    name="readEquity",
    summary="Its curve of equity",
    text="Each point keeps the low, the high and the largest drawdown of the bars it stands for. "
    "With `Accept: text/csv` the points are a table.",
    tag=_TAG,
    parameters=(
        _ID,
        query(
            "points",
            {**INTEGER, "minimum": 1, "maximum": MAX_POINTS, "default": DEFAULT_POINTS},
            "How many points at most.",
        ),
    ),
    answers={
        200: Answer(
            "The curve; empty before it is completed.",
            ref("Equity"),
            {"points": [_POINT_SHOWN]},
            table=table_of(POINT_COLUMNS, [_POINT_SHOWN]),
        )
    },
    refusals=_GONE,
)
