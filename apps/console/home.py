"""The first page: the account, problems, the state of the algorithms, and the kill switch."""

from datetime import timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.serializers import AlgorithmItemSerializer
from apps.backtests import services as backtests
from apps.backtests.analysis import account_drawing
from apps.backtests.serializers import BacktestSerializer
from apps.console.gate import (
    HOME,
    console_page,
    count_as,
    go_to,
    login_session,
    market_row,
    show,
)
from apps.console.lists import algorithm_listing
from apps.core import database
from apps.core.errors import Fault, InvalidInput
from apps.core.times import INDIA, wire_time
from apps.market.services import market_moment
from apps.trading import services as trading
from apps.trading.serializers import AccountSerializer, EmergencySerializer, KillSwitchSerializer
from apps.webhooks.events import EventType, latest_events

# A trader types this before everything stops.
CONFIRMATION: Final = "STOP"
_SHOWN: Final = 5
_ALERTS: Final = (
    EventType.PERFORMANCE_ALERT,
    EventType.DAILY_LOSS_LIMIT_REACHED,
    EventType.DAILY_PROFIT_LIMIT_REACHED,
    EventType.ALERT_MISSING,
)
_EVENTS_LOOKED_AT: Final = 1000
_DRIFT_SHOWN: Final = timedelta(days=7)
# Strategies that a newcomer can take at once, by their slugs.
_FIRST_STRATEGIES: Final = ("ema-cross", "opening-range", "supertrend-adx")


@console_page()
def home(request: HttpRequest, user: User) -> HttpResponse:
    now = database.now()
    today = market_moment(now=now).astimezone(INDIA).date()
    statement = trading.read_account(owner=user, now=now)
    days = trading.profits_by_day(owner=user)
    rows = algorithm_listing(request, user)
    recent = backtests.backtests_of(owner=user, algorithm_id=None, status=None, kind=None)
    tests = [BacktestSerializer.render(row) for row in recent.order_by("-created_at")[:_SHOWN]]
    context = {
        "algorithms": rows,
        "account": AccountSerializer.render(statement),
        "profit_today": dict(days).get(today),
        "open_profit": statement.equity - statement.balance,
        "drawing": account_drawing(days, equity=float(statement.equity)),
        "backtests": tests,
        "switch": KillSwitchSerializer.render(trading.read_switch(owner=user)),
        "attention": _attention(user),
        "drifted": trading.drifted(owner=user, since=today - _DRIFT_SHOWN, most=_SHOWN),
        "alerts": alerts_of(user),
        "next_step": None if days else _next_step(rows.rows, tests),
        "confirmation": CONFIRMATION,
    }
    return show(request, "home", context)


def _next_step(rows: list[dict[str, Any]], tests: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what somebody who has not traded yet does next, with what the button needs."""
    if not rows:
        templates = {row.slug: row for row in algorithms.BUILT_IN_TEMPLATES}
        return {"name": "choose", "strategies": [templates[slug] for slug in _FIRST_STRATEGIES]}
    if any(row["status"] in ("active", "paused") for row in rows):
        return {"name": "watch"}
    tested = {row["algorithmId"] for row in tests if row["status"] == "completed"}
    for name, choices in (
        ("start", [row for row in rows if row["id"] in tested and row["status"] == "stopped"]),
        ("backtest", [row for row in rows if row["status"] == "stopped"]),
    ):
        if choices:
            return {"name": name, "algorithm": choices[0]}
    return {"name": "complete", "algorithm": rows[0]}


@console_page(public=True)
def market_page(request: HttpRequest) -> HttpResponse:
    """Return the header's second row, which open pages ask for; after the session ends they stop
    asking.
    """
    session = login_session(request)
    if session is None:
        return HttpResponse(status=286)
    return show(request, "parts/market", {"market": market_row(session.user)})


def alerts_of(user: User, algorithm_id: str | None = None) -> list[dict[str, Any]]:
    """Return the last alerts of a user, or of one algorithm."""
    events = latest_events(
        user.pk, _ALERTS, algorithm_id=algorithm_id, within=_EVENTS_LOOKED_AT, most=_SHOWN
    )
    return [{"at": wire_time(event.created_at), **event.data} for event in events]


def _attention(user: User) -> list[dict[str, Any]]:
    """Return the algorithms that need their owner, each with the reason and a link to the fix:
    first those in error, then drafts.
    """
    errors = [
        {
            "id": failure.algorithm_id,
            "name": failure.algorithm_name,
            "status": "error",
            "failure": failure,
            "fix": "Fix and start again",
        }
        for failure in trading.find_failures(owner=user, most=_SHOWN)
    ]
    rows = algorithms.listed(owner=user, statuses=("draft",), ordering=("-updated_at", "-id"))
    drafts = [
        {**AlgorithmItemSerializer.render(row), "fix": "Complete it", "address": "/steps"}
        for row in rows[:_SHOWN]
    ]
    return [*errors, *drafts]


@console_page()
def kill_switch_page(request: HttpRequest, user: User) -> HttpResponse:
    """Stop everything, once the word is typed."""
    if request.method != "POST":
        return go_to(request, HOME)
    count_as(request, "/api/trading/kill-switch", user=user)
    now = database.now()
    if request.POST.get("confirmation") != CONFIRMATION:
        raise InvalidInput(Fault("confirmation", f"type {CONFIRMATION} to stop everything"))
    body = EmergencySerializer.read(
        {
            "reason": request.POST.get("reason", ""),
            "closePositions": "closePositions" in request.POST,
        }
    )
    trading.engage_kill_switch(
        owner=user,
        reason=body.get("reason") or "",
        close_positions=body["close_positions"],
        now=now,
    )
    return go_to(request, HOME, "Kill switch is on. Everything is paused, and nothing can start.")


@console_page()
def release_kill_switch_page(request: HttpRequest, user: User) -> HttpResponse:
    """Allow trading again."""
    if request.method != "POST":
        return go_to(request, HOME)
    count_as(request, "/api/trading/kill-switch", user=user)
    trading.release_kill_switch(owner=user, now=database.now())
    return go_to(
        request, HOME, "Kill switch is off. Paused algorithms stay paused until you resume them."
    )
