"""Notices in a chat: quick, within Telegram's limits, and none lost though senders are killed."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.models import User
from apps.trading.models import Fill
from apps.trading.runs import bar_streams
from apps.webhooks import services, tasks
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.events import outbox
from apps.webhooks.models import Attempt, Delivery, TelegramLink
from apps.webhooks.sending import linking
from tests import make
from tests.faults.workers import working
from tests.processes import until
from tests.trading.live.market_day import session_starts, started
from tests.trading.live.test_effects import LENGTH, Market, always_in
from tests.webhooks.bot_api import TOKEN, Chats, chats

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.django_db(transaction=True),
]

SEED: Final = 20261129
EVENTS, KILLS = 400, 20
ALGORITHMS: Final = 50
CYCLES: Final = 40
TARGET_SECONDS: Final = 3.0
TRADE: Final = EventType.TRADE_EXECUTED


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[Chats]:
    """Yield a stand-in that this process and the senders may call."""
    settings.WEBHOOK_ALLOW_CIDRS, settings.WEBHOOK_ALLOW_HTTP = [ip_network("127.0.0.0/8")], True
    monkeypatch.setenv("WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
    monkeypatch.setenv("WEBHOOK_ALLOW_HTTP", "1")
    with chats() as made:
        settings.TELEGRAM_API_URL = made.api
        monkeypatch.setenv("TELEGRAM_API_URL", made.api)
        yield made


@pytest.fixture
def owner(stand_in: Chats) -> User:
    """Return a user whose fills go to a chat."""
    made = make.user()
    endpoint, _ = services.create(
        owner=made, kind="telegram", token=TOKEN, events=[TRADE], now=timezone.now()
    )
    link = TelegramLink.objects.select_related("endpoint").get(endpoint=endpoint)
    stand_in.say(link.code)
    linking.try_link(link, ask=tasks._ask, now=timezone.now())
    return made


def all_delivered() -> bool:
    """Return whether nothing waits; do not wait for retries."""
    waiting = Delivery.objects.filter(status="waiting", due_at__gt=timezone.now())
    waiting.update(due_at=timezone.now(), failures=1)
    return not Delivery.objects.exclude(status="delivered").exists()


def another_message(stand_in: Chats) -> Callable[[], bool]:
    """Return whether a message has come since this call."""
    taken = len(stand_in.taken)
    return lambda: len(stand_in.taken) > taken


def require_limits(stand_in: Chats) -> None:
    """Require at least a second between two messages in the chat."""
    times = [message.at for message in stand_in.taken]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    print(f"{len(times)} messages, at least {min(gaps):.2f} s apart")
    assert min(gaps) >= 1.0
    assert not stand_in.refused


def test_nothing_is_lost_and_repetitions_say_so(
    owner: User, stand_in: Chats, tmp_path: Path
) -> None:
    rng = random.Random(SEED)
    stand_in.delay = lambda: rng.uniform(0, 0.3)
    names = [f"Algorithm-{number:03d}" for number in range(EVENTS)]
    with working(1, tmp_path, "webhooks") as [worker]:
        for first in range(0, EVENTS, EVENTS // KILLS):
            has_come = another_message(stand_in)
            _emit(owner, names[first : first + EVENTS // KILLS])
            # In the middle of a message more often than not: the stand-in takes its time.
            until(has_come, seconds=60, every=0.005)
            time.sleep(rng.uniform(0, 0.1))
            worker.kill()
            worker.start()
        until(all_delivered, seconds=120, every=0.2)
    lost = Attempt.objects.filter(error="lost").count()
    marked = [text for text in stand_in.texts if text.startswith("Sent again")]
    plain = "\n".join(text for text in stand_in.texts if not text.startswith("Sent again"))
    whole = "\n".join(stand_in.texts)
    print(
        f"\n{EVENTS} events, {KILLS} senders killed: {lost} attempts lost, {len(marked)} repeated"
    )
    assert [name for name in names if name not in whole] == []
    assert {plain.count(f"{name} bought") for name in names} <= {0, 1}
    assert lost > 0


def _emit(owner: User, names: Sequence[str]) -> None:
    example = EVENT_SCHEMAS[TRADE].example
    payloads = [
        outbox.EventPayload(TRADE, owner.pk, f"{number:024x}", {**example, "algorithmName": name})
        for number, name in enumerate(names)
    ]
    outbox.write_events(payloads, now=timezone.now())


def _cycling(**changes: Any) -> dict[str, Any]:
    """Return steps that buy above 100 and leave at a stop of 2 percent."""
    risk = {"maxPositionSize": 500_000, "maxDailyLoss": 10**6, "maxOpenPositions": 1}
    stop = {"stopLoss": {"type": "percentage", "percentage": 2}}
    return always_in() | {"riskParameters": risk, "exitConditions": stop} | changes


def test_fifty_algorithms_that_fire_at_once_keep_the_limits(
    owner: User, stand_in: Chats, tmp_path: Path
) -> None:
    market = Market([101, 101, 101])
    for _ in range(ALGORITHMS):
        started(owner, _cycling())
    with working(1, tmp_path, "webhooks"):
        until(all_delivered, seconds=60, every=0.1)
        begun = time.time()
        market.go(2)
        until(lambda: Fill.objects.count() == ALGORITHMS and all_delivered(), seconds=60)
    whole = "\n".join(stand_in.texts)
    print(f"\n{ALGORITHMS} fills told after {stand_in.taken[-1].at - begun:.1f} s")
    assert whole.count(" bought 100 RELIANCE") == ALGORITHMS
    require_limits(stand_in)


def test_a_fill_is_in_the_chat_within_three_seconds(
    owner: User, stand_in: Chats, tmp_path: Path
) -> None:
    """From the moment at which the bar comes, the runner's work included."""
    closes = [101, 101, 95] * CYCLES
    market = Market(closes[:1])
    market.times = session_starts(len(closes) // 25 + 1, LENGTH)[: len(closes)]
    market.store(market.times, closes)
    started(owner, _cycling())
    bar_streams.assign_runs(now=make.NOW)
    waits, rng = [], random.Random(SEED)
    with working(1, tmp_path, "webhooks"):
        until(all_delivered, seconds=60, every=0.1)
        for _ in closes:
            before, has_come = Fill.objects.count(), another_message(stand_in)
            begun = time.time()
            market.go()
            if Fill.objects.count() > before:
                until(has_come, seconds=30, every=0.01)
                waits.append(stand_in.taken[-1].at - begun)
                time.sleep(rng.uniform(0, 2))
        until(all_delivered, seconds=30, every=0.1)
    p95 = quantiles(waits, n=20)[-1]
    print(f"\n{len(waits)} bars with fills: median {median(waits):.2f} s, p95 {p95:.2f} s")
    assert len(waits) >= CYCLES
    assert p95 < TARGET_SECONDS
    require_limits(stand_in)
