"""Hooks and alerts in the database, as if they had come."""

from datetime import datetime

from apps.accounts.models import User
from apps.alerts import services
from apps.alerts.models import AlertHook, AlertMessage, ReceivedAlert
from tests import make


def hook_of(
    user: User,
    *,
    name: str = "Breakouts",
    expected_by: str | None = None,
    now: datetime = make.NOW,
) -> AlertHook:
    """Return a new hook of the user."""
    hook, _ = services.create_hook(
        owner=user, name=name, format="json", expected_by=expected_by, now=now
    )
    return hook


def message_to(hook: AlertHook, *, at: datetime = make.NOW, refusal: str = "") -> AlertMessage:
    """Return a message that came to a hook; with a refusal it could not be read."""
    key = f"{AlertMessage.objects.count():064}"
    return AlertMessage.objects.create(
        hook=hook, key=key, body='{"name": "Breakout"}', received_at=at, refusal=refusal
    )


def alert_in(
    hook: AlertHook, name: str = "Breakout", symbol: str = "", *, at: datetime = make.NOW
) -> ReceivedAlert:
    """Return an alert that came to a hook."""
    return ReceivedAlert.objects.create(
        message=message_to(hook, at=at),
        owner=hook.owner,
        name=name,
        symbol=symbol,
        received_at=at,
        came_at=at,
    )
