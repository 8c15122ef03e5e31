"""Events in a trader's words: one text for each type, for mails and for chats.

The first line says what happened, with the money; more lines give details.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from apps.core.times import INDIA
from apps.engine.results import format_number, format_rupees
from apps.webhooks.event_types import EventType

Data = Mapping[str, Any]

# Metrics of alerts that are rupees.
_RUPEES: Final = {"netProfit", "grossProfit", "maxDrawdownAmount", "averageProfit"}


def event_text(type: str, data: Data) -> str:
    """Return what an event says, without its time. Fields of a later release may be missing."""
    return "\n".join(line for line in _TEXTS[EventType(type)](data) if line)


def clock_time(moment: datetime, *, now: datetime | None = None) -> str:
    """Return a moment as hours and minutes in India, after its date unless it is `now`'s."""
    local = moment.astimezone(INDIA)
    is_today = now is None or local.date() == now.astimezone(INDIA).date()
    return f"{local:%H:%M}" if is_today else f"{local.day} {local:%b %H:%M}"


def _money(amount: float) -> str:
    """Return a profit or a loss with its sign."""
    return f"+{format_rupees(amount)}" if amount > 0 else format_rupees(amount)


def _day(text: str) -> str:
    day = date.fromisoformat(text)
    return f"{day.day} {day:%b}"


def _name(symbol: str) -> str:
    return symbol.partition(":")[2] or symbol


def _words(name: str) -> str:
    return name.replace("_", " ")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _started(data: Data) -> list[str]:
    verb = "resumed" if data["previousStatus"] == "paused" else "started"
    return [f"{data['algorithmName']} {verb}."]


def _ended(verb: str) -> Callable[[Data], list[str]]:
    def text(data: Data) -> list[str]:
        reason = "" if data["reason"] == verb else f": {data['reason']}"
        return [f"{data['algorithmName']} {verb}{reason}."]

    return text


def _error(data: Data) -> list[str]:
    return [
        f"{data['algorithmName']} stopped by an error: {data['reason'].rstrip('.')}.",
        data.get("advice") or "",
    ]


def _trade(data: Data) -> list[str]:
    verb = "bought" if data["side"] == "buy" else "sold"
    price = format_rupees(data["price"])
    first = f"{data['algorithmName']} {verb} {data['quantity']} {_name(data['symbol'])} at {price}"
    profit = data.get("tradeProfit")
    if profit is None:
        profit = data.get("realisedProfit")
    reason = data["reason"]
    if profit is not None:
        first = f"{first}: {_money(profit)} ({_words(reason)})"
    details = []
    if "positionAfter" in data:
        held = data["positionAfter"]
        side = "Long" if held > 0 else "Short"
        details.append(f"{side} {format_number(abs(held), 0)}" if held else "Position closed")
    if data.get("charges") is not None:
        details.append(f"charges {format_rupees(data['charges'])}")
    if data.get("profitToday") is not None:
        details.append(f"today {_money(data['profitToday'])}")
    return [f"{first}.", ", ".join(details)]


def _backtest(data: Data) -> list[str]:
    if data["error"] is None:
        return [f"The backtest of {data['algorithmName']} is ready."]
    message = data["error"]["message"].rstrip(".")
    return [f"The backtest of {data['algorithmName']} failed: {message}."]


def _limit(noun: str) -> Callable[[Data], list[str]]:
    def text(data: Data) -> list[str]:
        amount, limit = format_rupees(data[noun]), format_rupees(data["limit"])
        first = f"{data['algorithmName']} reached its daily {noun} limit: {amount} of {limit}."
        return [first, "Its positions are closed. No new entries today."]

    return text


def _alert(data: Data) -> list[str]:
    metric, value, threshold = data["metric"], data["value"], data["threshold"]
    write = format_rupees if metric in _RUPEES else format_number
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in metric)
    paused = "It is paused." if data["action"] == "pause_algorithm" else ""
    first = f"{data['algorithmName']}: {words} is {write(value)} (your alert: {write(threshold)})."
    return [first, paused]


def _drift(data: Data) -> list[str]:
    differences = _count(data["total"], "difference")
    return [
        f"{data['algorithmName']}: paper trading of {_day(data['day'])} is not what its backtest"
        f" gives ({differences}).",
        "Open its drift page to see which.",
    ]


def _feed(data: Data) -> list[str]:
    last = data["lastBarAt"]
    since = f" since {clock_time(datetime.fromisoformat(last))}" if last else ""
    waiting = ", ".join(
        f"{row['algorithmName']} ({', '.join(map(_name, row['symbols']))})"
        for row in data["algorithms"]
    )
    return [
        f"No prices{since}: a bar is {_count(data['minutes'], 'minute')} late.",
        f"Waiting: {waiting}",
        "Check the feed. Without prices, stops and targets do not work.",
    ]


def _summary(data: Data) -> list[str]:
    lines = [f"{_day(data['day'])}: {_money(data['profitToday'])}.", _figures(data)]
    if len(data["algorithms"]) > 1:
        lines += [
            f"{row['algorithmName']}: {_money(row['profitToday'])}. {_figures(row)}"
            for row in data["algorithms"]
        ]
    elif data["algorithms"]:
        lines[0] = f"{data['algorithms'][0]['algorithmName']}, {lines[0]}"
    return lines


def _figures(data: Data) -> str:
    figures = [_count(data["trades"], "trade")]
    if data["trades"]:
        figures.append(f"net profit {_money(data['netProfit'])}")
    figures += [
        f"charges {format_rupees(data['charges'])}",
        _count(data["openPositions"], "open position"),
    ]
    return ", ".join(figures)


def _missing(data: Data) -> list[str]:
    return [
        f"{data['hookName']}: no alert came by {data['expectedBy']} on {_day(data['day'])}.",
        "Check the program that sends them.",
    ]


def _test(data: Data) -> list[str]:
    return ["A test: notices arrive here."]


class EventLabel(NamedTuple):
    """A type of events as a choice of notices: its name, and what it tells."""

    name: str
    meaning: str


# The choices, those that most traders want first. A test is sent when it is asked for.
EVENT_LABELS: Final[Mapping[str, EventLabel]] = {
    EventType.TRADE_EXECUTED: EventLabel("Trades", "Each fill, with its profit and the day's."),
    EventType.DAY_SUMMARY: EventLabel(
        "Day summary", "After the close: trades, profit, charges, open positions."
    ),
    EventType.ALGORITHM_ERROR: EventLabel("Errors", "An algorithm stopped, and what to do."),
    EventType.FEED_STALE: EventLabel("No prices", "No bar came for some minutes of a session."),
    EventType.DAILY_LOSS_LIMIT_REACHED: EventLabel(
        "Daily loss limit", "An algorithm reached it. Its positions are closed."
    ),
    EventType.DAILY_PROFIT_LIMIT_REACHED: EventLabel(
        "Daily profit limit", "An algorithm reached it. Its positions are closed."
    ),
    EventType.PERFORMANCE_ALERT: EventLabel("Your alerts", "A metric reached your threshold."),
    EventType.ALERT_MISSING: EventLabel(
        "Missing alerts", "An alert hook got nothing by its time of the day."
    ),
    EventType.DRIFT_FOUND: EventLabel("Drift", "Paper trading differs from its backtest."),
    EventType.ALGORITHM_STARTED: EventLabel("Starts", "An algorithm started or resumed."),
    EventType.ALGORITHM_PAUSED: EventLabel("Pauses", "An algorithm paused."),
    EventType.ALGORITHM_STOPPED: EventLabel("Stops", "An algorithm stopped."),
    EventType.BACKTEST_COMPLETED: EventLabel("Backtest ready", "Its result can be read."),
    EventType.BACKTEST_FAILED: EventLabel("Backtest failed", "It has no result."),
}

_TEXTS: Final[Mapping[EventType, Callable[[Data], list[str]]]] = {
    EventType.ALGORITHM_STARTED: _started,
    EventType.ALGORITHM_STOPPED: _ended("stopped"),
    EventType.ALGORITHM_PAUSED: _ended("paused"),
    EventType.ALGORITHM_ERROR: _error,
    EventType.TRADE_EXECUTED: _trade,
    EventType.BACKTEST_COMPLETED: _backtest,
    EventType.BACKTEST_FAILED: _backtest,
    EventType.DAILY_LOSS_LIMIT_REACHED: _limit("loss"),
    EventType.DAILY_PROFIT_LIMIT_REACHED: _limit("profit"),
    EventType.PERFORMANCE_ALERT: _alert,
    EventType.DRIFT_FOUND: _drift,
    EventType.FEED_STALE: _feed,
    EventType.DAY_SUMMARY: _summary,
    EventType.ALERT_MISSING: _missing,
    EventType.WEBHOOK_TEST: _test,
}
