"""Hooks for tests, and calls to them."""

from typing import Any

from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.alerts import services
from apps.alerts.models import AlertClock, AlertHook

SECRET = "ah_" + "AbC_-9" * 7 + "x"


def make_hook(
    owner: User, *, format: str = "json", secret: str = SECRET, **columns: Any
) -> AlertHook:
    AlertClock.objects.get_or_create(owner=owner)
    return AlertHook.objects.create(
        owner=owner,
        name="signals",
        format=format,
        secret_digest=services.digest_of_secret(secret),
        created_at=timezone.now(),
        **columns,
    )


def send(body: str | bytes = '{"name": "buy"}', *, secret: str = SECRET, **headers: Any) -> Any:
    """Send a message without credentials or cookies."""
    headers.setdefault("content_type", "text/plain")
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    return client.post(f"/hooks/{secret}", body, **headers)
