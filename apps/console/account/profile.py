"""The settings: profile, sessions, keys, webhooks, notices, and limits used."""

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat

from apps.accounts import services
from apps.accounts.models import User
from apps.accounts.serializers import (
    KeySerializer,
    LimitsSerializer,
    ProfileChangeSerializer,
    ProfileSerializer,
    SessionSerializer,
    TwoFactorSerializer,
)
from apps.backtests.analysis import format_number, humanize
from apps.console.account.webhooks import shown_endpoint
from apps.console.gate import console_page, go_to, login_session, sent, show
from apps.core import database, limits
from apps.core.errors import NotFound
from apps.core.limits import Resource
from apps.webhooks import services as webhooks
from apps.webhooks.events import notices_of

_SETTINGS: Final = "/app/settings"
_IN_BYTES: Final = (Resource.BACKTEST_BYTES, Resource.ALERT_BYTES)
# Limits that are not simply called by the words of their wire names.
_LIMIT_NAMES: Final[Mapping[str, str]] = {
    Resource.ACTIVE_ALGORITHMS: "Algorithms that trade",
    Resource.BACKTEST_BYTES: "Stored results",
    Resource.ALERT_BYTES: "Alerts received today",
    Resource.KEYS: "API keys",
}


@console_page()
def settings_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the settings; on POST change the profile."""
    now = database.now()
    if request.method == "POST":
        changes = ProfileChangeSerializer.read(sent(request.POST, "name", "displayName"))
        services.change_profile(user=user, **changes, now=now)
        return go_to(request, _SETTINGS, "Saved.")
    session = login_session(request)
    assert session is not None, "the gate lets nobody in without a session"
    sessions = services.live_sessions(user, current=session, now=now)
    context = {
        "profile": ProfileSerializer.render(user),
        "sessions": [SessionSerializer.render(row) for row in sessions],
        "keys": [KeySerializer.render(key) for key in services.keys_of(user)],
        "channels": [shown_endpoint(endpoint) for endpoint in webhooks.endpoints_of(user)],
        "mailed": len(notices_of(user).events),
        "factor": TwoFactorSerializer.render(services.two_factor_state_of(user)),
        "limits": _limits(user),
        "can_send_mails": services.can_send_mails(),
    }
    return show(request, "settings", context)


def _limits(user: User) -> list[dict[str, Any]]:
    """Return the use of the account's limits, as texts and in percent."""
    rows = LimitsSerializer.render({"limits": limits.usages(user.pk)})["limits"]
    return [
        {
            "name": _LIMIT_NAMES.get(row["resource"]) or humanize(row["resource"]),
            "used": _amount(row["resource"], row["used"]),
            "limit": _amount(row["resource"], row["limit"]),
            "percent": min(100, round(100 * row["used"] / max(row["limit"], 1))),
        }
        for row in rows
    ]


def _amount(resource: str, count: int) -> str:
    return filesizeformat(count) if resource in _IN_BYTES else format_number(count, 0)


@console_page()
def settings_action_page(
    request: HttpRequest, user: User, action: str, object_id: str
) -> HttpResponse:
    """End a session, or revoke a key."""
    if request.method != "POST":
        return go_to(request, _SETTINGS)
    now = database.now()
    match action:
        case "end-session":
            services.end_session(user=user, session_id=object_id, now=now)
        case "revoke-key":
            services.revoke_key(user=user, key_id=object_id, now=now)
        case _:
            raise NotFound
    return go_to(request, _SETTINGS, "Done.")
