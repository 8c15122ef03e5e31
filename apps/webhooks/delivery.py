"""What those who send do with deliveries: claim some, record what came of them, put back what was
lost.

A claim commits before anything is sent, and nothing is sent inside of a transaction. Whoever locks
several rows does so in this order: endpoints by their ids, deliveries by theirs.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.expressions import RawSQL

from apps.core import audit
from apps.webhooks import event_types, schedule
from apps.webhooks.failures import Failure
from apps.webhooks.lifecycle import (
    FAILING_TIME,
    LEAST_FAILURES,
    SENDS_AT_A_TIME,
    SLOW_SECONDS,
    DisabledReason,
    EndpointMove,
    EndpointStatus,
    Move,
    Queue,
    Status,
)
from apps.webhooks.models import Attempt, Delivery, Endpoint

CLAIMED: Final = timedelta(seconds=60)
"""A send takes 15 seconds at most; then it is recorded, or it is lost."""
GONE: Final = 410
BATCH: Final = 1000

WAITING: Final = f"""
    WITH RECURSIVE waiting (endpoint_id) AS (
        (SELECT endpoint_id FROM webhooks_delivery
            WHERE status = '{Status.WAITING}' AND queue = %s ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (SELECT endpoint_id FROM webhooks_delivery
            WHERE status = '{Status.WAITING}' AND queue = %s
                AND endpoint_id > waiting.endpoint_id ORDER BY endpoint_id LIMIT 1)
        FROM waiting WHERE waiting.endpoint_id IS NOT NULL
    )
    SELECT endpoint_id FROM waiting WHERE endpoint_id IS NOT NULL
"""
"""One look at an index for each endpoint, however many deliveries wait for it."""
SENDING: Final = f"""
    (SELECT count(*) FROM webhooks_delivery AS sent
        WHERE sent.endpoint_id = webhooks_endpoint.id AND sent.status = '{Status.SENDING}')
"""
IN_TURN: Final = f"""
    SELECT id FROM webhooks_endpoint
    WHERE id = ANY(%s) AND status = '{EndpointStatus.ENABLED}'
        AND {SENDING} < {SENDS_AT_A_TIME}
        AND EXISTS (SELECT FROM webhooks_delivery
            WHERE endpoint_id = webhooks_endpoint.id AND queue = %s
                AND status = '{Status.WAITING}' AND due_at <= %s)
    ORDER BY served_at NULLS FIRST, id LIMIT %s
    FOR NO KEY UPDATE OF webhooks_endpoint SKIP LOCKED
"""
# A statement of its own: it counts what others have claimed until the endpoints were locked.
CHOOSE: Final = f"""
    SELECT chosen.id FROM webhooks_endpoint CROSS JOIN LATERAL (
        SELECT id FROM webhooks_delivery
        WHERE endpoint_id = webhooks_endpoint.id AND queue = %s
            AND status = '{Status.WAITING}' AND due_at <= %s
        ORDER BY due_at, id LIMIT GREATEST(0, {SENDS_AT_A_TIME} - {SENDING})
        FOR NO KEY UPDATE
    ) AS chosen WHERE webhooks_endpoint.id = ANY(%s)
"""
ALIVE: Final = "SELECT pid FROM pg_stat_activity"


@dataclass(frozen=True, slots=True)
class Message:
    """A claimed delivery, and all that it takes to send it; the secrets are sealed."""

    delivery_id: str
    attempt: int
    failures: int
    endpoint_id: str
    url: str
    secrets: tuple[bytes, ...]
    event_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt, which began `at`; `error` is None if it was delivered."""

    message: Message
    at: datetime
    seconds: float
    error: Failure | None
    status: int | None = None
    retry_after: float | None = None


# ------------------------------------------------------------------------------------------- claim


def claim(queue: Queue, *, most: int, now: datetime) -> list[Message]:
    """Up to `most` deliveries of this queue that are due, of the endpoints whose turn is longest
    ago; theirs are never more than SENDS_AT_A_TIME under way.
    """
    among = waiting_endpoints(queue)
    return _claim(queue, among, most // SENDS_AT_A_TIME, now) if among else []


def waiting_endpoints(queue: Queue) -> list[str]:
    """The ids of those for which something waits in this queue, due or not."""
    return _ids(WAITING, queue, queue)


@transaction.atomic
def _claim(queue: Queue, among: Sequence[str], endpoints: int, now: datetime) -> list[Message]:
    turn = _ids(IN_TURN, among, queue, now, endpoints)
    if not turn:
        return []
    Endpoint.objects.filter(pk__in=turn).update(served_at=now)
    chosen = _ids(CHOOSE, queue, now, turn)
    claimed = list(
        Delivery.objects.filter(pk__in=chosen)
        .select_related("event", "endpoint")
        .order_by("due_at")
    )
    for delivery in claimed:
        delivery.attempts += 1
    Delivery.objects.filter(pk__in=chosen).claim(until=now + CLAIMED)
    return [_message(delivery, now) for delivery in claimed]


def _message(delivery: Delivery, now: datetime) -> Message:
    event, endpoint = delivery.event, delivery.endpoint
    return Message(
        delivery_id=delivery.pk,
        attempt=delivery.attempts,
        failures=delivery.failures,
        endpoint_id=endpoint.pk,
        url=endpoint.url,
        secrets=endpoint.secrets(now=now),
        event_id=event.pk,
        body=event_types.body_of(
            id=event.pk,
            type=event.type,
            created_at=event.created_at,
            sequence=event.sequence,
            data=event.data,
        ),
    )


def _ids(query: str, *values: Any) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [row[0] for row in cursor.fetchall()]


# ------------------------------------------------------------------------------------------ record


@transaction.atomic
def record(outcomes: Collection[Outcome], *, now: datetime) -> None:
    """Write down what came of these attempts, and what it says of their endpoints.

    Of an attempt that has been given up on nothing is written: another one counts.
    """
    endpoints = _locked_endpoints(outcomes)
    mine = _still_claimed(outcomes)
    Attempt.objects.bulk_create(_attempt(outcome) for outcome in mine)
    delivered = [one.message.delivery_id for one in mine if one.error is None]
    Delivery.objects.filter(pk__in=delivered).release(Move.DELIVER)
    by_endpoint = defaultdict(list)
    for outcome in mine:
        by_endpoint[outcome.message.endpoint_id].append(outcome)
        if outcome.error is not None:
            _put_off(outcome, now)
    for endpoint_id, its in by_endpoint.items():
        endpoint = endpoints[endpoint_id]
        _learn(endpoint, [one for one in its if one.message.url == endpoint.url], now)


def _locked_endpoints(outcomes: Collection[Outcome]) -> Mapping[str, Endpoint]:
    ids = {outcome.message.endpoint_id for outcome in outcomes}
    rows = Endpoint.objects.locked().filter(pk__in=ids).order_by("pk")
    return {endpoint.pk: endpoint for endpoint in rows}


def _still_claimed(outcomes: Collection[Outcome]) -> list[Outcome]:
    ids = [outcome.message.delivery_id for outcome in outcomes]
    rows = Delivery.objects.select_for_update(no_key=True).order_by("pk")
    now = dict(rows.filter(pk__in=ids, status=Status.SENDING).values_list("pk", "attempts"))
    return [one for one in outcomes if now.get(one.message.delivery_id) == one.message.attempt]


def _attempt(outcome: Outcome) -> Attempt:
    return Attempt(
        delivery_id=outcome.message.delivery_id,
        number=outcome.message.attempt,
        at=outcome.at,
        seconds=outcome.seconds,
        http_status=outcome.status,
        error=outcome.error or "",
    )


def _put_off(outcome: Outcome, now: datetime) -> None:
    message = outcome.message
    mine = Delivery.objects.filter(pk=message.delivery_id)
    failures = message.failures + 1
    due_at = None
    if outcome.status != GONE:
        due_at = schedule.next_attempt(
            failures, seed=message.delivery_id, now=now, retry_after=outcome.retry_after
        )
    if due_at is None:
        mine.release(Move.GIVE_UP, failures=failures)
    else:
        mine.release(Move.PUT_OFF, failures=failures, due_at=due_at, queue=Queue.RETRY)


def _learn(endpoint: Endpoint, outcomes: Sequence[Outcome], now: datetime) -> None:
    """Whether it lets callers wait, since when it fails, and whether that is enough; the outcomes
    are of its present address.
    """
    before = (endpoint.slow, endpoint.failing_since, endpoint.failures)
    for outcome in outcomes:
        endpoint.slow = outcome.seconds > SLOW_SECONDS
        endpoint.failing_since = (
            None if outcome.error is None else endpoint.failing_since or outcome.at
        )
        endpoint.failures = 0 if outcome.error is None else endpoint.failures + 1
    if (endpoint.slow, endpoint.failing_since, endpoint.failures) != before:
        endpoint.save(update_fields=["slow", "failing_since", "failures"])
    if endpoint.slow and not before[0]:
        _step_aside(endpoint)
    if any(outcome.status == GONE for outcome in outcomes):
        _switch_off(endpoint, DisabledReason.GONE, now)
    elif _has_failed_long(endpoint, now):
        _switch_off(endpoint, DisabledReason.FAILING, now)


def _step_aside(endpoint: Endpoint) -> None:
    """What waits for it no longer stands in the way of others."""
    waiting = Delivery.objects.filter(
        endpoint=endpoint, status=Status.WAITING, queue=Queue.FIRST_ATTEMPT
    )
    waiting.update(queue=Queue.RETRY)


def _has_failed_long(endpoint: Endpoint, now: datetime) -> bool:
    since = endpoint.failing_since
    long = since is not None and now - since >= FAILING_TIME
    return long and endpoint.failures >= LEAST_FAILURES


def _switch_off(endpoint: Endpoint, reason: DisabledReason, now: datetime) -> None:
    mine = Endpoint.objects.filter(pk=endpoint.pk)
    if mine.move(EndpointMove.DISABLE, disabled_reason=reason, changed_at=now):
        action = audit.Action.WEBHOOK_DISABLED
        audit.record(action, endpoint, actor=audit.SYSTEM, now=now, reason=reason)


# ---------------------------------------------------------------------------------------- put back


@transaction.atomic
def put_back_lost(*, now: datetime) -> int:
    """Let others send what a process had claimed that has ended, or is not heard of any more.

    Such an attempt is on record as lost, and does not count as a failure. Returns how many there
    were.
    """
    lost = Q(claimed_until__lte=now) | ~Q(claimed_by__in=RawSQL(ALIVE, []))
    rows = Delivery.objects.filter(lost, status=Status.SENDING).order_by("pk")
    found = list(rows.select_for_update(no_key=True, skip_locked=True)[:BATCH])
    Attempt.objects.bulk_create(
        Attempt(delivery=one, number=one.attempts, at=now, error=Failure.LOST) for one in found
    )
    return Delivery.objects.filter(pk__in=[one.pk for one in found]).release(Move.LOSE, due_at=now)


def drop_switched_off() -> int:
    """Fail what waits for endpoints that are switched off or deleted; returns how many."""
    waiting = {known for queue in Queue for known in waiting_endpoints(queue)}
    off = Endpoint.objects.filter(pk__in=waiting).exclude(status=EndpointStatus.ENABLED)
    return sum(_drop(endpoint) for endpoint in off)


def _drop(endpoint: Endpoint) -> int:
    """A bounded number at a time, so that none of them holds its locks for long; none any more from
    the moment on at which the endpoint is switched on again.
    """
    waiting = Delivery.objects.filter(endpoint=endpoint, status=Status.WAITING)
    mine = waiting.exclude(endpoint__status=EndpointStatus.ENABLED)
    total = 0
    while some := list(mine.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        total += mine.filter(pk__in=some).move(Move.DROP)
    return total


def is_due(*, now: datetime) -> bool:
    """Whether anything waits that could be sent now."""
    return any(_is_due(queue, now) for queue in Queue)


def _is_due(queue: Queue, now: datetime) -> bool:
    enabled = Endpoint.objects.filter(
        pk__in=waiting_endpoints(queue), status=EndpointStatus.ENABLED
    )
    waiting = Delivery.objects.filter(status=Status.WAITING, queue=queue, due_at__lte=now)
    return waiting.filter(endpoint__in=list(enabled)).exists()
