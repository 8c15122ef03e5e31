"""What users do with their endpoints, and with what was sent there."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Prefetch

from apps.accounts.models import User
from apps.core import audit, sealing
from apps.core.audit import Action
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.core.times import wire_time
from apps.webhooks import exemptions, outbox, signing, targets
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import (
    DisabledReason,
    EndpointMove,
    EndpointStatus,
    Move,
    Queue,
    Status,
)
from apps.webhooks.models import (
    Attempt,
    Delivery,
    DeliveryQuerySet,
    Endpoint,
    EndpointQuerySet,
)
from apps.webhooks.outbox import EventPayload

MOST_ENDPOINTS: Final = 50
ROTATION: Final = timedelta(hours=24)
"""So long the secret before signs too."""
MOST_RECOVERED: Final = 10_000
"""Deliveries that one call queues again."""
RECOVERABLE: Final = timedelta(days=14)
"""What is older is not queued again."""
CLEAN: Final = {"failing_since": None, "failures": 0, "slow": False}
"""The record of an endpoint of which nothing is known yet."""


class TooManyEndpoints(ServiceError):
    code = Code.UNPROCESSABLE_ENTITY
    message = "There are {limit} webhooks already, which is the most; delete one first."


class SwitchedOff(ServiceError):
    """What is to be sent needs an endpoint that is on."""

    code = Code.CONFLICT
    message = "The webhook is disabled; set its status to enabled first."


class BeingSent(ServiceError):
    code = Code.CONFLICT
    message = "It is being sent at this moment; look again in a minute."


# --------------------------------------------------------------------------------------- endpoints


def endpoints_of(owner: User) -> EndpointQuerySet:
    """The newest first."""
    return Endpoint.objects.owned_by(owner).order_by("-created_at", "-pk")


def read(*, owner: User, endpoint_id: str) -> Endpoint:
    """Raises NotFound."""
    return Endpoint.objects.owned_by(owner).fetch(endpoint_id)


@transaction.atomic
def create(
    *, owner: User, url: str, types: Sequence[EventType], description: str, now: datetime
) -> tuple[Endpoint, str]:
    """The endpoint, and its secret, which is not shown again. Raises InvalidInput,
    TooManyEndpoints.

    The user's row makes concurrent callers wait, so that they count each other's endpoints.
    """
    _check_url(url)
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    if endpoints_of(owner).count() >= MOST_ENDPOINTS:
        raise TooManyEndpoints(limit=MOST_ENDPOINTS)
    secret = signing.new_secret()
    endpoint = Endpoint.objects.create(
        owner=owner,
        url=url,
        events=list(types),
        description=description,
        secret=sealing.seal(secret.encode()),
        created_at=now,
        changed_at=now,
    )
    audit.record(
        Action.WEBHOOK_CREATED,
        endpoint,
        actor=audit.user(owner),
        now=now,
        url=url,
        events=endpoint.events,
    )
    return endpoint, secret


def _check_url(url: str) -> None:
    """Raises InvalidInput."""
    try:
        targets.parse(url, exemptions.configured())
    except targets.TargetRefused as refusal:
        raise InvalidInput(Fault("url", str(refusal), url)) from refusal


@transaction.atomic
def change(*, owner: User, endpoint_id: str, changes: Mapping[str, Any], now: datetime) -> Endpoint:
    """Set what is named of `url`, `events`, `description`, `status`. Any: each has a type of its
    own. One that is enabled, or led elsewhere, begins with a clean record. Raises NotFound,
    InvalidInput.
    """
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    fields = dict(changes)
    status = fields.pop("status", None)
    if "url" in fields:
        _check_url(fields["url"])
    if fields.get("url", endpoint.url) != endpoint.url:
        fields |= CLEAN
    if fields:
        Endpoint.objects.filter(pk=endpoint.pk).update(**fields, changed_at=now)
    if status == EndpointStatus.ENABLED:
        _enable(endpoint, now)
    elif status == EndpointStatus.DISABLED:
        _disable(endpoint, DisabledReason.OWNER, now)
    audit.record(Action.WEBHOOK_CHANGED, endpoint, actor=audit.user(owner), now=now, **changes)
    endpoint.refresh_from_db()
    return endpoint


def _enable(endpoint: Endpoint, now: datetime) -> bool:
    mine = Endpoint.objects.filter(pk=endpoint.pk)
    return mine.move(EndpointMove.ENABLE, disabled_reason="", **CLEAN, changed_at=now)


def _disable(endpoint: Endpoint, reason: DisabledReason, now: datetime) -> bool:
    mine = Endpoint.objects.filter(pk=endpoint.pk)
    return mine.move(EndpointMove.DISABLE, disabled_reason=reason, changed_at=now)


@transaction.atomic
def switch(
    *, endpoint: Endpoint, on: bool, operator: audit.Actor, reason: str, now: datetime
) -> None:
    """By an operator; one that is so already stays as it is."""
    changed = _enable(endpoint, now) if on else _disable(endpoint, DisabledReason.OPERATOR, now)
    if changed:
        action = Action.WEBHOOK_ENABLED if on else Action.WEBHOOK_DISABLED
        audit.record(action, endpoint, actor=operator, now=now, reason=reason)


@transaction.atomic
def delete(*, owner: User, endpoint_id: str, now: datetime) -> None:
    """Nothing is sent there any more, and its secrets are forgotten. Raises NotFound."""
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    Endpoint.objects.filter(pk=endpoint.pk).move(
        EndpointMove.DELETE,
        disabled_reason="",
        secret=b"",
        previous_secret=None,
        previous_until=None,
        changed_at=now,
    )
    audit.record(
        Action.WEBHOOK_DELETED, endpoint, actor=audit.user(owner), now=now, url=endpoint.url
    )


@transaction.atomic
def rotate_secret(*, owner: User, endpoint_id: str, now: datetime) -> tuple[Endpoint, str]:
    """A new secret, shown this once; the one before signs beside it for ROTATION.

    Raises NotFound.
    """
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    secret = signing.new_secret()
    endpoint.previous_secret = endpoint.secret
    endpoint.previous_until = now + ROTATION
    endpoint.secret = sealing.seal(secret.encode())
    endpoint.save(update_fields=["secret", "previous_secret", "previous_until"])
    audit.record(Action.WEBHOOK_SECRET_ROTATED, endpoint, actor=audit.user(owner), now=now)
    return endpoint, secret


# -------------------------------------------------------------------------------------- deliveries


def deliveries_of(
    *, owner: User, endpoint_id: str, status: Status | None, type: EventType | None
) -> DeliveryQuerySet:
    """The newest first, each with its event and its attempts. Raises NotFound."""
    rows = Delivery.objects.filter(endpoint=read(owner=owner, endpoint_id=endpoint_id))
    wanted = {"status": status, "event__type": type}
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    return _with_attempts(rows).order_by("-created_at", "-pk")


def _with_attempts(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    tries = Prefetch("tries", Attempt.objects.order_by("number"))
    return rows.select_related("event").prefetch_related(tries)


@transaction.atomic
def test(*, owner: User, endpoint_id: str, now: datetime) -> Delivery:
    """Send it an event of its own, whatever types it wants. Raises NotFound, SwitchedOff."""
    endpoint = _switched_on(owner, endpoint_id)
    data = {"webhookId": endpoint.pk}
    payload = EventPayload(EventType.WEBHOOK_TEST, owner.pk, endpoint.pk, data)
    event = outbox.insert([payload], now=now)[0]
    delivery_id = outbox.deliver_to(endpoint, event, now=now)
    audit.record(Action.WEBHOOK_TESTED, endpoint, actor=audit.user(owner), now=now)
    return _with_attempts(Delivery.objects.all()).get(pk=delivery_id)


def _switched_on(owner: User, endpoint_id: str) -> Endpoint:
    """As it stays until the transaction ends. Raises NotFound, SwitchedOff."""
    endpoint = Endpoint.objects.owned_by(owner).locked().fetch(endpoint_id)
    if endpoint.status != EndpointStatus.ENABLED:
        raise SwitchedOff(status=endpoint.status, disabledReason=endpoint.disabled_reason)
    return endpoint


@transaction.atomic
def redeliver(*, owner: User, delivery_id: str, now: datetime) -> Delivery:
    """Send it again at once, with all further attempts. Raises NotFound, SwitchedOff, BeingSent."""
    found = Delivery.objects.owned_by(owner).fetch(delivery_id)
    _switched_on(owner, found.endpoint_id)
    _send_again(found, now)
    audit.record(Action.WEBHOOK_REDELIVERED, found, actor=audit.user(owner), now=now)
    return _with_attempts(Delivery.objects.all()).get(pk=found.pk)


@transaction.atomic
def replay(*, delivery: Delivery, operator: audit.Actor, reason: str, now: datetime) -> None:
    """By an operator. Raises SwitchedOff, BeingSent."""
    _switched_on(delivery.endpoint.owner, delivery.endpoint_id)
    _send_again(delivery, now)
    audit.record(Action.WEBHOOK_REDELIVERED, delivery, actor=operator, now=now, reason=reason)


def _send_again(delivery: Delivery, now: datetime) -> None:
    mine = Delivery.objects.filter(pk=delivery.pk)
    if not mine.move(Move.SEND_AGAIN, due_at=now, failures=0, queue=Queue.RETRY):
        raise BeingSent
    outbox.ensure_dispatch()


@transaction.atomic
def recover(*, owner: User, endpoint_id: str, since: datetime, now: datetime) -> tuple[int, bool]:
    """Queue again what has failed since then, and what happened while the endpoint was off, the
    oldest first: how many, and whether there are more. Raises NotFound, SwitchedOff, InvalidInput.
    """
    if since > now:
        raise InvalidInput(Fault("since", "must not lie in the future", wire_time(since)))
    since = max(since, now - RECOVERABLE)
    endpoint = _switched_on(owner, endpoint_id)
    outbox.insert_missed(endpoint, since=since, most=MOST_RECOVERED + 1, now=now)
    failed = Delivery.objects.filter(
        endpoint=endpoint, status=Status.FAILED, created_at__gte=since
    ).order_by("created_at", "pk")
    chosen = list(failed.values_list("pk", flat=True)[: MOST_RECOVERED + 1])
    again = Delivery.objects.filter(pk__in=chosen[:MOST_RECOVERED])
    queued = again.move(Move.SEND_AGAIN, due_at=now, failures=0, queue=Queue.RETRY)
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
