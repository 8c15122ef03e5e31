"""The types of events, and their data.

Payloads are thin: ids, names, states and amounts, and no details of a user's algorithm. A name is
the name at the time of the event; later renames do not change delivered events.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from apps.core.times import wire_time
from apps.engine.results import round_for_wire


class EventType(StrEnum):
    """The types of events on the wire, a closed set."""

    ALGORITHM_STARTED = "algorithm.started"
    ALGORITHM_STOPPED = "algorithm.stopped"
    ALGORITHM_PAUSED = "algorithm.paused"
    ALGORITHM_ERROR = "algorithm.error"
    TRADE_EXECUTED = "trade.executed"
    BACKTEST_COMPLETED = "backtest.completed"
    BACKTEST_FAILED = "backtest.failed"
    DAILY_LOSS_LIMIT_REACHED = "risk.daily_loss_limit_reached"
    DAILY_PROFIT_LIMIT_REACHED = "risk.daily_profit_limit_reached"
    PERFORMANCE_ALERT = "performance.alert"
    DRIFT_FOUND = "drift.found"
    FEED_STALE = "feed.stale"
    DAY_SUMMARY = "day.summary"
    ALERT_MISSING = "alert.missing"
    WEBHOOK_TEST = "webhook.test"


Id = Annotated[str, Field(pattern="^[0-9a-f]{24}$")]
Name = Annotated[str, Field(description="The algorithm's name at that moment.")]


class EventData(BaseModel):
    """The `data` of a payload: strictly typed, without unknown fields."""

    model_config = ConfigDict(
        strict=True, extra="forbid", alias_generator=to_camel, serialize_by_alias=True
    )


class AlgorithmStatusData(EventData, title="AlgorithmMoved"):
    algorithm_id: Id
    algorithm_name: Name
    run_id: Id | None = Field(description="The run that began, continues or ended with it.")
    status: str
    previous_status: str
    reason: str


class AlgorithmErrorData(AlgorithmStatusData, title="AlgorithmFailed"):
    # Optional, as are all fields that came later: events of an earlier release lack them.
    advice: str | None = Field(None, description="What its owner can do.")


class TradeData(EventData, title="TradeExecuted"):
    algorithm_id: Id
    algorithm_name: Name
    run_id: Id
    order_id: Id
    time: str = Field(description="Start of the bar that filled it.")
    symbol: str
    side: Literal["buy", "sell"]
    quantity: int
    price: float = Field(description="Rupees.")
    reason: str
    charges: float | None = Field(None, description="Rupees paid for this fill.")
    realised_profit: float | None = Field(
        None, description="Rupees won or lost by this fill, before charges; null for an entry."
    )
    trade_profit: float | None = Field(
        None,
        description="Rupees won or lost by the trade that it closed, after all its charges; null"
        " unless it closed one.",
    )
    position_after: int | None = Field(
        None, description="Quantity held of the symbol after it; below 0 for a short position."
    )
    profit_today: float | None = Field(
        None,
        description="The algorithm's profit since the session's start, in rupees, open positions"
        " included, at the close of the bar.",
    )


class Problem(EventData):
    code: str
    message: str


class BacktestData(EventData, title="BacktestEnded"):
    backtest_id: Id
    algorithm_id: Id
    algorithm_name: Name
    status: str
    error: Problem | None


class DailyLossData(EventData, title="DailyLossReached"):
    algorithm_id: Id
    algorithm_name: Name
    run_id: Id
    day: str = Field(description="The date in India, YYYY-MM-DD.")
    loss: float = Field(description="Rupees.")
    limit: float = Field(description="Rupees.")


class DailyProfitData(EventData, title="DailyProfitReached"):
    algorithm_id: Id
    algorithm_name: Name
    run_id: Id
    day: str = Field(description="The date in India, YYYY-MM-DD.")
    profit: float = Field(description="Rupees.")
    limit: float = Field(description="Rupees.")


class AlertData(EventData, title="AlertRaised"):
    algorithm_id: Id
    algorithm_name: Name
    metric: str
    value: float
    threshold: float
    action: str


class DriftData(EventData, title="DriftFound"):
    algorithm_id: Id
    algorithm_name: Name
    run_id: Id
    day: str = Field(description="The date in India, YYYY-MM-DD.")
    rows: int = Field(description="Bars that were compared.")
    total: int = Field(description="Differences between paper trading and its backtest.")


class StaleAlgorithm(EventData):
    algorithm_id: Id
    algorithm_name: Name
    symbols: list[str]
    timeframe: str


class FeedData(EventData, title="FeedStale"):
    last_bar_at: str | None = Field(description="End of the last bar; null before the first.")
    minutes: int = Field(description="Minutes of the session since a bar was due.")
    algorithms: list[StaleAlgorithm]


class DayOfAlgorithm(EventData):
    algorithm_id: Id
    algorithm_name: Name
    trades: int = Field(description="Closed trades.")
    net_profit: float = Field(description="Rupees, of the closed trades after their charges.")
    charges: float = Field(description="Rupees paid for the fills of the day.")
    profit_today: float = Field(
        description="Rupees won or lost since the session's start, open positions included."
    )
    open_positions: int


class DayData(EventData, title="DaySummary"):
    day: str = Field(description="The date in India, YYYY-MM-DD.")
    trades: int = Field(description="Closed trades.")
    net_profit: float = Field(description="Rupees, of the closed trades after their charges.")
    charges: float = Field(description="Rupees paid for the fills of the day.")
    profit_today: float = Field(
        description="Rupees won or lost since the session's start, open positions included."
    )
    open_positions: int
    algorithms: list[DayOfAlgorithm] = Field(description="The algorithms that traded that day.")


class MissingAlertData(EventData, title="AlertMissing"):
    hook_id: Id
    hook_name: str = Field(description="The alert hook's name at that moment.")
    day: str = Field(description="The date in India, YYYY-MM-DD.")
    expected_by: str = Field(description="The time in India, such as 15:00.")


class WebhookTestData(EventData, title="Tested"):
    webhook_id: Id


@dataclass(frozen=True, slots=True)
class EventSchema:
    """The meaning of an event type, the model of its data, and an example."""

    description: str
    data: type[EventData]
    example: Mapping[str, object]


SEQUENCE_HELP: Final = (
    "Counts the events of one algorithm, the tests of one webhook, and the events of one account"
    " without an algorithm, without gaps."
)
_NAME: Final = "Opening breakout"
_ID: Final = "6a0ec3f1b2d4e5f60718293a"
_RUN: Final = "6a0ec3f2c3d4e5f60718293b"
_ORDER: Final = "8d9c845665c78eab8facbec6"


def _status_changed(description: str, status: str, before: str, reason: str) -> EventSchema:
    example = {
        "algorithmId": _ID,
        "algorithmName": _NAME,
        "runId": _RUN,
        "status": status,
        "previousStatus": before,
        "reason": reason,
    }
    return EventSchema(description, AlgorithmStatusData, example)


def _ended(description: str, status: str, error: Mapping[str, str] | None) -> EventSchema:
    example = {
        "backtestId": _RUN,
        "algorithmId": _ID,
        "algorithmName": _NAME,
        "status": status,
        "error": error,
    }
    return EventSchema(description, BacktestData, example)


EVENT_SCHEMAS: Final[Mapping[EventType, EventSchema]] = {
    EventType.ALGORITHM_STARTED: _status_changed(
        "It was started, or resumed: then `previousStatus` is `paused`.",
        "active",
        "stopped",
        "started",
    ),
    EventType.ALGORITHM_STOPPED: _status_changed("It was stopped.", "stopped", "active", "stopped"),
    EventType.ALGORITHM_PAUSED: _status_changed(
        "It takes no new entries.", "paused", "active", "paused"
    ),
    EventType.ALGORITHM_ERROR: EventSchema(
        "It cannot continue; `reason` says why, and `advice` what to do.",
        AlgorithmErrorData,
        {
            "algorithmId": _ID,
            "algorithmName": _NAME,
            "runId": _RUN,
            "status": "error",
            "previousStatus": "active",
            "reason": "no price data for 50 minutes",
            "advice": "Start a live feed or a replay that brings prices of its symbols, then start"
            " the algorithm again.",
        },
    ),
    EventType.TRADE_EXECUTED: EventSchema(
        "An order was filled.",
        TradeData,
        {
            "algorithmId": _ID,
            "algorithmName": _NAME,
            "runId": _RUN,
            "orderId": _ORDER,
            "time": "2026-11-20T04:05:00.000Z",
            "symbol": "NSE:RELIANCE",
            "side": "buy",
            "quantity": 10,
            "price": 1412.5,
            "reason": "entry",
            "charges": 2.31,
            "realisedProfit": None,
            "tradeProfit": None,
            "positionAfter": 10,
            "profitToday": 1655.8,
        },
    ),
    EventType.BACKTEST_COMPLETED: _ended("Its results can be read.", "completed", None),
    EventType.BACKTEST_FAILED: _ended(
        "It came to no result; `error` says why.",
        "failed",
        {"code": "INSUFFICIENT_DATA", "message": "too few bars"},
    ),
    EventType.DAILY_LOSS_LIMIT_REACHED: EventSchema(
        "It has lost `maxDailyLoss` or more that day, and its positions are closed.",
        DailyLossData,
        {
            "algorithmId": _ID,
            "algorithmName": _NAME,
            "runId": _RUN,
            "day": "2026-11-20",
            "loss": 10250.4,
            "limit": 10000.0,
        },
    ),
    EventType.DAILY_PROFIT_LIMIT_REACHED: EventSchema(
        "It has earned `maxDailyProfit` or more that day, and its positions are closed.",
        DailyProfitData,
        {
            "algorithmId": _ID,
            "algorithmName": _NAME,
            "runId": _RUN,
            "day": "2026-11-20",
            "profit": 10250.4,
            "limit": 10000.0,
        },
    ),
    EventType.PERFORMANCE_ALERT: EventSchema(
        "A metric has reached the threshold of a performance alert.",
        AlertData,
        {
            "algorithmId": _ID,
            "algorithmName": _NAME,
            "metric": "maxDrawdown",
            "value": 12.5,
            "threshold": 10.0,
            "action": "send_notification",
        },
    ),
    EventType.DRIFT_FOUND: EventSchema(
        "Paper trading of a session differs from its backtest; once for a run and a session.",
        DriftData,
        {
            "algorithmId": _ID,
            "algorithmName": _NAME,
            "runId": _RUN,
            "day": "2026-11-20",
            "rows": 75,
            "total": 2,
        },
    ),
    EventType.FEED_STALE: EventSchema(
        "No bar has come for some minutes of a session; once for each outage.",
        FeedData,
        {
            "lastBarAt": "2026-11-20T05:30:00.000Z",
            "minutes": 5,
            "algorithms": [
                {
                    "algorithmId": _ID,
                    "algorithmName": _NAME,
                    "symbols": ["NSE:RELIANCE"],
                    "timeframe": "5m",
                }
            ],
        },
    ),
    EventType.DAY_SUMMARY: EventSchema(
        "The markets of its algorithms have closed; once a day.",
        DayData,
        {
            "day": "2026-11-20",
            "trades": 4,
            "netProfit": 1302.4,
            "charges": 96.2,
            "profitToday": 1655.8,
            "openPositions": 1,
            "algorithms": [
                {
                    "algorithmId": _ID,
                    "algorithmName": _NAME,
                    "trades": 4,
                    "netProfit": 1302.4,
                    "charges": 96.2,
                    "profitToday": 1655.8,
                    "openPositions": 1,
                }
            ],
        },
    ),
    EventType.ALERT_MISSING: EventSchema(
        "No alert came to an alert hook by its time; once for a hook and a trading day of NSE.",
        MissingAlertData,
        {"hookId": _ID, "hookName": "Breakouts", "day": "2026-11-20", "expectedBy": "15:00"},
    ),
    EventType.WEBHOOK_TEST: EventSchema(
        "Its endpoint was asked to be tested. Such events count per endpoint.",
        WebhookTestData,
        {"webhookId": _ID},
    ),
}


def validate_data(type: EventType, data: Mapping[str, object]) -> None:
    """Raise ValueError when the data does not match the schema of the type: a programming error."""
    EVENT_SCHEMAS[type].data.model_validate(data)


def render_body(
    *, id: str, type: str, created_at: datetime, sequence: int, data: Mapping[str, Any]
) -> bytes:
    """Return the body of a webhook, the same bytes at each attempt."""
    payload = {
        "id": id,
        "type": type,
        "createdAt": wire_time(created_at),
        "sequence": sequence,
        "data": round_for_wire(data),
    }
    return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
