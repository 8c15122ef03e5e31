"""/api/webhooks"""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.core.database import encryption
from apps.core.errors import ServiceError
from apps.core.models import IdempotencyKey
from apps.core.times import wire_time
from apps.webhooks import tasks
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import DeliveryStatus
from apps.webhooks.models import Delivery, EmailNotices, Endpoint
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.webhooks.events import attempt, emit, endpoint_of
from tests.webhooks.webhook_urls import BY_HOST, BY_SPELLING

PATH = "/api/webhooks"
GOOD = {
    "url": "https://hooks.example.com/a",
    "events": ["algorithm.error", "algorithm.started"],
    "description": "Pager",
}


# Endpoints.


def test_the_secret_is_shown_once_and_stored_encrypted(api: Api, alice: User) -> None:
    client = api(alice)
    made = client.post(PATH, GOOD)
    assert made.status_code == 201
    body = made.json()
    secret = body.pop("secret")
    assert secret.startswith("whsec_")
    assert body == {
        "id": body["id"],
        "kind": "webhook",
        "url": GOOD["url"],
        "events": ["algorithm.started", "algorithm.error"],
        "description": "Pager",
        "quietHours": None,
        "digest": "off",
        "link": None,
        "status": "enabled",
        "disabledReason": None,
        "failingSince": None,
        "createdAt": body["createdAt"],
    }
    assert client.get(f"{PATH}/{body['id']}").json() == body
    assert client.get(PATH).json()["data"] == [body]
    stored = bytes(Endpoint.objects.get().secret)
    assert secret.encode() not in stored
    assert encryption.decrypt(stored).decode() == secret


def test_a_repeated_request_returns_the_secret_again_and_stores_it_encrypted(
    api: Api, alice: User
) -> None:
    client = api(alice)
    answers = [client.post(PATH, GOOD, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert Endpoint.objects.count() == 1
    assert b"whsec_" not in bytes(IdempotencyKey.objects.get().body or b"")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"url": 7}, "url"),
    ({"url": ""}, "url"),
    ({"events": []}, "events"),
    ({"events": ["algorithm.resumed"]}, "events[0]"),
    ({"events": ["algorithm.error", "algorithm.error"]}, "events[1]"),
    ({"events": "algorithm.error"}, "events"),
    ({"events": [["algorithm.error"]]}, "events[0]"),
    ({"events": [{}, 7]}, "events[0]"),
    ({"description": "x" * 201}, "description"),
    ({"description": "a\0b"}, "description"),
    ({"secret": "whsec_mine"}, "secret"),
]


def test_a_wrong_webhook_is_refused_with_the_field(api: Api, alice: User) -> None:
    client = api(alice)
    endpoint = endpoint_of(alice)
    for changed, field in WRONG:
        for answer in (
            client.post(PATH, GOOD | changed),
            client.patch(f"{PATH}/{endpoint.pk}", changed),
        ):
            assert_error(answer, 400, "VALIDATION_ERROR", field=field)
    assert Endpoint.objects.count() == 1


def test_an_address_that_must_not_be_called_is_refused(api: Api, alice: User) -> None:
    client = api(alice)
    endpoint = endpoint_of(alice)
    for url in (*BY_SPELLING, *BY_HOST):
        answer = client.post(PATH, GOOD | {"url": url})
        assert_error(answer, 400, "VALIDATION_ERROR", field="url")
    answer = client.patch(f"{PATH}/{endpoint.pk}", {"url": BY_HOST[0]})
    assert_error(answer, 400, "VALIDATION_ERROR", field="url")
    assert Endpoint.objects.count() == 1


def test_named_fields_change_and_the_others_stay(api: Api, alice: User) -> None:
    endpoint = endpoint_of(alice)
    body = api(alice).patch(f"{PATH}/{endpoint.pk}", {"events": ["trade.executed"]}).json()
    assert (body["events"], body["url"]) == (["trade.executed"], endpoint.url)


def test_a_disabled_endpoint_gives_the_reason_and_can_be_enabled(api: Api, alice: User) -> None:
    client = api(alice)
    endpoint = endpoint_of(alice, failures=7, failing_since=make.NOW)
    off = client.patch(f"{PATH}/{endpoint.pk}", {"status": "disabled"}).json()
    assert (off["status"], off["disabledReason"]) == ("disabled", "owner")
    on = client.patch(f"{PATH}/{endpoint.pk}", {"status": "enabled"}).json()
    assert (on["status"], on["disabledReason"], on["failingSince"]) == ("enabled", None, None)


def test_a_deleted_webhook_is_gone_with_its_secrets(api: Api, alice: User) -> None:
    client = api(alice)
    endpoint = endpoint_of(alice)
    assert client.delete(f"{PATH}/{endpoint.pk}").status_code == 204
    for path in (f"{PATH}/{endpoint.pk}", f"{PATH}/{endpoint.pk}/deliveries"):
        assert_error(client.get(path), 404, "NOT_FOUND")
    assert_error(client.delete(f"{PATH}/{endpoint.pk}"), 404, "NOT_FOUND")
    emit(alice)
    assert not Delivery.objects.exists()
    endpoint.refresh_from_db()
    assert bytes(endpoint.secret) == b""


def test_a_rotated_secret_signs_beside_the_old_one_for_a_day(api: Api, alice: User) -> None:
    endpoint = endpoint_of(alice)
    before = bytes(endpoint.secret)
    body = api(alice).post(f"{PATH}/{endpoint.pk}/rotate-secret").json()
    endpoint.refresh_from_db()
    assert encryption.decrypt(bytes(endpoint.secret)).decode() == body["secret"]
    assert endpoint.secrets(now=timezone.now()) == (bytes(endpoint.secret), before)
    assert endpoint.secrets(now=timezone.now() + timedelta(hours=24)) == (bytes(endpoint.secret),)


@pytest.mark.django_db(transaction=True)
def test_fifty_are_the_most_however_many_ask_at_once() -> None:
    owner = make.user()
    for _ in range(50 - 2):
        endpoint_of(owner)

    def ask(number: int) -> bool:
        try:
            endpoint_of(owner)
        except ServiceError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(ask, range(6))) == 2
    assert Endpoint.objects.count() == 50


# Deliveries.


def test_a_delivery_shows_each_attempt(api: Api, alice: User) -> None:
    endpoint = endpoint_of(alice)
    emit(alice)
    attempt(503)
    (shown,) = api(alice).get(f"{PATH}/{endpoint.pk}/deliveries").json()["data"]
    assert shown.pop("webhookId") == endpoint.pk
    delivery = Delivery.objects.get()
    assert shown == {
        "id": delivery.pk,
        "eventId": delivery.event_id,
        "type": "algorithm.started",
        "sequence": 1,
        "status": "waiting",
        "createdAt": shown["createdAt"],
        "nextAttemptAt": wire_time(delivery.due_at),
        "attempts": [
            {
                "number": 1,
                "at": shown["attempts"][0]["at"],
                "httpStatus": 503,
                "latency": 20,
                "error": "status",
            }
        ],
    }


def test_deliveries_of_one_second_are_listed_newest_first(api: Api, alice: User) -> None:
    endpoint = endpoint_of(alice)
    for _ in range(5):
        emit(alice)
    listed = api(alice).get(f"{PATH}/{endpoint.pk}/deliveries").json()["data"]
    assert [row["sequence"] for row in listed] == [5, 4, 3, 2, 1]


def test_deliveries_are_filtered_by_status_and_type(api: Api, alice: User) -> None:
    endpoint = endpoint_of(alice)
    emit(alice)
    emit(alice, type=EventType.ALGORITHM_STOPPED)
    client = api(alice)

    def total_of(**query: str) -> int:
        total: int = client.get(f"{PATH}/{endpoint.pk}/deliveries", query).json()["pagination"][
            "total"
        ]
        return total

    assert (total_of(), total_of(status="waiting"), total_of(status="failed")) == (2, 2, 0)
    assert total_of(type="algorithm.stopped") == 1
    wrong = client.get(f"{PATH}/{endpoint.pk}/deliveries", {"status": "lost"})
    assert_error(wrong, 400, "VALIDATION_ERROR", field="status")


def test_a_test_event_is_sent_only_to_that_webhook(api: Api, alice: User) -> None:
    endpoint = endpoint_of(alice, events=[EventType.TRADE_EXECUTED])
    endpoint_of(alice)
    answer = api(alice).post(f"{PATH}/{endpoint.pk}/test")
    assert answer.status_code == 201
    assert (answer.json()["type"], answer.json()["status"]) == ("webhook.test", "waiting")
    assert Delivery.objects.get().endpoint == endpoint


def test_a_delivery_is_sent_again_with_all_its_attempts(api: Api, alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    attempt(204)
    delivery = Delivery.objects.get()
    answer = api(alice).post(f"{PATH}/deliveries/{delivery.pk}/redeliver")
    assert answer.status_code == 200
    assert answer.json()["status"] == "waiting"
    attempt(500)
    delivery.refresh_from_db()
    assert (delivery.status, delivery.attempts, delivery.failures) == ("waiting", 2, 1)


def test_a_delivery_in_progress_is_not_sent_again(api: Api, alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    attempt(None)
    delivery = Delivery.objects.get()
    answer = api(alice).post(f"{PATH}/deliveries/{delivery.pk}/redeliver")
    assert_error(answer, 409, "CONFLICT")


@pytest.mark.parametrize("call", ["test", "recover", "redeliver"])
def test_a_disabled_webhook_receives_nothing(api: Api, alice: User, call: str) -> None:
    endpoint = endpoint_of(alice)
    emit(alice)
    client = api(alice)
    client.patch(f"{PATH}/{endpoint.pk}", {"status": "disabled"})
    known = f"deliveries/{Delivery.objects.get().pk}" if call == "redeliver" else endpoint.pk
    body = {"since": wire_time(timezone.now())} if call == "recover" else {}
    answer = client.post(f"{PATH}/{known}/{call}", body)
    assert_error(answer, 409, "CONFLICT", status="disabled", disabledReason="owner")


def test_failed_and_missed_events_are_recovered(api: Api, alice: User) -> None:
    endpoint = endpoint_of(alice)
    client = api(alice)
    emit(alice)
    attempt(410)
    emit(alice)
    emit(alice, type=EventType.TRADE_EXECUTED)
    client.patch(f"{PATH}/{endpoint.pk}", {"status": "enabled"})
    since = {"since": wire_time(timezone.now() - timedelta(hours=1))}
    assert client.post(f"{PATH}/{endpoint.pk}/recover", since).json() == {
        "queued": 2,
        "more": False,
    }
    assert list(Delivery.objects.values_list("status", flat=True)) == [DeliveryStatus.WAITING] * 2
    assert client.post(f"{PATH}/{endpoint.pk}/recover", since).json() == {
        "queued": 0,
        "more": False,
    }


def test_recovery_refuses_a_future_time_and_skips_old_events(api: Api, alice: User) -> None:
    endpoint = endpoint_of(alice)
    emit(alice)
    attempt(410)
    Delivery.objects.update(created_at=timezone.now() - timedelta(days=15))
    Endpoint.objects.update(status="enabled", disabled_reason="", created_at=timezone.now())
    client = api(alice)
    future = {"since": wire_time(timezone.now() + timedelta(minutes=1))}
    answer = client.post(f"{PATH}/{endpoint.pk}/recover", future)
    assert_error(answer, 400, "VALIDATION_ERROR", field="since")
    past = {"since": "2026-01-01T00:00:00Z"}
    assert client.post(f"{PATH}/{endpoint.pk}/recover", past).json() == {"queued": 0, "more": False}


# Notices.


def verify(user: User) -> None:
    User.objects.filter(pk=user.pk).update(email_verified=True)


def test_an_unverified_address_receives_no_mail(alice: User) -> None:
    EmailNotices.objects.create(owner=alice, events=["algorithm.started"])
    tasks.mail(emit(alice).pk)
    assert not mail.outbox


def test_mail_is_sent_on_request(api: Api, alice: User) -> None:
    verify(alice)
    client = api(alice)
    assert client.get(f"{PATH}/email").json() == {"address": alice.email, "events": []}
    body = {"events": ["algorithm.started"]}
    assert client.put(f"{PATH}/email", body).json()["events"] == ["algorithm.started"]
    event = emit(alice)
    tasks.mail(event.pk)
    (sent,) = mail.outbox
    assert sent.to == [alice.email]
    assert sent.subject == f"{event.data['algorithmName']} started."
    assert sent.body.startswith(f"{sent.subject}\n\n")


def test_at_most_fifty_notices_are_mailed_to_one_user_in_a_day(alice: User) -> None:
    verify(alice)
    event = emit(alice)
    EmailNotices.objects.create(owner=alice, events=["algorithm.started"])
    for _ in range(51):
        tasks.mail(event.pk)
    assert len(mail.outbox) == 50
