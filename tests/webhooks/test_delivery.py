"""Fan-out, claims, results and requeueing of deliveries, and the health of endpoints."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.db import connection, transaction
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts.models import User
from apps.core import audit
from apps.core.models import AuditRecord
from apps.webhooks import services
from apps.webhooks.events import outbox, retention
from apps.webhooks.lifecycle import DeliveryQueue, DeliveryStatus, Failure
from apps.webhooks.models import Attempt, Delivery, Endpoint, Event
from apps.webhooks.sending import delivery
from tests import make
from tests.processes import until
from tests.webhooks.events import ALGORITHM_ID, attempt, emit, endpoint_of

OTHER = "2" * 24


def claim(
    queue: DeliveryQueue = DeliveryQueue.FIRST_ATTEMPT,
    *,
    most: int = 100,
    now: datetime | None = None,
) -> list[str]:
    """Return the ids of the endpoints of the claimed deliveries."""
    claimed = delivery.claim(queue, most=most, now=now or timezone.now())
    return [row.endpoint_id for row in claimed]


def has_ended(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)", [pid])
        return bool(cursor.fetchone()[0])


def waiting_jobs() -> int:
    return ProcrastinateJob.objects.filter(queue_name=outbox.DISPATCH_QUEUE, status="todo").count()


# Fan-out.


def test_an_event_is_sent_to_each_enabled_endpoint_that_wants_it(alice: User, bob: User) -> None:
    subscribed = {endpoint_of(alice).pk, endpoint_of(alice).pk}
    endpoint_of(alice, events=["trade.executed"])  # type: ignore[list-item]
    endpoint_of(alice, status="disabled", disabled_reason="owner")
    endpoint_of(bob)
    event = emit(alice)
    deliveries = Delivery.objects.all()
    assert {row.endpoint_id for row in deliveries} == subscribed
    assert {(row.event, row.status, row.attempts) for row in deliveries} == {(event, "waiting", 0)}


def test_any_number_of_events_needs_one_waiting_job(alice: User) -> None:
    emit(alice)
    assert waiting_jobs() == 0
    endpoint_of(alice)
    for _ in range(3):
        emit(alice)
    assert waiting_jobs() == 1


def test_a_rolled_back_event_is_delivered_to_nobody(alice: User) -> None:
    endpoint_of(alice)
    with transaction.atomic():
        emit(alice)
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()
    assert waiting_jobs() == 0


# Claim.


def test_a_claimed_delivery_has_everything_for_sending(alice: User) -> None:
    endpoint = endpoint_of(alice)
    event = emit(alice)
    (claimed,) = delivery.claim(DeliveryQueue.FIRST_ATTEMPT, most=2, now=timezone.now())
    assert (claimed.url, claimed.attempt, claimed.event_id) == (endpoint.url, 1, event.pk)
    assert claimed.secrets == (bytes(endpoint.secret),)
    assert b'"sequence":1' in claimed.body


def test_two_at_a_time_to_one_endpoint(alice: User) -> None:
    endpoint_of(alice)
    for _ in range(5):
        emit(alice)
    assert (len(claim()), len(claim())) == (2, 0)
    assert Delivery.objects.filter(status=DeliveryStatus.SENDING).count() == 2


def test_endpoints_take_turns(alice: User) -> None:
    first, second, third = sorted(endpoint_of(alice).pk for _ in range(3))
    for _ in range(3):
        emit(alice)
    assert claim(most=2) == [first, first]
    Delivery.objects.filter(status=DeliveryStatus.SENDING).delete()
    assert set(claim(most=4)) == {second, third}
    Delivery.objects.filter(status=DeliveryStatus.SENDING).delete()
    assert claim(most=2) == [first]


def test_deliveries_not_due_or_of_disabled_endpoints_are_left(alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    assert claim(now=timezone.now() - timedelta(hours=1)) == []
    Endpoint.objects.update(status="disabled", disabled_reason="owner")
    assert claim() == []


@pytest.mark.django_db(transaction=True)
def test_concurrent_claims_keep_to_two_and_claim_nothing_twice() -> None:
    owner = make.user()
    for _ in range(3):
        endpoint_of(owner)
    for _ in range(4):
        emit(owner)
    barrier = Barrier(8)

    def work(_: int) -> list[str]:
        try:
            barrier.wait()
            now = timezone.now()
            return [
                claimed.delivery_id
                for claimed in delivery.claim(DeliveryQueue.FIRST_ATTEMPT, most=100, now=now)
            ]
        finally:
            connection.close()

    for _ in range(2):
        with ThreadPoolExecutor(8) as pool:
            claimed = [delivery_id for ids in pool.map(work, range(8)) for delivery_id in ids]
        assert len(claimed) == len(set(claimed)) <= 6
        sending = Delivery.objects.filter(status=DeliveryStatus.SENDING)
        # A sender that finds all endpoints locked by others retries in a moment.
        assert all(sending.filter(endpoint=row).count() <= 2 for row in Endpoint.objects.all())
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE webhooks_delivery SET status = 'delivered', claimed_until = NULL,"
                " claimed_by = NULL WHERE status = 'sending'"
            )


# Record.


def test_a_success_is_delivered(alice: User) -> None:
    endpoint_of(alice, failing_since=timezone.now(), failures=2)
    emit(alice)
    attempt(204)
    done = Delivery.objects.get()
    assert (done.status, done.claimed_until, done.claimed_by) == ("delivered", None, None)
    (tried,) = Attempt.objects.all()
    assert (tried.number, tried.http_status, tried.error, tried.seconds) == (1, 204, "", 0.02)
    endpoint = Endpoint.objects.get()
    assert (endpoint.failing_since, endpoint.failures) == (None, 0)


def test_a_failure_waits_for_its_next_attempt_in_the_queue_of_retries(alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    before = timezone.now()
    attempt(500)
    rescheduled = Delivery.objects.get()
    assert (rescheduled.status, rescheduled.queue, rescheduled.failures) == (
        "waiting",
        "patient",
        1,
    )
    assert timedelta(seconds=3.9) < rescheduled.due_at - before < timedelta(seconds=7)
    endpoint = Endpoint.objects.get()
    assert endpoint.failing_since is not None
    assert (endpoint.failures, endpoint.status) == (1, "enabled")


def test_a_delivery_is_given_up_after_the_last_attempt(alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    Delivery.objects.update(failures=9)
    attempt(500)
    given_up = Delivery.objects.get()
    assert (given_up.status, given_up.failures) == ("failed", 10)


def test_an_endpoint_that_is_gone_is_disabled_at_once(alice: User) -> None:
    endpoint = endpoint_of(alice)
    emit(alice)
    emit(alice)
    emit(alice)
    attempt(410)
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "gone")
    record = AuditRecord.objects.latest("id")
    assert (record.action, record.actor_kind) == (audit.Action.WEBHOOK_DISABLED, "system")
    assert delivery.reap(now=timezone.now()) == 1
    assert set(Delivery.objects.values_list("status", flat=True)) == {DeliveryStatus.FAILED}


@pytest.mark.parametrize(
    ("days", "failures", "status", "expected"),
    [
        (5, 2, 500, "disabled"),
        (4.9, 100, 500, "enabled"),
        (5, 1, 500, "enabled"),
        (6, 100, 204, "enabled"),
    ],
)
def test_five_days_of_failures_disable_an_endpoint(
    alice: User, days: float, failures: int, status: int, expected: str
) -> None:
    since = timezone.now() - timedelta(days=days)
    endpoint = endpoint_of(alice, failing_since=since, failures=failures)
    emit(alice)
    attempt(status)
    endpoint.refresh_from_db()
    assert endpoint.status == expected
    assert endpoint.disabled_reason == ("failing" if expected == "disabled" else "")


def test_failures_of_the_old_address_do_not_count_for_a_new_one(alice: User) -> None:
    long_ago = timezone.now() - timedelta(days=6)
    endpoint = endpoint_of(alice, failing_since=long_ago, failures=9)
    emit(alice)
    now = timezone.now()
    (claimed,) = delivery.claim(DeliveryQueue.FIRST_ATTEMPT, most=2, now=now)
    elsewhere = {"url": "https://hooks.example.com/elsewhere"}
    changed = services.change(owner=alice, endpoint_id=endpoint.pk, changes=elsewhere, now=now)
    assert (changed.failing_since, changed.failures) == (None, 0)
    delivery.record_results(
        [delivery.AttemptResult(claimed, now, 9.0, Failure.STATUS, 410)], now=now
    )
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.failures, endpoint.slow) == ("enabled", 0, False)
    assert Attempt.objects.get().http_status == 410


def test_a_slow_endpoint_is_demoted_until_it_answers_in_time(alice: User) -> None:
    endpoint_of(alice)
    for _ in range(3):
        emit(alice)
    attempt(204, seconds=4)
    assert Delivery.objects.get(status=DeliveryStatus.WAITING).queue == DeliveryQueue.RETRY
    emit(alice)
    assert claim(DeliveryQueue.FIRST_ATTEMPT) == []
    attempt(204)
    emit(alice)
    assert len(claim(DeliveryQueue.FIRST_ATTEMPT)) == 1


def test_a_sender_that_was_given_up_on_changes_nothing(alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    now = timezone.now()
    (claimed,) = delivery.claim(DeliveryQueue.FIRST_ATTEMPT, most=2, now=now)
    assert delivery.requeue_stalled(now=now + delivery.CLAIM_TIME) == 1
    delivery.record_results([delivery.AttemptResult(claimed, now, 0.1, None, 204)], now=now)
    again = Delivery.objects.get()
    assert (again.status, again.attempts, again.failures) == ("waiting", 1, 0)
    assert Attempt.objects.get().error == "lost"


# Reaper.


@pytest.mark.django_db(transaction=True)
def test_claims_of_a_lost_process_are_sent_by_others_at_once() -> None:
    endpoint_of(make.user())
    emit(Endpoint.objects.get().owner)

    def claim_and_end() -> int:
        assert attempt(None) == 1
        pid: int = connection.connection.info.backend_pid
        connection.close()
        return pid

    with ThreadPoolExecutor(1) as pool:
        pid = pool.submit(claim_and_end).result()
    until(lambda: has_ended(pid))  # its locks are held until then
    assert delivery.reap(now=timezone.now()) == 1
    assert attempt(204) == 1
    tries = Attempt.objects.order_by("number").values_list("number", "error")
    assert list(tries) == [(1, "lost"), (2, "")]


def test_the_reaper_leaves_deliveries_in_progress(alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    attempt(None)
    assert delivery.reap(now=timezone.now()) == 0


def test_a_due_delivery_gets_a_job(alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    attempt(500)
    ProcrastinateJob.objects.all().delete()
    delivery.reap(now=timezone.now())
    assert waiting_jobs() == 0
    delivery.reap(now=timezone.now() + timedelta(seconds=10))
    delivery.reap(now=timezone.now() + timedelta(seconds=10))
    assert waiting_jobs() == 1


def test_waiting_deliveries_of_an_endpoint_enabled_in_the_meantime_are_not_dropped(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint_of(alice)
    emit(alice)
    Endpoint.objects.update(status="disabled", disabled_reason="owner")
    drop = delivery._drop

    def switched_on_first(endpoint: Endpoint) -> int:
        Endpoint.objects.update(status="enabled", disabled_reason="")
        emit(alice)
        return drop(endpoint)

    monkeypatch.setattr(delivery, "_drop", switched_on_first)
    assert delivery.drop_undeliverable() == 0
    assert Delivery.objects.filter(status=DeliveryStatus.WAITING).count() == 2


# Retention.


def test_events_and_deliveries_are_kept_for_thirty_days(alice: User) -> None:
    endpoint_of(alice, status="deleted")
    old, new = endpoint_of(alice), emit(alice, OTHER)
    emit(alice, ALGORITHM_ID)
    for rows in (
        Event.objects.filter(algorithm_id=ALGORITHM_ID),
        Delivery.objects.filter(event__algorithm_id=ALGORITHM_ID),
    ):
        rows.update(created_at=timezone.now() - timedelta(days=31))
    attempt(204)
    assert retention.purge(now=timezone.now()) == 3
    assert Event.objects.get() == new
    assert Delivery.objects.get().event == new
    assert retention.purge(now=timezone.now() + timedelta(days=31)) == 4
    assert Endpoint.objects.get() == old
