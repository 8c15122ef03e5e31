"""A dispatch of deliveries."""

import threading

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from apps.accounts.models import User
from apps.core.database import encryption
from apps.webhooks import services
from apps.webhooks.lifecycle import Failure
from apps.webhooks.models import Attempt, Delivery, Endpoint
from apps.webhooks.sending import dispatch
from apps.webhooks.sending.http import SendResult
from apps.webhooks.sending.kinds import Message
from tests import make
from tests.backtests.workers import never
from tests.webhooks.events import emit, endpoint_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "LINGER_SECONDS", 0.0)
    monkeypatch.setattr(dispatch, "POLL_SECONDS", 0.01)


@pytest.fixture
def alice() -> User:
    return make.user("alice")


def run(send: dispatch.SendAttempt) -> int:
    return dispatch.Dispatcher(send=send, clock=timezone.now).run(stopping=never)


def test_both_secrets_verify_a_delivery_during_a_rotation(alice: User) -> None:
    endpoint = endpoint_of(alice)
    old = encryption.decrypt(bytes(endpoint.secret)).decode()
    _, new = services.rotate_secret(owner=alice, endpoint_id=endpoint.pk, now=timezone.now())
    event = emit(alice)
    sent: list[Message] = []

    def send(message: Message) -> SendResult:
        sent.append(message)
        return SendResult(204, None, 0.01, None)

    assert run(send) == 1
    (message,) = sent
    assert (message.url, message.headers["webhook-id"]) == (endpoint.url, event.pk)
    for secret in (old, new):
        payload = Webhook(secret).verify(message.body, dict(message.headers))
        assert payload["data"] == event.data
    assert Delivery.objects.get().status == "delivered"


def test_a_hanging_delivery_delays_no_other(alice: User) -> None:
    hangs = endpoint_of(alice, url="https://hangs.example.com/")
    endpoint_of(alice, url="https://quick.example.com/")
    for _ in range(5):
        emit(alice)
    others_are_done = threading.Event()
    quick: list[str] = []

    def send(message: Message) -> SendResult:
        if message.url == hangs.url:
            return (
                SendResult(None, Failure.TIMEOUT, 15.0, None)
                if others_are_done.wait(10)
                else broken
            )
        quick.append(message.url)
        if len(quick) == 5:
            others_are_done.set()
        return SendResult(204, None, 0.01, None)

    broken = SendResult(None, Failure.BAD_ANSWER, 0.0, None)
    assert run(send) == 10
    assert set(Attempt.objects.values_list("error", flat=True)) == {"", "timeout"}
    assert Endpoint.objects.get(slow=True) == hangs


def test_an_exception_of_the_sender_is_a_failed_attempt(
    alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint_of(alice)
    emit(alice)

    def send(message: Message) -> SendResult:
        raise RuntimeError("a mistake of ours")

    assert run(send) == 1
    assert Attempt.objects.get().error == "internal"
    assert "the sender failed" in caplog.text


def test_an_unreadable_secret_is_reported(alice: User) -> None:
    endpoint_of(alice, secret=b"encrypted by another")
    emit(alice)

    def send(message: Message) -> SendResult:
        raise AssertionError("nothing is sent unsigned")

    assert run(send) == 1
    assert Attempt.objects.get().error == "unreadable_secret"


def test_a_stopping_worker_begins_nothing(alice: User) -> None:
    endpoint_of(alice)
    emit(alice)

    def send(message: Message) -> SendResult:
        raise AssertionError("it stops")

    assert dispatch.Dispatcher(send=send, clock=timezone.now).run(stopping=lambda: True) == 0
