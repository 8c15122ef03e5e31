"""Senders and receivers fail in every way, and each event arrives."""

import random
import socket
import struct
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_network
from pathlib import Path
from queue import SimpleQueue
from threading import Event as Flag
from typing import Final

import orjson
import pytest
from django.db import DatabaseError, connection
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.models import User
from apps.algorithms.models import Algorithm, StatusChange
from apps.trading import services as trading
from apps.webhooks import services
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.events import outbox
from apps.webhooks.lifecycle import DeliveryQueue, DeliveryStatus
from apps.webhooks.models import Attempt, Delivery, Event
from apps.webhooks.sending import delivery, dispatch
from apps.webhooks.sending.http import SendResult
from apps.webhooks.sending.kinds import Message
from tests import make
from tests.backtests.workers import never
from tests.faults.workers import working
from tests.processes import until
from tests.trading.algorithm_states import algorithm_in
from tests.webhooks.counting_receiver import Answer as ReceiverAnswer
from tests.webhooks.counting_receiver import Counted, counting, well
from tests.webhooks.events import endpoint_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.django_db(transaction=True),
]

SEED: Final = 20261121
# With 5,000 events it takes two busy cores twelve minutes.
EVENTS, ALGORITHMS, ENDPOINTS, KILLS = 1_500, 20, 3, 20
# A hang costs a sender 15 seconds, so only this many failures are hangs.
HANGS: Final = 20
CUTS: Final = 200


@pytest.fixture(autouse=True)
def on_this_machine(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Allow webhooks to this machine, for the sender processes too."""
    settings.WEBHOOK_ALLOW_CIDRS, settings.WEBHOOK_ALLOW_HTTP = [ip_network("127.0.0.0/8")], True
    monkeypatch.setenv("WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
    monkeypatch.setenv("WEBHOOK_ALLOW_HTTP", "1")


class Failing:
    """Fails three in ten requests: by a 500, a reset, half a head, sometimes a hang."""

    def __init__(self) -> None:
        self.dice = random.Random(SEED)
        self.hangs = HANGS
        self.over = Flag()

    def __call__(self) -> ReceiverAnswer:
        if self.dice.random() > 0.3:
            return well
        kinds = [self.error, self.reset, self.half]
        if self.hangs and self.dice.random() < 0.02:
            self.hangs -= 1
            return self.hang
        return self.dice.choice(kinds)

    def error(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(500)
        handler.end_headers()

    def reset(self, handler: BaseHTTPRequestHandler) -> None:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()

    def half(self, handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        self.over.wait(60)


def test_every_event_arrives_though_receivers_fail_and_senders_are_killed(tmp_path: Path) -> None:
    owner, failing, rng = make.user(), Failing(), random.Random(SEED)
    begun = time.monotonic()
    with ExitStack() as stack:
        receivers = [stack.enter_context(counting(failing)) for _ in range(ENDPOINTS)]
        stack.callback(failing.over.set)
        for receiver in receivers:
            receiver.secret = _register(owner, receiver.url)
        workers = stack.enter_context(working(2, tmp_path, "webhooks"))
        moments = sorted(rng.sample(range(EVENTS * ENDPOINTS), KILLS))
        emitted = _emit(owner)
        for moment in moments:
            until(lambda moment=moment: _settled() >= moment, seconds=300, every=0.2)  # type: ignore[misc]  # mypy infers no lambda with a default
            victim = rng.choice(workers)
            victim.kill()
            victim.start()
        until(lambda: _settled() == EVENTS * ENDPOINTS, seconds=600, every=0.2)
    arrived = [arrival for receiver in receivers for arrival in receiver.good]
    lost = Attempt.objects.filter(error="lost").count()
    print(f"\n{EVENTS} events to {ENDPOINTS} endpoints in {time.monotonic() - begun:.0f} s:")
    bad = sum(receiver.bad for receiver in receivers)
    print(f"{len(arrived)} good answers, {bad} bad ones, {lost} lost")
    assert set(Delivery.objects.values_list("status", flat=True)) == {DeliveryStatus.DELIVERED}
    for receiver in receivers:
        assert {arrival.id for arrival in receiver.good} == emitted
        _require_signed_and_complete(receiver)
    assert len(arrived) - EVENTS * ENDPOINTS <= lost + Attempt.objects.exclude(error="").count()


def _register(owner: User, url: str) -> str:
    _, secret = services.create(
        owner=owner, url=url, events=[EventType.ALGORITHM_STARTED], now=timezone.now()
    )
    assert secret is not None
    return secret


def _emit(owner: User) -> set[str]:
    shown = EVENT_SCHEMAS[EventType.ALGORITHM_STARTED].example
    ids = [f"{number:024x}" for number in range(ALGORITHMS)]
    payloads = [
        outbox.EventPayload(EventType.ALGORITHM_STARTED, owner.pk, ids[number % ALGORITHMS], shown)
        for number in range(EVENTS)
    ]
    written = [
        event
        for start in range(0, EVENTS, 100)
        for event in outbox.write_events(payloads[start : start + 100], now=timezone.now())
    ]
    return {event.pk for event in written}


def _settled() -> int:
    """Return the number of arrived events; shorten the waits of failed ones."""
    waiting = Delivery.objects.filter(status=DeliveryStatus.WAITING, due_at__gt=timezone.now())
    waiting.update(due_at=timezone.now(), failures=1)
    return Delivery.objects.filter(status=DeliveryStatus.DELIVERED).count()


def _require_signed_and_complete(receiver: Counted) -> None:
    bodies = defaultdict(set)
    places: dict[str, set[int]] = defaultdict(set)
    algorithm_of = dict(Event.objects.values_list("pk", "algorithm_id"))
    for arrival in receiver.good:
        payload = orjson.loads(arrival.body)
        bodies[arrival.id].add(arrival.body)
        places[algorithm_of[arrival.id]].add(payload["sequence"])
        assert arrival.is_signed
    assert {len(contents) for contents in bodies.values()} == {1}
    assert list(places.values()) == [set(range(1, EVENTS // ALGORITHMS + 1))] * ALGORITHMS


def test_events_match_the_changes_though_connections_are_cut() -> None:
    """Connections are cut before, in and after the transaction of a change, and between a claim and
    its send.
    """
    owner, rng = make.user(), random.Random(SEED)
    endpoint_of(owner)
    algorithms = [algorithm_in(owner, "stopped") for _ in range(4)]
    before = {
        algorithm.pk: StatusChange.objects.filter(algorithm=algorithm).count()
        for algorithm in algorithms
    }
    with ThreadPoolExecutor(1) as pool:
        backends: SimpleQueue[int] = SimpleQueue()
        begun = time.monotonic()
        for algorithm in algorithms:
            pool.submit(_start_or_stop, algorithm, backends).result()
            backends.get()
        usual = (time.monotonic() - begun) / len(algorithms)
        for _ in range(CUTS):
            done = pool.submit(_start_or_stop, rng.choice(algorithms), backends)
            _cut(backends.get(), after=rng.uniform(0.0, 1.5 * usual))
            done.result()
            pool.submit(_claim_and_end).result()
    changed = 0
    for algorithm in algorithms:
        changes = StatusChange.objects.filter(algorithm=algorithm).order_by("id")[
            before[algorithm.pk] :
        ]
        events = Event.objects.filter(algorithm_id=algorithm.pk).order_by("sequence")
        assert [event.sequence for event in events] == list(range(1, len(changes) + 1))
        assert [event.data["status"] for event in events] == [change.after for change in changes]
        changed += len(changes)
    sent: list[str] = []

    def send(message: Message) -> SendResult:
        sent.append(message.headers["webhook-id"])
        return SendResult(204, None, 0.01, None)

    dispatch.Dispatcher(send=send, clock=timezone.now).run(stopping=never)
    assert sorted(sent) == sorted(Event.objects.values_list("pk", flat=True))
    lost = Attempt.objects.filter(error="lost").count()
    print(f"\n{CUTS} connections cut: {changed} changes were made, and told; {lost} claims lost")
    assert len(algorithms) < changed < CUTS


def _start_or_stop(algorithm: Algorithm, backends: "SimpleQueue[int]") -> None:
    with suppress(DatabaseError):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backends.put(cursor.fetchone()[0])
        arguments = {"owner": algorithm.owner, "algorithm_id": algorithm.pk, "now": timezone.now()}
        if Algorithm.objects.get(pk=algorithm.pk).status == "active":
            trading.stop(**arguments, close_positions=True)
        else:
            trading.start(**arguments)
    connection.close()


def _cut(backend: int, *, after: float) -> None:
    time.sleep(after)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend])


def _claim_and_end() -> None:
    delivery.requeue_stalled(now=timezone.now())
    delivery.claim(DeliveryQueue.FIRST_ATTEMPT, most=2, now=timezone.now())
    connection.close()
