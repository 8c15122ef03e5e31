"""The settings: profile, sessions, keys, webhooks, notices, and limits used."""

from typing import Final

from django.http import HttpRequest, HttpResponse

from apps.accounts import services, two_factor
from apps.accounts.models import User
from apps.accounts.serializers import (
    KeySerializer,
    LimitsSerializer,
    ProfileChangeSerializer,
    ProfileSerializer,
    SessionSerializer,
    TwoFactorSerializer,
)
from apps.console.gate import console_page, go_to, login_session, sent, show
from apps.core import database_clock, quotas
from apps.core.errors import NotFound
from apps.webhooks import notices
from apps.webhooks import services as webhooks
from apps.webhooks.serializers import NoticesSerializer, WebhookSerializer

_SETTINGS: Final = "/app/settings"


@console_page()
def settings_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the settings; on POST change the profile."""
    now = database_clock.now()
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
        "webhooks": [WebhookSerializer.render(row) for row in webhooks.endpoints_of(user)],
        "notices": NoticesSerializer.render(notices.notices_of(user)),
        "factor": TwoFactorSerializer.render(two_factor.state_of(user)),
        "limits": LimitsSerializer.render({"limits": quotas.usages(user.pk)})["limits"],
    }
    return show(request, "settings", context)


@console_page()
def settings_action_page(
    request: HttpRequest, user: User, action: str, object_id: str
) -> HttpResponse:
    """End a session, or revoke a key."""
    if request.method != "POST":
        return go_to(request, _SETTINGS)
    now = database_clock.now()
    match action:
        case "end-session":
            services.end_session(user=user, session_id=object_id, now=now)
        case "revoke-key":
            services.revoke_key(user=user, key_id=object_id, now=now)
        case _:
            raise NotFound
    return go_to(request, _SETTINGS, "Done.")
