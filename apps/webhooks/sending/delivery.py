"""The life of a delivery: claimed, attempted, delivered or retried, and requeued when it is lost.

A claim commits before anything is sent, and nothing is sent inside a transaction. Code that locks
several rows locks endpoints by id, then deliveries by id.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Final, NamedTuple

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.expressions import RawSQL

from apps.core import audit, jobs
from apps.webhooks import event_types
from apps.webhooks.events import outbox
from apps.webhooks.lifecycle import (
    FAILING_TIME,
    LEAST_FAILURES,
    MOST_CONCURRENT_SENDS,
    SLOW_SECONDS,
    DeliveryQueue,
    DeliveryStatus,
    DeliveryTransition,
    DisabledReason,
    EndpointKind,
    EndpointStatus,
    EndpointTransition,
    Failure,
)
from apps.webhooks.models import Attempt, Delivery, Endpoint, Event
from apps.webhooks.sending import linking, queries
from apps.webhooks.sending.holding import held_until
from apps.webhooks.sending.kinds import TOO_MANY, chat_text

# A send takes 15 seconds at most; by then it is recorded, or it is lost.
CLAIM_TIME: Final = timedelta(seconds=60)
WORKER_SILENCE: Final = timedelta(seconds=30)  # without a heartbeat a worker counts as lost
GONE: Final = 410
# The answers of a chat whose token or address is no longer valid, or that does not want the bot.
CHAT_REFUSALS: Final = frozenset({401, 403, 404})
# The answers of a chat after which the same message has no chance.
_FINAL: Final = CHAT_REFUSALS | {400}
_BATCH: Final = 1000

# The waits before each retry: the example of the Standard Webhooks specification (github.com/
# standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Deliverability and reliability"),
# about 75 hours in all. After one more failure the delivery is given up.
RETRY_WAITS: Final[Sequence[timedelta]] = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
)
# Waits vary by this fraction, so that simultaneous failures are not retried together.
JITTER: Final = 0.2
MOST_RETRY_AFTER: Final = timedelta(hours=24)  # a receiver may postpone the next attempt by so much


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A claimed delivery with all data needed to send it; the secrets are encrypted.

    `body` is the envelope, or the text for a chat.
    """

    delivery_id: str
    attempt: int
    failures: int
    endpoint_id: str
    url: str
    secrets: tuple[bytes, ...]
    event_id: str
    body: bytes
    kind: EndpointKind = EndpointKind.WEBHOOK
    # The other deliveries of the same message to a chat.
    merged: tuple["MergedDelivery", ...] = ()

    @property
    def delivery_ids(self) -> list[str]:
        return [self.delivery_id, *(own.delivery_id for own in self.merged)]


class MergedDelivery(NamedTuple):
    """A delivery that goes with another one in one message."""

    delivery_id: str
    attempt: int
    failures: int


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of an attempt that began `at`; `error` is None if the webhook was delivered."""

    claimed: ClaimedDelivery
    at: datetime
    seconds: float
    error: Failure | None
    status: int | None = None
    retry_after: float | None = None
    pause: float = 0.0  # seconds until a chat takes the next message

    @property
    def is_of_chat(self) -> bool:
        return self.claimed.kind != EndpointKind.WEBHOOK

    def of_each(self) -> "Iterator[AttemptResult]":
        """Yield the result for each delivery of the message."""
        yield self
        for merged in self.claimed.merged:
            yield replace(self, claimed=replace(self.claimed, **merged._asdict()))


def claim(queue: DeliveryQueue, *, most: int, now: datetime) -> list[ClaimedDelivery]:
    """Claim up to `most` due deliveries of this queue, of the endpoints served longest ago.

    An endpoint never has more than MOST_CONCURRENT_SENDS under way, a chat never more than one.
    """
    endpoints = waiting_endpoints(queue)
    return _claim(queue, endpoints, most // MOST_CONCURRENT_SENDS, now) if endpoints else []


def waiting_endpoints(queue: DeliveryQueue) -> list[str]:
    """Return the ids of the endpoints with deliveries waiting in this queue, due or not."""
    return _ids(queries.WAITING_ENDPOINTS, queue, queue)


@transaction.atomic
def _claim(
    queue: DeliveryQueue, waiting: Sequence[str], most_endpoints: int, now: datetime
) -> list[ClaimedDelivery]:
    endpoints = _ids(queries.NEXT_ENDPOINTS, waiting, now, queue, now, most_endpoints)
    if not endpoints:
        return []
    Endpoint.objects.filter(pk__in=endpoints).update(served_at=now)
    ids = _ids(queries.NEXT_DELIVERIES, queue, now, now, endpoints)
    chosen = Delivery.objects.filter(pk__in=ids).select_related("event", "endpoint")
    messages, chats = [], defaultdict(list)
    for delivery in chosen.order_by("due_at", "created_at", "pk"):
        if delivery.endpoint.kind == EndpointKind.WEBHOOK:
            messages.append(_claimed([delivery], _envelope(delivery.event), now))
        else:
            chats[delivery.endpoint_id].append(delivery)
    for deliveries in chats.values():
        messages += _chat_message(deliveries, now)
    claimed = [key for message in messages for key in message.delivery_ids]
    Delivery.objects.filter(pk__in=claimed).claim(until=now + CLAIM_TIME)
    return messages


def _envelope(event: Event) -> bytes:
    return event_types.render_body(
        id=event.pk,
        type=event.type,
        created_at=event.created_at,
        sequence=event.sequence,
        data=event.data,
    )


def _chat_message(deliveries: Sequence[Delivery], now: datetime) -> Iterator[ClaimedDelivery]:
    """Yield the message of the first of a chat's deliveries; postpone those that are held."""
    ready = []
    for delivery in deliveries:
        event = delivery.event
        until = held_until(delivery.endpoint, type=event.type, created_at=event.created_at, now=now)
        if until is None:
            ready.append(delivery)
        else:
            Delivery.objects.filter(pk=delivery.pk).update(due_at=until)
    if ready:
        kind = EndpointKind(ready[0].endpoint.kind)
        lost = Attempt.objects.filter(delivery__in=ready, error=Failure.LOST)
        again = set(lost.values_list("delivery_id", flat=True))
        is_again = ready[0].pk in again
        # Events that may have arrived and events that have not go in messages of their own.
        alike = list(takewhile(lambda delivery: (delivery.pk in again) == is_again, ready))
        text, taken = chat_text([own.event for own in alike], kind, again=is_again, now=now)
        yield _claimed(alike[:taken], text.encode(), now)


def _claimed(deliveries: Sequence[Delivery], body: bytes, now: datetime) -> ClaimedDelivery:
    first, *merged = deliveries
    return ClaimedDelivery(
        delivery_id=first.pk,
        attempt=first.attempts + 1,
        failures=first.failures,
        endpoint_id=first.endpoint.pk,
        url=first.endpoint.url,
        secrets=first.endpoint.secrets(now=now),
        event_id=first.event.pk,
        body=body,
        kind=EndpointKind(first.endpoint.kind),
        merged=tuple(MergedDelivery(own.pk, own.attempts + 1, own.failures) for own in merged),
    )


def waits_for_chat(*, now: datetime, within: timedelta) -> bool:
    """Return whether a chat with waiting deliveries will be ready soon."""
    with connection.cursor() as cursor:
        cursor.execute(queries.SOON_READY, [now - timedelta(seconds=1), now + within])
        return bool(cursor.fetchone()[0])


def _ids(query: str, *values: Any) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [row[0] for row in cursor.fetchall()]


@transaction.atomic
def record_results(results: Collection[AttemptResult], *, now: datetime) -> None:
    """Store the results of attempts, and the health of the endpoints.

    The result of an attempt with an expired claim is ignored, because another attempt counts.
    """
    ids = {result.claimed.endpoint_id for result in results}
    rows = Endpoint.objects.locked().filter(pk__in=ids).order_by("pk")
    endpoints = {endpoint.pk: endpoint for endpoint in rows}
    messages = results
    results = _still_claimed([own for message in messages for own in message.of_each()])
    Attempt.objects.bulk_create(
        Attempt(
            delivery_id=result.claimed.delivery_id,
            number=result.claimed.attempt,
            at=result.at,
            seconds=result.seconds,
            http_status=result.status,
            error=result.error or "",
        )
        for result in results
    )
    delivered = [result.claimed.delivery_id for result in results if result.error is None]
    Delivery.objects.filter(pk__in=delivered).release(DeliveryTransition.DELIVER)
    by_endpoint = defaultdict(list)
    for result in results:
        by_endpoint[result.claimed.endpoint_id].append(result)
        if result.error is not None:
            _reschedule(result, now)
    for endpoint_id, endpoint_results in by_endpoint.items():
        endpoint = endpoints[endpoint_id]
        # Results of an address that has been replaced since say nothing about the present one.
        current = [result for result in endpoint_results if result.claimed.url == endpoint.url]
        _update_health(endpoint, current, now)
    for message in messages:
        if message.is_of_chat:
            _pause(message, now)


def _still_claimed(results: Collection[AttemptResult]) -> list[AttemptResult]:
    ids = [result.claimed.delivery_id for result in results]
    rows = Delivery.objects.select_for_update(no_key=True).order_by("pk")
    sending = rows.filter(pk__in=ids, status=DeliveryStatus.SENDING)
    attempts = dict(sending.values_list("pk", "attempts"))
    return [
        result
        for result in results
        if attempts.get(result.claimed.delivery_id) == result.claimed.attempt
    ]


def _reschedule(result: AttemptResult, now: datetime) -> None:
    """Retry a failed delivery later, or give it up."""
    delivery_id, failures = result.claimed.delivery_id, result.claimed.failures + 1
    due_at = None
    if result.is_of_chat and result.status == TOO_MANY and failures <= len(RETRY_WAITS):
        due_at = now + _requested_wait(result)
    elif result.status != GONE and not (result.is_of_chat and result.status in _FINAL):
        due_at = next_attempt(failures, seed=delivery_id, now=now, retry_after=result.retry_after)
    row = Delivery.objects.filter(pk=delivery_id)
    if due_at is None:
        row.release(DeliveryTransition.GIVE_UP, failures=failures)
    else:
        row.release(
            DeliveryTransition.RESCHEDULE,
            failures=failures,
            due_at=due_at,
            queue=DeliveryQueue.RETRY,
        )


def _requested_wait(result: AttemptResult) -> timedelta:
    """Return how long a chat wants no message: as long as it says, or a second."""
    wait = timedelta(seconds=max(result.retry_after or 0.0, result.pause))
    return min(wait, MOST_RETRY_AFTER)


def _pause(message: AttemptResult, now: datetime) -> None:
    """Send nothing to the chat until it takes messages again, counted from the last answer."""
    ready_at = now + _requested_wait(message)
    Endpoint.objects.filter(pk=message.claimed.endpoint_id).update(ready_at=ready_at)


def next_attempt(
    failures: int, *, seed: str, now: datetime, retry_after: float | None = None
) -> datetime | None:
    """Return when to try again after this many failures, the last of them now; None for never.

    `seed` determines the jitter; `retry_after` is the receiver's request, in seconds.
    """
    if failures > len(RETRY_WAITS):
        return None
    digest = blake2b(f"{seed}/{failures}".encode(), digest_size=8).digest()
    spread = int.from_bytes(digest) / 2**63 - 1  # a number of -1 to 1 that looks random
    wait = RETRY_WAITS[failures - 1] * (1 + JITTER * spread)
    requested = timedelta(seconds=min(retry_after or 0.0, MOST_RETRY_AFTER.total_seconds()))
    return now + max(wait, requested)


def _update_health(endpoint: Endpoint, results: Sequence[AttemptResult], now: datetime) -> None:
    """Store whether the endpoint is slow, and since when it fails; disable it after long
    failure.
    """
    before = (endpoint.slow, endpoint.failing_since, endpoint.failures)
    for result in results:
        endpoint.slow = result.seconds > SLOW_SECONDS
        endpoint.failing_since = (
            None if result.error is None else endpoint.failing_since or result.at
        )
        endpoint.failures = 0 if result.error is None else endpoint.failures + 1
    if (endpoint.slow, endpoint.failing_since, endpoint.failures) != before:
        endpoint.save(update_fields=["slow", "failing_since", "failures"])
    if endpoint.slow and not before[0]:
        _demote(endpoint)
    failing_since = endpoint.failing_since
    if any(result.status == GONE for result in results):
        _disable(endpoint, DisabledReason.GONE, now)
    elif any(result.is_of_chat and result.status in CHAT_REFUSALS for result in results):
        _disable(endpoint, DisabledReason.REFUSED, now)
    elif (
        failing_since is not None
        and now - failing_since >= FAILING_TIME
        and endpoint.failures >= LEAST_FAILURES
    ):
        _disable(endpoint, DisabledReason.FAILING, now)


def _demote(endpoint: Endpoint) -> None:
    """Move the endpoint's waiting deliveries to the retry queue, behind first attempts at other
    endpoints.
    """
    waiting = Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.WAITING)
    waiting.filter(queue=DeliveryQueue.FIRST_ATTEMPT).update(queue=DeliveryQueue.RETRY)


def _disable(endpoint: Endpoint, reason: DisabledReason, now: datetime) -> None:
    row = Endpoint.objects.filter(pk=endpoint.pk)
    if row.transition(EndpointTransition.DISABLE, disabled_reason=reason, changed_at=now):
        action = audit.Action.WEBHOOK_DISABLED
        audit.record(action, endpoint, actor=audit.SYSTEM, now=now, reason=reason)


def reap(*, now: datetime) -> int:
    """Repair the traces of a lost sender or a lost job, and wake the dispatch of due deliveries.

    Every worker process calls it every few seconds; concurrent calls do no harm. Return how many
    deliveries were requeued or dropped.
    """
    count = requeue_stalled(now=now) + drop_undeliverable()
    linking.wake_lost(now=now)
    jobs.put_back_lost(outbox.DISPATCH_QUEUE, silence=WORKER_SILENCE, now=now)
    if not jobs.is_quiet() and any(_is_due(queue, now) for queue in DeliveryQueue):
        outbox.ensure_dispatch()
    return count


def _is_due(queue: DeliveryQueue, now: datetime) -> bool:
    enabled = Endpoint.objects.filter(
        pk__in=waiting_endpoints(queue), status=EndpointStatus.ENABLED
    )
    waiting = Delivery.objects.filter(
        status=DeliveryStatus.WAITING, queue=queue, due_at__lte=now, endpoint__in=list(enabled)
    )
    return waiting.exists()


@transaction.atomic
def requeue_stalled(*, now: datetime) -> int:
    """Requeue deliveries whose process has ended or whose claim has expired.

    Such an attempt is recorded as lost, and does not count as a failure. Return their number.
    """
    stalled = Q(claimed_until__lte=now) | ~Q(
        claimed_by__in=RawSQL(queries.DATABASE_CONNECTIONS, [])
    )
    rows = Delivery.objects.filter(stalled, status=DeliveryStatus.SENDING).order_by("pk")
    deliveries = list(rows.select_for_update(no_key=True, skip_locked=True)[:_BATCH])
    Attempt.objects.bulk_create(
        Attempt(delivery=delivery, number=delivery.attempts, at=now, error=Failure.LOST)
        for delivery in deliveries
    )
    locked = Delivery.objects.filter(pk__in=[delivery.pk for delivery in deliveries])
    return locked.release(DeliveryTransition.LOSE, due_at=now)


def drop_undeliverable() -> int:
    """Fail the waiting deliveries of disabled and deleted endpoints; return how many."""
    waiting = {endpoint for queue in DeliveryQueue for endpoint in waiting_endpoints(queue)}
    off = Endpoint.objects.filter(pk__in=waiting).exclude(status=EndpointStatus.ENABLED)
    return sum(_drop(endpoint) for endpoint in off)


def _drop(endpoint: Endpoint) -> int:
    """Fail the endpoint's waiting deliveries in batches, so that locks are short.

    It stops when the endpoint is enabled again.
    """
    waiting = Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.WAITING)
    undeliverable = waiting.exclude(endpoint__status=EndpointStatus.ENABLED).order_by("pk")
    total = 0
    while batch := list(undeliverable.values_list("pk", flat=True)[:_BATCH]):
        total += undeliverable.filter(pk__in=batch).transition(DeliveryTransition.DROP)
    return total
