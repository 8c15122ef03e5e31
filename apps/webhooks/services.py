"""Operations of users and operators on endpoints and their deliveries."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Prefetch
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.core import audit, database, limits
from apps.core.audit import Action
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.core.limits import Resource
from apps.core.times import wire_time
from apps.webhooks.event_types import EventType
from apps.webhooks.events import outbox
from apps.webhooks.events.outbox import EventPayload
from apps.webhooks.events.retention import purge
from apps.webhooks.guide.contents import guide_contents
from apps.webhooks.lifecycle import (
    DISABLED_REASONS,
    LINK_PROBLEMS,
    DeliveryQueue,
    DeliveryStatus,
    DeliveryTransition,
    DigestMode,
    DisabledReason,
    EndpointKind,
    EndpointStatus,
    EndpointTransition,
    LinkProblem,
)
from apps.webhooks.models import (
    Attempt,
    Delivery,
    DeliveryQuerySet,
    Endpoint,
    EndpointQuerySet,
    TelegramLink,
)
from apps.webhooks.sending import address_guard, linking, signing
from apps.webhooks.sending.delivery import reap
from apps.webhooks.sending.signing import sign_message

__all__ = [
    "MOST_RECOVERED",
    "RECOVERABLE",
    "ROTATION",
    "UNKNOWN_HEALTH",
    "DeliveryInProgress",
    "EndpointDisabled",
    "NoChat",
    "NothingToLink",
    "NothingToSign",
    "change",
    "count_due",
    "create",
    "delete",
    "deliveries_of",
    "disable_for_operator",
    "enable_for_operator",
    "endpoints_of",
    "explain_state",
    "guide_contents",
    "latest_deliveries",
    "link",
    "purge",
    "read",
    "reap",
    "recover",
    "redeliver",
    "redeliver_for_operator",
    "rotate_secret",
    "sign_message",
    "test",
]

ROTATION: Final = timedelta(hours=24)  # for so long the previous secret signs too
MOST_RECOVERED: Final = 10_000  # deliveries that one call queues again
RECOVERABLE: Final = timedelta(days=14)  # older deliveries are not queued again
TOKEN: Final = re.compile(r"[0-9]{5,16}:[A-Za-z0-9_-]{20,100}")
# The health of an endpoint without history.
UNKNOWN_HEALTH: Final = {"failing_since": None, "failures": 0, "slow": False}


class EndpointDisabled(ServiceError):
    """A disabled endpoint receives no events."""

    code = Code.CONFLICT
    message = "The webhook is disabled; set its status to enabled first."


class NoChat(ServiceError):
    """A Telegram endpoint without a chat cannot be enabled."""

    code = Code.CONFLICT
    message = "It has no Telegram chat yet. Send its code to the bot first."


class NothingToLink(ServiceError):
    code = Code.CONFLICT
    message = "Only a Telegram endpoint without a chat gets a code."


class NothingToSign(ServiceError):
    code = Code.CONFLICT
    message = "Only a webhook has a secret that signs. Delete this endpoint and make it anew."


class DeliveryInProgress(ServiceError):
    code = Code.CONFLICT
    message = "It is being sent at this moment; look again in a minute."


@limits.counted_by(Resource.WEBHOOKS)
def _endpoint_count(owner_id: str) -> int:
    return Endpoint.objects.owned_by(User(pk=owner_id)).count()


def endpoints_of(owner: User) -> EndpointQuerySet:
    """Return the owner's endpoints, the newest first."""
    return Endpoint.objects.owned_by(owner).order_by("-created_at", "-pk")


def read(*, owner: User, endpoint_id: str) -> Endpoint:
    """Return an endpoint of the owner. Raises NotFound."""
    return Endpoint.objects.owned_by(owner).fetch(endpoint_id)


def explain_state(endpoint: Endpoint) -> str:
    """Return why an endpoint is off, or why its chat is not linked; empty if it is on."""
    link = endpoint.pending_link
    if link is not None and link.problem:
        return LINK_PROBLEMS[LinkProblem(link.problem)]
    reason = endpoint.disabled_reason
    return DISABLED_REASONS[DisabledReason(reason)] if reason else ""


@transaction.atomic
def create(
    *,
    owner: User,
    events: Sequence[str],
    now: datetime,
    kind: str = EndpointKind.WEBHOOK,
    url: str = "",
    token: str = "",
    description: str = "",
    quiet_hours: Mapping[str, str] | None = None,
    digest: str = DigestMode.OFF,
) -> tuple[Endpoint, str | None]:
    """Create an endpoint; return it with the secret that signs, which is not shown again. A chat
    has none; a Telegram endpoint is disabled until its chat is linked by the code.

    Raises InvalidInput, QuotaExceeded.
    """
    address, secret = _address_and_secret(EndpointKind(kind), url, token)
    waits = _waits(EndpointKind(kind), {"quiet_hours": quiet_hours, "digest": digest})
    limits.require_room(owner.pk, Resource.WEBHOOKS)
    is_telegram = kind == EndpointKind.TELEGRAM
    endpoint = Endpoint.objects.create(
        owner=owner,
        kind=kind,
        url=address,
        events=list(events),
        description=description,
        secret=database.encrypt(secret.encode()),
        status=EndpointStatus.DISABLED if is_telegram else EndpointStatus.ENABLED,
        disabled_reason=DisabledReason.UNLINKED if is_telegram else "",
        created_at=now,
        changed_at=now,
        **waits,
    )
    audit.record(
        Action.WEBHOOK_CREATED,
        endpoint,
        actor=audit.user(owner),
        now=now,
        url=address,
        events=endpoint.events,
    )
    if is_telegram:
        linking.begin(endpoint, now=now)
    return endpoint, secret if kind == EndpointKind.WEBHOOK else None


def _address_and_secret(kind: EndpointKind, url: str, token: str) -> tuple[str, str]:
    """Return the address to show and the text to encrypt. Raises InvalidInput."""
    if kind == EndpointKind.TELEGRAM:
        if url:
            raise InvalidInput(Fault("url", "is not used by kind telegram: send its token"))
        if not TOKEN.fullmatch(token):
            raise InvalidInput(Fault("token", "must be a bot's token, as @BotFather shows it"))
        return settings.TELEGRAM_API_URL, json.dumps({"token": token, "chat": None})
    if token:
        raise InvalidInput(Fault("token", f"is not used by kind {kind}: send its url"))
    if not url:
        raise InvalidInput(Fault("url", "is required"))
    if kind == EndpointKind.WEBHOOK:
        _check_url(url)
        return url, signing.new_secret()
    return _checked_chat(url), url


def _checked_chat(url: str) -> str:
    """Return the host of a chat's address. The address is a secret: it is shown to nobody, not even
    in the error. Raises InvalidInput.
    """
    try:
        target = address_guard.parse_url(url, address_guard.configured_exemptions())
    except address_guard.UrlRejected as rejection:
        raise InvalidInput(Fault("url", str(rejection))) from None
    return f"{target.scheme}://{target.authority}/"


def _waits(kind: EndpointKind, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of quiet hours and digest that change. Raises InvalidInput."""
    columns: dict[str, Any] = {}
    if "digest" in changes:
        columns["digest"] = changes["digest"]
    if "quiet_hours" in changes:
        hours = changes["quiet_hours"]
        start, end = (hours["from"], hours["until"]) if hours else (None, None)
        if hours and start == end:
            raise InvalidInput(Fault("quietHours.until", "must differ from the start", end))
        columns["quiet_from"], columns["quiet_until"] = (
            time.fromisoformat(clock) if clock else None for clock in (start, end)
        )
    if kind == EndpointKind.WEBHOOK:
        for name, value in (("quietHours", "quiet_from"), ("digest", "digest")):
            if columns.get(value) not in (None, DigestMode.OFF):
                raise InvalidInput(Fault(name, "is not used by kind webhook"))
    return columns


def _check_url(url: str) -> None:
    """Raise InvalidInput for a URL that the address guard rejects."""
    try:
        address_guard.parse_url(url, address_guard.configured_exemptions())
    except address_guard.UrlRejected as rejection:
        raise InvalidInput(Fault("url", str(rejection), url)) from rejection


@transaction.atomic
def change(*, owner: User, endpoint_id: str, changes: Mapping[str, Any], now: datetime) -> Endpoint:
    """Change any of `url`, `events`, `description`, `quiet_hours`, `digest` and `status`.

    Enabling an endpoint or changing its URL resets its health. Raises NotFound, InvalidInput,
    NoChat.
    """
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    kind = EndpointKind(endpoint.kind)
    fields = {name: changes[name] for name in ("events", "description") if name in changes}
    fields |= _waits(kind, changes)
    status = changes.get("status")
    if "url" in changes:
        fields["url"], secret = _address_and_secret(kind, changes["url"], "")
        if kind != EndpointKind.WEBHOOK:
            fields["secret"] = database.encrypt(secret.encode())
        if changes["url"] != endpoint.url:
            fields |= UNKNOWN_HEALTH
    if fields:
        Endpoint.objects.filter(pk=endpoint.pk).update(**fields, changed_at=now)
        _release_held(endpoint, now)
    if status == EndpointStatus.ENABLED:
        if kind == EndpointKind.TELEGRAM and not endpoint.chat:
            raise NoChat
        _enable(endpoint, now)
    elif status == EndpointStatus.DISABLED:
        _disable(endpoint, DisabledReason.OWNER, now)
    recorded = {**changes, "url": fields["url"]} if "url" in changes else changes
    audit.record(Action.WEBHOOK_CHANGED, endpoint, actor=audit.user(owner), now=now, **recorded)
    endpoint.refresh_from_db()
    return endpoint


def _release_held(endpoint: Endpoint, now: datetime) -> None:
    """Let the sender judge events again that wait for the end of quiet hours, or for a digest."""
    if endpoint.kind != EndpointKind.WEBHOOK:
        held = Delivery.objects.filter(
            endpoint=endpoint, status=DeliveryStatus.WAITING, failures=0, due_at__gt=now
        )
        if held.update(due_at=now):
            outbox.ensure_dispatch()


@transaction.atomic
def link(*, owner: User, endpoint_id: str, now: datetime) -> Endpoint:
    """Make a new code that links a Telegram chat. Raises NotFound, NothingToLink."""
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    if endpoint.kind != EndpointKind.TELEGRAM or endpoint.chat:
        raise NothingToLink
    linking.begin(endpoint, now=now)
    audit.record(Action.WEBHOOK_CHANGED, endpoint, actor=audit.user(owner), now=now)
    return read(owner=owner, endpoint_id=endpoint_id)


def _enable(endpoint: Endpoint, now: datetime) -> bool:
    return (
        Endpoint.objects.filter(pk=endpoint.pk).transition(
            EndpointTransition.ENABLE, disabled_reason="", **UNKNOWN_HEALTH, changed_at=now
        )
        > 0
    )


def _disable(endpoint: Endpoint, reason: DisabledReason, now: datetime) -> bool:
    return (
        Endpoint.objects.filter(pk=endpoint.pk).transition(
            EndpointTransition.DISABLE, disabled_reason=reason, changed_at=now
        )
        > 0
    )


@transaction.atomic
def enable_for_operator(
    *, endpoint: Endpoint, operator: audit.Actor, reason: str, now: datetime
) -> None:
    """Enable an endpoint; do nothing if it is enabled."""
    if _enable(endpoint, now):
        audit.record(Action.WEBHOOK_ENABLED, endpoint, actor=operator, now=now, reason=reason)


@transaction.atomic
def disable_for_operator(
    *, endpoint: Endpoint, operator: audit.Actor, reason: str, now: datetime
) -> None:
    """Disable an endpoint; do nothing if it is disabled."""
    if _disable(endpoint, DisabledReason.OPERATOR, now):
        audit.record(Action.WEBHOOK_DISABLED, endpoint, actor=operator, now=now, reason=reason)


@transaction.atomic
def delete(*, owner: User, endpoint_id: str, now: datetime) -> None:
    """Delete an endpoint and its secrets; nothing is sent there any more. Raises NotFound."""
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    Endpoint.objects.filter(pk=endpoint.pk).transition(
        EndpointTransition.DELETE,
        disabled_reason="",
        secret=b"",
        previous_secret=None,
        previous_until=None,
        bot="",
        chat="",
        bot_slot=None,
        changed_at=now,
    )
    TelegramLink.objects.filter(endpoint=endpoint).delete()
    actor = audit.user(owner)
    audit.record(Action.WEBHOOK_DELETED, endpoint, actor=actor, now=now, url=endpoint.url)


@transaction.atomic
def rotate_secret(*, owner: User, endpoint_id: str, now: datetime) -> tuple[Endpoint, str]:
    """Replace the secret; the previous secret also signs for ROTATION.

    Return the endpoint with its new secret, which is not shown again. Raises NotFound,
    NothingToSign.
    """
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    if endpoint.kind != EndpointKind.WEBHOOK:
        raise NothingToSign
    secret = signing.new_secret()
    endpoint.previous_secret = endpoint.secret
    endpoint.previous_until = now + ROTATION
    endpoint.secret = database.encrypt(secret.encode())
    endpoint.save(update_fields=["secret", "previous_secret", "previous_until"])
    audit.record(Action.WEBHOOK_SECRET_ROTATED, endpoint, actor=audit.user(owner), now=now)
    return endpoint, secret


def latest_deliveries(*, owner: User) -> DeliveryQuerySet:
    """Return the deliveries to all endpoints of the owner, the newest first."""
    rows = Delivery.objects.owned_by(owner).select_related("endpoint")
    return _with_attempts(rows).order_by("-created_at", "-pk")


def deliveries_of(
    *, owner: User, endpoint_id: str, status: str | None, type: str | None
) -> DeliveryQuerySet:
    """Return an endpoint's deliveries with their events and attempts, the newest first.

    Raises NotFound.
    """
    rows = Delivery.objects.filter(endpoint=read(owner=owner, endpoint_id=endpoint_id))
    if status is not None:
        rows = rows.filter(status=status)
    if type is not None:
        rows = rows.filter(event__type=type)
    return _with_attempts(rows).order_by("-created_at", "-pk")


def count_due() -> int:
    """Count the deliveries that could be sent now."""
    return Delivery.objects.filter(status=DeliveryStatus.WAITING, due_at__lte=Now()).count()


def _with_attempts(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    tries = Prefetch("tries", Attempt.objects.order_by("number"))
    return rows.select_related("event").prefetch_related(tries)


@transaction.atomic
def test(*, owner: User, endpoint_id: str, now: datetime) -> Delivery:
    """Send a test event, even if the endpoint does not subscribe to its type.

    Raises NotFound, EndpointDisabled.
    """
    endpoint = _locked_enabled(owner, endpoint_id)
    data = {"webhookId": endpoint.pk}
    payload = EventPayload(EventType.WEBHOOK_TEST, owner.pk, endpoint.pk, data)
    event = outbox.insert([payload], now=now)[0]
    delivery_id = outbox.deliver_to(endpoint, event, now=now)
    audit.record(Action.WEBHOOK_TESTED, endpoint, actor=audit.user(owner), now=now)
    return _with_attempts(Delivery.objects.all()).get(pk=delivery_id)


def _locked_enabled(owner: User, endpoint_id: str) -> Endpoint:
    """Lock an endpoint that is enabled. Raises NotFound, EndpointDisabled."""
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    if endpoint.status != EndpointStatus.ENABLED:
        raise EndpointDisabled(status=endpoint.status, disabledReason=endpoint.disabled_reason)
    return endpoint


@transaction.atomic
def redeliver(*, owner: User, delivery_id: str, now: datetime) -> Delivery:
    """Send a delivery again at once, with all its retries.

    Raises NotFound, EndpointDisabled, DeliveryInProgress.
    """
    delivery = Delivery.objects.owned_by(owner).fetch(delivery_id)
    _locked_enabled(owner, delivery.endpoint_id)
    _requeue(delivery, now)
    audit.record(Action.WEBHOOK_REDELIVERED, delivery, actor=audit.user(owner), now=now)
    return _with_attempts(Delivery.objects.all()).get(pk=delivery.pk)


@transaction.atomic
def redeliver_for_operator(
    *, delivery: Delivery, operator: audit.Actor, reason: str, now: datetime
) -> None:
    """Send a delivery again at once. Raises EndpointDisabled, DeliveryInProgress."""
    _locked_enabled(delivery.endpoint.owner, delivery.endpoint_id)
    _requeue(delivery, now)
    audit.record(Action.WEBHOOK_REDELIVERED, delivery, actor=operator, now=now, reason=reason)


def _requeue(delivery: Delivery, now: datetime) -> None:
    row = Delivery.objects.filter(pk=delivery.pk)
    if not row.transition(
        DeliveryTransition.REDELIVER, due_at=now, failures=0, queue=DeliveryQueue.RETRY
    ):
        raise DeliveryInProgress
    outbox.ensure_dispatch()


@transaction.atomic
def recover(*, owner: User, endpoint_id: str, since: datetime, now: datetime) -> tuple[int, bool]:
    """Queue failed deliveries since that time again, and events that the endpoint missed while
    disabled.

    The oldest come first. Return how many were queued, and whether there are more. Raises NotFound,
    EndpointDisabled, InvalidInput.
    """
    if since > now:
        raise InvalidInput(Fault("since", "must not lie in the future", wire_time(since)))
    since = max(since, now - RECOVERABLE)
    endpoint = _locked_enabled(owner, endpoint_id)
    outbox.insert_missed(endpoint, since=since, most=MOST_RECOVERED + 1, now=now)
    failed = Delivery.objects.filter(
        endpoint=endpoint, status=DeliveryStatus.FAILED, created_at__gte=since
    ).order_by("created_at", "pk")
    chosen = list(failed.values_list("pk", flat=True)[: MOST_RECOVERED + 1])
    queued = Delivery.objects.filter(pk__in=chosen[:MOST_RECOVERED]).transition(
        DeliveryTransition.REDELIVER, due_at=now, failures=0, queue=DeliveryQueue.RETRY
    )
    outbox.ensure_dispatch()
    audit.record(
        Action.WEBHOOK_RECOVERED,
        endpoint,
        actor=audit.user(owner),
        now=now,
        since=wire_time(since),
        queued=queued,
    )
    return queued, len(chosen) > MOST_RECOVERED
