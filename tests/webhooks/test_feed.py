"""Positions of events: in the order of commits, each given once, with any readers and writers."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event as Signal

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.events import feed, outbox
from apps.webhooks.models import Event
from tests import make
from tests.webhooks.events import emit

EARLY, LATE = "1" * 24, "2" * 24


def positions(owner: User, after: int = 0) -> list[tuple[int | None, str]]:
    events = feed.events_after(owner.pk, after, most=100)
    return [(event.position, event.algorithm_id) for event in events]


@pytest.mark.django_db(transaction=True)
def test_an_event_that_commits_later_comes_later() -> None:
    """The later event was written first, and a reader has already passed the other one."""
    owner = make.user()
    is_written, may_commit = Signal(), Signal()

    def write_early() -> None:
        try:
            with transaction.atomic():
                emit(owner, EARLY)
                is_written.set()
                assert may_commit.wait(10)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(write_early)
        assert is_written.wait(10)
        emit(owner, LATE)
        assert positions(owner) == [(1, LATE)]
        may_commit.set()
        early.result(10)
    assert positions(owner, after=1) == [(2, EARLY)]
    assert positions(owner) == [(1, LATE), (2, EARLY)]


@pytest.mark.django_db(transaction=True)
def test_readers_among_writers_miss_and_repeat_nothing() -> None:
    owner = make.user()
    everything_is_written = Signal()

    def write(n: int) -> None:
        try:
            with transaction.atomic():
                emit(owner, str(n % 3) * 24)
                transaction.set_rollback(n % 5 == 0)
        finally:
            connection.close()

    def read() -> list[str]:
        ids: list[str] = []
        position = 0
        try:
            while True:
                is_last = everything_is_written.is_set()
                for event in feed.events_after(owner.pk, position, most=3):
                    assert event.position == position + 1
                    position += 1
                    ids.append(event.pk)
                if is_last and position == Event.objects.count():
                    return ids
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as readers, ThreadPoolExecutor(4) as writers:
        reading = [readers.submit(read) for _ in range(3)]
        list(writers.map(write, range(40)))
        everything_is_written.set()
        first, *further = [reader.result(20) for reader in reading]
    assert len(first) == 32
    assert further == [first, first]


def test_events_of_one_algorithm_keep_their_order_under_any_clocks(alice: User) -> None:
    for minutes in (5, 0, 3):
        outbox.write_event(
            EventType.ALGORITHM_STARTED,
            owner_id=alice.pk,
            algorithm_id=EARLY,
            data=EVENT_SCHEMAS[EventType.ALGORITHM_STARTED].example,
            now=make.NOW + timedelta(minutes=minutes),
        )
    events = feed.events_after(alice.pk, 0, most=10)
    assert [event.sequence for event in events] == [1, 2, 3]


def test_positions_continue_when_old_events_are_gone(alice: User) -> None:
    emit(alice)
    assert feed.last_position(alice.pk) == 1
    Event.objects.all().delete()
    emit(alice)
    assert positions(alice, after=1) == [(2, EARLY)]


def test_each_user_has_a_separate_count(alice: User, bob: User) -> None:
    emit(alice, EARLY)
    emit(bob, LATE)
    assert positions(alice) == [(1, EARLY)]
    assert positions(bob) == [(1, LATE)]
    assert feed.last_position(make.user("carol").pk) == 0
