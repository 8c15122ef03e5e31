"""Alerts of other programs: their hooks, the newest alerts, and their effects."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from apps.accounts.models import User
from apps.alerts import services
from apps.alerts.models import AlertHook, ReceivedAlert
from apps.alerts.serializers import (
    AlertHookChangeSerializer,
    AlertHookSerializer,
    AlertMessageSerializer,
    NewAlertHookSerializer,
    ReceivedAlertSerializer,
)
from apps.algorithms.models import AlgorithmStatus
from apps.algorithms.services import AlertReader, alert_readers
from apps.console.account.security import form_page, require_password
from apps.console.gate import console_page, go_to, is_part, sent, show
from apps.console.lists import listing, listing_of, wanted_page
from apps.core import database
from apps.core.api.resources import fetch_page
from apps.core.errors import NotFound
from apps.core.times import INDIA
from apps.trading import services as trading
from apps.trading.serializers import SignalSerializer
from apps.trading.services import AlertEffect

ALERTS: Final = "/app/alerts"
_FORMATS: Final = {"tradingview": "TradingView", "chartink": "ChartInk", "json": "JSON"}
# What to paste at the sender.
_EXAMPLES: Final = {
    "tradingview": (
        "Breakout {{exchange}}:{{ticker}}",
        '{"name": "Breakout", "symbol": "{{exchange}}:{{ticker}}", "price": "{{close}}"}',
    ),
    "chartink": (),
    "json": ("""curl -d '{"name": "Breakout", "symbol": "NSE:RELIANCE"}' ADDRESS""",),
}
# Messages that could not be read, on the page of all alerts.
_SHOWN: Final = 5


@console_page()
def received_alerts_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the hooks, the newest alerts with their effects, and refused messages; htmx requests
    only these.
    """
    readers = alert_readers(owner=user)
    page = wanted_page(request)
    alerts, total = fetch_page(page, services.received_alerts(owner=user))
    rows = [ReceivedAlertSerializer.render(alert) for alert in alerts]
    for row, alert, outcomes in zip(rows, alerts, _outcomes(user, alerts, readers), strict=True):
        row |= {"hook": alert.message.hook.name, "outcomes": outcomes}
        row["hint"] = "" if outcomes else _why_unread(alert, readers)
    last = services.last_received(owner=user)
    context = {
        "hooks": [{**_shown(hook), "last": last.get(hook.pk)} for hook in services.hooks_of(user)],
        "listing": listing_of(request, rows, page, total=total),
        "names": _names(readers),
        "refused": services.refused_messages(owner=user)[:_SHOWN],
    }
    return show(request, "parts/received_alerts" if is_part(request) else "alert_hooks", context)


@console_page()
def new_hook_page(request: HttpRequest, user: User) -> HttpResponse:
    """Make a hook, and show its address once."""

    def act() -> HttpResponse:
        body = NewAlertHookSerializer.read(_sent_hook(request))
        require_password(request, user)
        hook, secret = services.create_hook(owner=user, **body, now=database.now())
        return _show_address(request, hook, secret)

    return form_page(request, user, "new_alert_hook", {"formats": _FORMATS}, act=act)


@console_page()
def hook_page(request: HttpRequest, user: User, hook_id: str) -> HttpResponse:
    """Show a hook with its messages, the newest first; on POST change it."""
    hook = services.read_hook(owner=user, hook_id=hook_id)

    def act() -> HttpResponse:
        changes = AlertHookChangeSerializer.read(_sent_hook(request))
        services.change_hook(owner=user, hook_id=hook_id, changes=changes, now=database.now())
        return go_to(request, f"{ALERTS}/{hook.pk}", "Saved.")

    messages = services.messages_of(owner=user, hook_id=hook_id)
    context = {
        **_setup(hook, services.address_of("…")),
        "formats": _FORMATS,
        "listing": listing(request, messages, AlertMessageSerializer),
    }
    return form_page(request, user, "alert_hook", context, act=act)


@console_page()
def hook_action_page(request: HttpRequest, user: User, hook_id: str, action: str) -> HttpResponse:
    """Replace the address of a hook, or delete it, after confirmation."""
    target: dict[str, Any] = {"owner": user, "hook_id": hook_id, "now": database.now()}
    hook = services.read_hook(owner=user, hook_id=hook_id)

    def act() -> HttpResponse:
        if action == "delete":
            services.end_hook(**target)
            return go_to(request, ALERTS, "Deleted.")
        require_password(request, user)
        return _show_address(request, *services.rotate_hook_secret(**target))

    if action not in ("rotate-secret", "delete"):
        raise NotFound
    context = {"hook": _shown(hook), "action": action}
    return form_page(request, user, "alert_hook_action", context, act=act)


def _show_address(request: HttpRequest, hook: AlertHook, secret: str) -> HttpResponse:
    url = services.address_of(secret)
    return show(request, "alert_hook_address", {**_setup(hook, url), "url": url})


def _setup(hook: AlertHook, url: str) -> dict[str, Any]:
    """Return a hook with what to paste at its sender."""
    texts = _EXAMPLES[hook.format]
    return {"hook": _shown(hook), "examples": [text.replace("ADDRESS", url) for text in texts]}


def _shown(hook: AlertHook) -> dict[str, Any]:
    return {**AlertHookSerializer.render(hook), "sender": _FORMATS[hook.format]}


def _sent_hook(request: HttpRequest) -> dict[str, Any]:
    """Return the form of a hook as a body of the API."""
    body: dict[str, Any] = sent(request.POST, "name", "format")
    body["networks"] = request.POST.get("networks", "").replace(",", " ").split()
    body["expectedBy"] = request.POST.get("expectedBy") or None
    return body


def _names(readers: Iterable[AlertReader]) -> list[str]:
    """Return the names in the conditions of algorithms, in order."""
    return sorted({name for reader in readers for name in reader.names})


def _why_unread(alert: ReceivedAlert, readers: Collection[AlertReader]) -> str:
    """Return the likely mistake in an alert without readers."""
    if any(alert.name in reader.names for reader in readers):
        return f"Its name is read for other symbols, not for {alert.symbol}."
    close = get_close_matches(alert.name, _names(readers), n=1)
    return f"Did you mean “{close[0]}”?" if close else ""


def _outcomes(
    user: User, alerts: Sequence[ReceivedAlert], readers: Collection[AlertReader]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the readers of each alert, and its effect on each."""
    effects = trading.effects_of(owner=user, alerts=alerts)
    running = trading.running_since(owner=user)
    for alert in alerts:
        lines = [_effect_line(effect) for effect in effects.get(alert.pk, ())]
        known = {effect.run.algorithm_id for effect in effects.get(alert.pk, ())}
        for reader in readers:
            algorithm = reader.algorithm
            if algorithm.pk not in known and reader.reads(alert.name, alert.symbol):
                since = running.get(algorithm.pk)
                waits = since is not None and since <= alert.came_at
                text = "waits for the close of its candle" if waits else "was not trading"
                address = f"/app/algorithms/{algorithm.pk}"
                lines.append({"name": algorithm.name, "address": address, "text": text})
        yield lines


def _effect_line(effect: AlertEffect) -> dict[str, Any]:
    """Return the signals of the candle in which an alert counted, and the page that explains it,
    unless the algorithm is deleted.
    """
    algorithm, candle = effect.run.algorithm, effect.bar_time.astimezone(INDIA)
    symbols = [signal.symbol for signal in effect.signals] or effect.symbols
    query = urlencode({"symbol": symbols[0], "at": f"{candle:%Y-%m-%dT%H:%M}"})
    address = f"/app/live/{algorithm.pk}/explain?{query}"
    return {
        "name": f"{algorithm.name}, candle of {candle:%d %b %H:%M}",
        "address": "" if algorithm.status == AlgorithmStatus.ARCHIVED else address,
        "signals": [SignalSerializer.render(signal) for signal in effect.signals],
        "text": "changed nothing",
    }
