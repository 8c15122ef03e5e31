"""Alert hooks as their owners manage them: the address with its secret, and what came to it."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Prefetch, QuerySet

from apps.accounts.models import User
from apps.alerts.models import (
    AlertClock,
    AlertHook,
    AlertHookQuerySet,
    AlertMessage,
    ReceivedAlert,
)
from apps.core import audit, limits
from apps.core.audit import Action
from apps.core.limits import Resource

# People, and programs that search for leaked secrets, recognise a secret by it.
_PREFIX: Final = "ah_"


@limits.counted_by(Resource.ALERT_HOOKS)
def _hook_count(owner_id: str) -> int:
    return AlertHook.objects.owned_by(User(pk=owner_id)).count()


def digest_of_secret(secret: str) -> str:
    """Return what is stored of a secret. Its 32 random bytes cannot be guessed, so one SHA-256 is
    as safe as a slow hash.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def address_of(secret: str) -> str:
    """Return the public address of the hook with this secret."""
    return f"{settings.PUBLIC_URL}/hooks/{secret}"


def hooks_of(owner: User) -> AlertHookQuerySet:
    """Return the owner's hooks without ended ones, the newest first."""
    return AlertHook.objects.owned_by(owner).order_by("-created_at", "-pk")


def read_hook(*, owner: User, hook_id: str) -> AlertHook:
    """Return a hook of the owner. Raises NotFound."""
    return AlertHook.objects.owned_by(owner).fetch(hook_id)


@transaction.atomic
def create_hook(
    *,
    owner: User,
    name: str,
    format: str,
    now: datetime,
    networks: Sequence[str] = (),
    expected_by: str | None = None,
) -> tuple[AlertHook, str]:
    """Create a hook; return it with its secret, which is not shown again.

    `expected_by` is a time of day in India, such as 15:00. Raises QuotaExceeded.
    """
    limits.require_room(owner.pk, Resource.ALERT_HOOKS)
    AlertClock.objects.get_or_create(owner=owner)
    secret = _new_secret()
    hook = AlertHook.objects.create(
        owner=owner,
        name=name,
        format=format,
        secret_digest=digest_of_secret(secret),
        networks=list(networks),
        created_at=now,
        **_expectation(expected_by, now),
    )
    actor = audit.user(owner)
    audit.record(
        Action.ALERT_HOOK_CREATED, hook, actor=actor, now=now, name=name, networks=hook.networks
    )
    return hook, secret


@transaction.atomic
def change_hook(
    *, owner: User, hook_id: str, changes: Mapping[str, Any], now: datetime
) -> AlertHook:
    """Change any of `name`, `format`, `networks` and `expected_by`. Raises NotFound."""
    hook = _locked(owner, hook_id)
    columns = dict(changes)
    if changes.get("expected_by", hook.expected_clock) != hook.expected_clock:
        columns |= _expectation(changes["expected_by"], now)
    else:
        columns.pop("expected_by", None)
    for column, value in columns.items():
        setattr(hook, column, value)
    hook.save(update_fields=list(columns))
    audit.record(Action.ALERT_HOOK_CHANGED, hook, actor=audit.user(owner), now=now, **changes)
    return hook


@transaction.atomic
def rotate_hook_secret(*, owner: User, hook_id: str, now: datetime) -> tuple[AlertHook, str]:
    """Replace the secret; the previous one ends at once.

    Return the hook with its new secret, which is not shown again. Raises NotFound.
    """
    hook = _locked(owner, hook_id)
    secret = _new_secret()
    hook.secret_digest = digest_of_secret(secret)
    hook.save(update_fields=["secret_digest"])
    audit.record(Action.ALERT_HOOK_SECRET_ROTATED, hook, actor=audit.user(owner), now=now)
    return hook, secret


@transaction.atomic
def end_hook(*, owner: User, hook_id: str, now: datetime) -> None:
    """End a hook: no alert comes to it any more, and those that came stay. Raises NotFound."""
    hook = _locked(owner, hook_id)
    hook.ended_at = now
    hook.save(update_fields=["ended_at"])
    actor = audit.user(owner)
    audit.record(Action.ALERT_HOOK_ENDED, hook, actor=actor, now=now, name=hook.name)


def messages_of(*, owner: User, hook_id: str) -> QuerySet[AlertMessage]:
    """Return what came to a hook, with its alerts, the newest first. Raises NotFound."""
    hook = read_hook(owner=owner, hook_id=hook_id)
    alerts = ReceivedAlert.objects.order_by("name", "symbol", "pk")
    messages = AlertMessage.objects.filter(hook=hook).prefetch_related(Prefetch("alerts", alerts))
    return messages.order_by("-received_at", "-pk")


def received_alerts(
    *,
    owner: User,
    name: str | None = None,
    symbol: str | None = None,
    hook_id: str | None = None,
) -> QuerySet[ReceivedAlert]:
    """Return the owner's alerts with their hooks, ended ones too, the last that came first, also in
    a replay.
    """
    given = {"name": name, "symbol": symbol, "message__hook_id": hook_id}
    chosen = {column: value for column, value in given.items() if value is not None}
    alerts = ReceivedAlert.objects.filter(owner=owner, **chosen)
    return alerts.select_related("message__hook").order_by("-came_at", "-pk")


def last_received(*, owner: User) -> Mapping[str, datetime]:
    """Return the time of the last readable message to each hook, keyed by its id; hooks without
    one are left out.
    """
    messages = AlertMessage.objects.filter(hook__owner=owner, hook__ended_at=None, refusal="")
    return dict(messages.values_list("hook").annotate(last=Max("received_at")))


def refused_messages(*, owner: User) -> QuerySet[AlertMessage]:
    """Return the refused messages with their hooks, the newest first."""
    messages = AlertMessage.objects.filter(hook__owner=owner, hook__ended_at=None)
    refused = messages.exclude(refusal="").select_related("hook")
    return refused.order_by("-received_at", "-pk")


def received_names(*, owner: User) -> list[str]:
    """Return the names of all alerts, in order."""
    names = ReceivedAlert.objects.filter(owner=owner).order_by("name")
    return list(names.values_list("name", flat=True).distinct())


def _locked(owner: User, hook_id: str) -> AlertHook:
    """Lock a hook against changes until the transaction ends. Raises NotFound."""
    return AlertHook.objects.owned_by(owner).select_for_update(no_key=True).fetch(hook_id)


def _new_secret() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def _expectation(clock: str | None, now: datetime) -> dict[str, time | datetime | None]:
    """Return the columns of a time of day by which an alert is expected from now on."""
    if clock is None:
        return {"expected_by": None, "expected_since": None}
    return {"expected_by": time.fromisoformat(clock), "expected_since": now}
