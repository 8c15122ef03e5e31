"""Events: numbered for each algorithm without gaps, committed with the change they report."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, connection, transaction

from apps.accounts.models import User
from apps.core.database.ids import is_id, new_id
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.events import outbox
from apps.webhooks.models import Event
from tests import make

ALGORITHM_ID, OTHER = "1" * 24, "2" * 24


def write(owner: User, algorithm_id: str = ALGORITHM_ID) -> Event:
    return outbox.write_event(
        EventType.ALGORITHM_STARTED,
        owner_id=owner.pk,
        algorithm_id=algorithm_id,
        data=EVENT_SCHEMAS[EventType.ALGORITHM_STARTED].example,
        now=make.NOW,
    )


def sequences(algorithm_id: str = ALGORITHM_ID) -> list[int]:
    rows = Event.objects.filter(algorithm_id=algorithm_id).order_by("sequence")
    return list(rows.values_list("sequence", flat=True))


def test_an_event_has_its_type_its_owner_and_its_time(alice: User) -> None:
    event = Event.objects.get(pk=write(alice).pk)
    assert is_id(event.pk)
    assert (event.type, event.owner, event.algorithm_id) == (
        "algorithm.started",
        alice,
        ALGORITHM_ID,
    )
    assert (event.backtest_id, event.sequence, event.created_at) == ("", 1, make.NOW)
    assert event.data == EVENT_SCHEMAS[EventType.ALGORITHM_STARTED].example


def test_each_algorithm_has_a_separate_count(alice: User) -> None:
    for algorithm_id in (ALGORITHM_ID, OTHER, ALGORITHM_ID, ALGORITHM_ID, OTHER):
        write(alice, algorithm_id)
    assert (sequences(ALGORITHM_ID), sequences(OTHER)) == ([1, 2, 3], [1, 2])


def test_a_rolled_back_event_leaves_no_gap(alice: User) -> None:
    write(alice)
    with transaction.atomic():
        write(alice)
        transaction.set_rollback(True)
    write(alice)
    assert sequences() == [1, 2]


def test_the_count_continues_when_old_events_are_gone(alice: User) -> None:
    write(alice)
    Event.objects.all().delete()
    assert write(alice).sequence == 2


def test_a_position_cannot_be_used_twice(alice: User) -> None:
    event = write(alice)
    event.pk = new_id()
    with pytest.raises(DatabaseError, match="one_event_in_each_place"):
        event.save(force_insert=True)


def test_a_type_outside_the_set_is_refused(alice: User) -> None:
    with pytest.raises(DatabaseError, match="event_type_is_known"):
        write(alice).__class__.objects.update(type="algorithm.resumed")


def test_the_types_equal_those_of_the_interface() -> None:
    assert {type.value for type in EventType} == set(
        """
        algorithm.started algorithm.stopped algorithm.paused algorithm.error trade.executed
        backtest.completed backtest.failed risk.daily_loss_limit_reached
        risk.daily_profit_limit_reached performance.alert drift.found feed.stale day.summary
        alert.missing webhook.test
    """.split()
    )


@pytest.mark.django_db(transaction=True)
def test_thirty_writers_leave_neither_gap_nor_double() -> None:
    owner = make.user()

    def work(n: int) -> None:
        try:
            with transaction.atomic():
                write(owner)
                transaction.set_rollback(n % 3 == 0)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(work, range(30)))
    assert sequences() == list(range(1, 21))
