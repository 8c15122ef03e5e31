"""The cost of an event for its cause, and the time to its arrival."""

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_network
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.models import User
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.events import outbox
from apps.webhooks.events.outbox import EventPayload
from apps.webhooks.lifecycle import DeliveryStatus
from apps.webhooks.models import Delivery, Event
from tests import make
from tests.benchmarks.side_by_side import MEASURED, Row
from tests.faults.workers import working
from tests.processes import until
from tests.webhooks.counting_receiver import Counted, counting
from tests.webhooks.events import endpoint_of

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(900),
    pytest.mark.django_db(transaction=True),
]

ROUNDS: Final = 300
HANGING, HEALTHY, OF_A_USER, ROUNDS_HANGING = 100, 20, 20, 40
RATE, SECONDS, ENDPOINTS = 1_000, 10, 20


@pytest.fixture(autouse=True)
def on_this_machine(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Allow webhooks to this machine, for the sender processes too."""
    settings.WEBHOOK_ALLOW_CIDRS, settings.WEBHOOK_ALLOW_HTTP = [ip_network("127.0.0.0/8")], True
    monkeypatch.setenv("WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
    monkeypatch.setenv("WEBHOOK_ALLOW_HTTP", "1")


def payload(owner: User, number: int = 0) -> EventPayload:
    example = EVENT_SCHEMAS[EventType.ALGORITHM_STARTED].example
    return EventPayload(EventType.ALGORITHM_STARTED, owner.pk, f"{number:024x}", example)


def test_the_cost_of_an_event_in_a_request() -> None:
    """The ways take turns; each is a separate transaction, as for a request."""
    alone, with_three = make.user("alone"), make.user("three")
    for _ in range(3):
        endpoint_of(with_three)
    ways: dict[str, Callable[[], object]] = {
        "noted": lambda: outbox.insert([payload(alone)], now=timezone.now()),
        "told to none": lambda: outbox.write_events([payload(alone)], now=timezone.now()),
        "told to three": lambda: outbox.write_events([payload(with_three)], now=timezone.now()),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begun = time.perf_counter()
            with transaction.atomic():
                way()
            taken[name].append(time.perf_counter() - begun)
    noted, none, three = (1000 * statistics.median(taken[name]) for name in ways)
    row = Row(
        "an event in its transaction: what webhooks add, none and three of them",
        f"{none - noted:.2f} ms and {three - noted:.2f} ms",
        f"{noted:.2f} ms without",
    )
    MEASURED.append(row)
    print(f"\n{row.name}: {row.first}; {row.other}")


class Hanging:
    """Receivers that take a request and never answer."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def __call__(self) -> Callable[[BaseHTTPRequestHandler], None]:
        def wait(_: BaseHTTPRequestHandler) -> None:
            self.over.wait(60)

        return wait


def test_the_delay_of_other_deliveries_while_a_hundred_hang(tmp_path: Path) -> None:
    """There is one sender; every endpoint, good or not, gets an event a second."""
    hanging = Hanging()
    with ExitStack() as stack:
        bad = stack.enter_context(counting(hanging))
        stack.callback(hanging.over.set)
        good = stack.enter_context(counting())
        owners = [*_owners(HANGING, bad, "bad"), *_owners(HEALTHY, good, "good")]
        stack.enter_context(working(1, tmp_path, "webhooks"))
        _await_senders(owners[-1], good, OF_A_USER)
        for _ in range(ROUNDS_HANGING):
            for owner in owners:
                outbox.write_events([payload(owner)], now=timezone.now())
            time.sleep(1.0)
        until(lambda: len(good.good) >= ROUNDS_HANGING * HEALTHY, seconds=60)
    emitted = dict(Event.objects.values_list("pk", "created_at"))
    waited = [delivery.at - emitted[delivery.id].timestamp() for delivery in good.good]
    middle, late = np.percentile(waited, (50, 95))
    row = Row(
        f"first attempts to {HEALTHY} webhooks while {HANGING} hang, one sender",
        f"half within {middle:.2f} s, 95 % within {late:.2f} s",
    )
    MEASURED.append(row)
    print(f"\n{row.name}: {row.first}; {max(waited):.2f} s at most")


def _owners(count: int, receiver: Counted, name: str) -> Iterator[User]:
    for number in range(count // OF_A_USER):
        owner = make.user(f"{name}{number}")
        for _ in range(OF_A_USER):
            endpoint_of(owner, url=receiver.url)
        yield owner


def _await_senders(owner: User, receiver: Counted, webhooks: int) -> None:
    """Wait until a first event has arrived, and forget it."""
    outbox.write_events([payload(owner)], now=timezone.now())
    until(lambda: len(receiver.good) == webhooks)
    receiver.good.clear()


def test_how_soon_a_burst_has_arrived(tmp_path: Path) -> None:
    """A thousand events a second for ten seconds, of twenty users, on two senders."""
    with ExitStack() as stack:
        receiver = stack.enter_context(counting())
        owners = [make.user(f"user{number}") for number in range(ENDPOINTS)]
        for owner in owners:
            endpoint_of(owner, url=receiver.url)
        stack.enter_context(working(2, tmp_path, "webhooks"))
        _await_senders(owners[0], receiver, 1)
        before, begun = Event.objects.count(), time.monotonic()
        for tenth in range(SECONDS * 10):
            payloads = [payload(owners[n % ENDPOINTS], n % ENDPOINTS) for n in range(RATE // 10)]
            outbox.write_events(payloads, now=timezone.now())
            time.sleep(max(0.0, begun + (tenth + 1) / 10 - time.monotonic()))
        emitting = time.monotonic() - begun
        assert Event.objects.count() - before == RATE * SECONDS
        until(
            lambda: not Delivery.objects.exclude(status=DeliveryStatus.DELIVERED).exists(),
            seconds=300,
            every=0.2,
        )
        drained = time.monotonic() - begun
    row = Row(
        f"{RATE * SECONDS:,} events in {emitting:.0f} s to {ENDPOINTS} webhooks, two senders",
        f"all have arrived {drained - emitting:.0f} s after the last",
    )
    MEASURED.append(row)
    print(f"\n{row.name}: {row.first}")
