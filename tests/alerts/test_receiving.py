"""Receiving: messages are stored once, and their alerts with the market's time of receipt."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.models import User
from apps.alerts import services
from apps.alerts.models import AlertClock, AlertHook, AlertMessage, ReceivedAlert
from apps.core.errors import InvalidInput, NotFound
from apps.core.limits import QuotaExceeded
from apps.core.times import INDIA
from apps.market.models import Replay
from tests.alerts.messages import SECRET, make_hook

NOW = datetime(2026, 11, 27, 5, 0, 10, tzinfo=UTC)


@pytest.fixture
def hook(alice: User) -> AlertHook:
    return make_hook(alice)


def receive(body: object, *, now: datetime = NOW, secret: str = SECRET) -> None:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    services.receive_message(secret=secret, body=raw, address="203.0.113.7", now=now)


def test_a_message_is_stored_with_its_alerts(alice: User) -> None:
    hook = make_hook(alice, format="chartink")
    body = {"alert_name": "up", "stocks": "INFY, M&M", "trigger_prices": "1500.5, 3000"}
    receive(body)
    message = AlertMessage.objects.get()
    assert (message.hook, message.received_at, message.refusal) == (hook, NOW, "")
    assert json.loads(message.body) == body
    alerts = message.alerts.order_by("symbol").values_list(
        "owner_id", "name", "symbol", "price", "received_at"
    )
    assert list(alerts) == [
        (alice.pk, "up", "NSE:INFY", 1500.5, NOW),
        (alice.pk, "up", "NSE:MM", 3000.0, NOW),
    ]


@pytest.mark.parametrize(
    "time", ["1999-01-01T00:00:00Z", "2099-01-01T00:00:00Z", -1, 4102444800, "nonsense", {"a": 1}]
)
def test_a_forged_time_of_the_sender_counts_nowhere(hook: AlertHook, time: object) -> None:
    receive({"name": "buy", "time": time})
    alert = ReceivedAlert.objects.get()
    assert alert.received_at == NOW
    assert alert.sent_at
    times = services.alert_times(
        owner_id=hook.owner_id,
        names=["buy"],
        symbols=["NSE:INFY"],
        until=int(NOW.timestamp()),
    )
    assert times["NSE:INFY"]["buy"].tolist() == [int(NOW.timestamp())]


def test_copies_with_an_id_are_one_message_for_ever(hook: AlertHook) -> None:
    receive({"name": "buy", "id": 7})
    receive({"name": "buy", "id": 7, "price": 1}, now=NOW + timedelta(days=400))
    receive({"name": "buy", "id": 8})
    assert AlertMessage.objects.count() == ReceivedAlert.objects.count() == 2
    copied = AlertMessage.objects.get(copies=1)
    assert copied.copied_at == NOW + timedelta(days=400)


def test_equal_bodies_are_copies_within_a_minute(hook: AlertHook) -> None:
    receive({"name": "buy"})
    receive({"name": "buy"}, now=NOW + timedelta(seconds=49.9))
    assert ReceivedAlert.objects.count() == 1
    receive({"name": "buy"}, now=NOW + timedelta(seconds=50))
    receive({"name": "sell"})
    assert ReceivedAlert.objects.count() == 3


def test_in_a_replay_the_minute_of_copies_is_the_markets(hook: AlertHook) -> None:
    start = int(datetime(2026, 4, 8, 5, 0, tzinfo=UTC).timestamp())
    replay = Replay.objects.create(start=start, moment=start, moved_at=NOW)
    for step in (0, 0, 60, 60, 59):
        replay.moment += step
        replay.save()
        receive({"name": "buy"})
    assert ReceivedAlert.objects.count() == 3


def test_another_hook_has_ids_of_its_own(alice: User, hook: AlertHook) -> None:
    make_hook(alice, secret="ah_another")
    receive({"name": "buy", "id": 7})
    receive({"name": "buy", "id": 7}, secret="ah_another")
    assert ReceivedAlert.objects.count() == 2


def test_an_unreadable_message_is_kept_and_takes_no_id(hook: AlertHook) -> None:
    for _ in range(2):
        with pytest.raises(InvalidInput, match="symbol: "):
            receive({"name": "buy", "symbol": "INFY", "id": 7})
    message = AlertMessage.objects.get()
    assert message.copies == 1
    assert message.refusal == (
        "symbol: A symbol has the form EXCHANGE:SYMBOL; the colon is missing."
    )
    assert not ReceivedAlert.objects.exists()
    receive({"name": "buy", "symbol": "NSE:INFY", "id": 7})
    assert ReceivedAlert.objects.get().symbol == "NSE:INFY"


def test_a_refused_message_may_come_again_when_its_hook_has_another_format(hook: AlertHook) -> None:
    with pytest.raises(InvalidInput):
        receive("buy NSE:INFY")
    AlertHook.objects.update(format="tradingview")
    receive("buy NSE:INFY")
    assert ReceivedAlert.objects.get().symbol == "NSE:INFY"


def test_text_that_the_database_cannot_hold_is_kept_without_it(hook: AlertHook) -> None:
    with pytest.raises(InvalidInput):
        services.receive_message(secret=SECRET, body=b"a\x00b\xff", address=None, now=NOW)
    assert AlertMessage.objects.get().body == "a\ufffdb\ufffd"


def test_a_secret_in_a_body_is_not_stored(alice: User) -> None:
    """ChartInk repeats the address in its messages."""
    make_hook(alice, format="chartink")
    url = f"https:\\/\\/trade.example.com\\/hooks\\/{SECRET}"
    receive(f'{{"alert_name": "up", "stocks": "INFY", "webhook_url": "{url}"}}')
    assert ReceivedAlert.objects.count() == 1
    assert SECRET not in AlertMessage.objects.get().body


def test_in_a_replay_an_alert_comes_just_after_its_moment(hook: AlertHook) -> None:
    moment = datetime(2024, 1, 1, 4, 0, tzinfo=UTC)
    second = int(moment.timestamp())
    Replay.objects.create(id=Replay.SINGLETON_ID, start=second - 300, moment=second, moved_at=NOW)
    receive({"name": "buy"})
    assert ReceivedAlert.objects.get().received_at == moment + timedelta(microseconds=1)
    assert AlertMessage.objects.get().received_at == NOW


def test_what_a_replay_of_later_days_has_read_delays_no_alert(hook: AlertHook) -> None:
    later = int((NOW + timedelta(days=9)).timestamp())
    Replay.objects.create(start=later, moment=later, moved_at=NOW)
    services.close_reading(owner_ids=[hook.owner_id], until=later)
    Replay.objects.all().delete()
    receive({"name": "buy"})
    assert ReceivedAlert.objects.get().received_at == NOW


def test_an_alert_comes_later_than_what_a_run_has_read(hook: AlertHook) -> None:
    until = int(NOW.timestamp()) + 2
    services.close_reading(owner_ids=[hook.owner_id], until=until)
    receive({"name": "buy"})
    assert ReceivedAlert.objects.get().received_at.timestamp() > until


def test_an_ended_hook_and_one_of_a_closed_account_get_nothing(
    alice: User, hook: AlertHook
) -> None:
    AlertHook.objects.update(ended_at=NOW)
    with pytest.raises(NotFound):
        receive({"name": "buy"})
    AlertHook.objects.update(ended_at=None)
    for closed in ({"is_active": False}, {"is_active": True, "erase_at": NOW}):
        User.objects.filter(pk=alice.pk).update(**closed)
        with pytest.raises(NotFound):
            receive({"name": "buy"})
    assert not AlertMessage.objects.exists()


def test_a_user_receives_no_more_than_the_bytes_of_a_day(
    alice: User, hook: AlertHook, settings: Settings
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "alertBytes": 600}
    make_hook(alice, secret="ah_another")
    now = timezone.now()
    before = (now - timedelta(days=1)).astimezone(INDIA).date()
    AlertClock.objects.update(day=before, bytes_of_day=10**9)
    receive({"name": "buy", "id": 10}, now=now)
    receive({"name": "buy", "id": 11}, now=now, secret="ah_another")
    receive({"name": "buy", "id": 11}, now=now, secret="ah_another")
    receive({"name": "buy", "id": 12}, now=now)
    with pytest.raises(QuotaExceeded):
        receive({"name": "buy", "id": 13}, now=now)
    with pytest.raises(QuotaExceeded):
        receive({}, now=now)
    assert ReceivedAlert.objects.count() == AlertMessage.objects.count() == 3
    assert AlertMessage.objects.filter(copies=1).count() == 1
