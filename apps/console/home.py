"""The first page: the account, problems, the state of the algorithms, and the kill switch."""

from datetime import timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.serializers import AlgorithmItemSerializer
from apps.console.gate import HOME, console_page, count_as, go_to, show
from apps.console.lists import algorithm_listing
from apps.core import database
from apps.core.errors import Fault, InvalidInput
from apps.core.times import INDIA, wire_time
from apps.trading import services as trading
from apps.trading.serializers import AccountSerializer, EmergencySerializer, KillSwitchSerializer
from apps.webhooks.events import EventType, latest_events

# A trader types this before everything stops.
CONFIRMATION: Final = "STOP"
_NEEDS_ATTENTION: Final = {"error": "stopped by an error", "draft": "a step is incomplete"}
_MOST_SHOWN: Final = 5
_ALERTS: Final = (
    EventType.PERFORMANCE_ALERT,
    EventType.DAILY_LOSS_LIMIT_REACHED,
    EventType.DAILY_PROFIT_LIMIT_REACHED,
)
_EVENTS_LOOKED_AT: Final = 1000
_DRIFT_SHOWN: Final = timedelta(days=7)


@console_page()
def home(request: HttpRequest, user: User) -> HttpResponse:
    now = database.now()
    statement = trading.read_account(owner=user, now=now)
    context = {
        "algorithms": algorithm_listing(request, user),
        "account": AccountSerializer.render(statement),
        "switch": KillSwitchSerializer.render(trading.read_switch(owner=user)),
        "attention": _attention(user),
        "drifted": trading.drifted(
            owner=user, since=now.astimezone(INDIA).date() - _DRIFT_SHOWN, most=_MOST_SHOWN
        ),
        "alerts": _alerts(user),
        "confirmation": CONFIRMATION,
    }
    return show(request, "home", context)


def _alerts(user: User) -> list[dict[str, Any]]:
    events = latest_events(user.pk, _ALERTS, within=_EVENTS_LOOKED_AT, most=_MOST_SHOWN)
    return [{"at": wire_time(event.created_at), **event.data} for event in events]


def _attention(user: User) -> list[dict[str, Any]]:
    """Return the algorithms that need their owner's attention, the worst first."""
    items = []
    for status, reason in _NEEDS_ATTENTION.items():
        rows = algorithms.listed(owner=user, statuses=(status,), ordering=("-updated_at", "-id"))
        items += [
            {**AlgorithmItemSerializer.render(row), "reason": reason} for row in rows[:_MOST_SHOWN]
        ]
    return items


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
    return go_to(request, HOME, "Everything is paused, and nothing starts until you allow it.")


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
