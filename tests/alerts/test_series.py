"""The series of received alerts: who reads what, and that no alert comes behind a reader."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import IntegrityError, connection, transaction

from apps.accounts.models import User
from apps.alerts import series, services
from apps.alerts.models import MAX_ALERT_NAME, AlertClock, ReceivedAlert
from apps.engine.language.conditions import AlertSignal
from tests.alerts.hooks import alert_in, hook_of

NOW = datetime(2026, 11, 27, 5, 0, tzinfo=UTC)
SECOND = int(NOW.timestamp())
Receive = Callable[..., ReceivedAlert]


@pytest.fixture
def receive(alice: User) -> Receive:
    """Return a function that stores an alert of a name and a symbol."""
    return partial(alert_in, hook_of(alice))


def test_times_are_those_of_the_symbol_and_of_alerts_about_every_symbol(
    alice: User, receive: Receive
) -> None:
    receive("buy", "NSE:INFY", at=NOW)
    receive("buy", at=NOW + timedelta(seconds=60))
    receive("buy", "NSE:TCS", at=NOW + timedelta(seconds=120))
    receive("sell", "NSE:INFY", at=NOW)
    times = services.alert_times(
        owner_id=alice.pk, names=["buy"], symbols=["NSE:INFY", "NSE:TCS"], until=SECOND + 120
    )
    assert times["NSE:INFY"]["buy"].tolist() == [SECOND, SECOND + 60]
    assert times["NSE:TCS"]["buy"].tolist() == [SECOND + 60, SECOND + 120]


def test_a_time_is_rounded_up_and_bounds_are_exact(alice: User, receive: Receive) -> None:
    for microseconds in (-1, 0, 1):
        receive("buy", at=NOW + timedelta(microseconds=microseconds))

    def read(since: int | None, until: int) -> list[int]:
        times = services.alert_times(
            owner_id=alice.pk, names=["buy"], symbols=["NSE:INFY"], since=since, until=until
        )
        return list(times["NSE:INFY"]["buy"])

    assert read(None, SECOND) == [SECOND, SECOND]
    assert read(SECOND, SECOND + 1) == [SECOND + 1]


def test_an_alert_of_another_user_is_not_read(alice: User, bob: User, receive: Receive) -> None:
    receive("buy", at=NOW)
    assert services.first_alerts(owner_id=bob.pk, names=["buy"]) == {}
    assert services.first_alerts(owner_id=alice.pk, names=["buy", "sell"]) == {"buy": NOW}


def test_what_comes_after_a_reading_comes_later_than_it(alice: User) -> None:
    AlertClock.objects.create(owner=alice)
    services.close_reading(owner_ids=[alice.pk], until=SECOND)
    services.close_reading(owner_ids=[alice.pk], until=SECOND - 60)
    behind = NOW - timedelta(seconds=2)
    with transaction.atomic():
        assert series.time_of_receipt(alice.pk, now=behind) > NOW
        ahead = NOW + timedelta(seconds=1)
        assert series.time_of_receipt(alice.pk, now=ahead) == ahead


def test_an_alert_is_never_rewritten(receive: Receive) -> None:
    alert = receive("buy", at=NOW)
    with pytest.raises(IntegrityError, match="never rewritten"), transaction.atomic():
        ReceivedAlert.objects.filter(pk=alert.pk).update(price=1)
    alert.delete()


@pytest.mark.slow
def test_any_number_of_alerts_goes_with_its_owner(alice: User) -> None:
    """PostgreSQL takes 65,535 parameters in a statement."""
    hook = hook_of(alice)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO alerts_alertmessage (id, hook_id, key, body, received_at, refusal, copies)"
            " SELECT lpad(n::text, 24, '0'), %s, n, '', now(), '', 0"
            " FROM generate_series(1, 66000) AS n",
            [hook.pk],
        )
        cursor.execute(
            "INSERT INTO alerts_receivedalert"
            " (id, message_id, owner_id, name, symbol, received_at, came_at, sent_at)"
            " SELECT id, id, %s, 'buy', '', now(), now(), '' FROM alerts_alertmessage",
            [alice.pk],
        )
    alice.delete()
    connection.check_constraints()
    assert not ReceivedAlert.objects.exists()


def test_the_longest_name_of_an_alert_is_that_of_a_condition() -> None:
    name = AlertSignal.model_json_schema()["properties"]["name"]
    assert (name["minLength"], name["maxLength"]) == (1, MAX_ALERT_NAME)
