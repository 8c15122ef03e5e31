"""Alerts that did not come by the time of their hook: each is told of once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.alerts import services, tasks
from apps.alerts.missing import notice_missing_alerts
from apps.alerts.models import AlertHook, MissingAlert
from apps.core.models import QuietStart
from apps.core.times import INDIA
from apps.webhooks.event_types import EventType
from apps.webhooks.events.texts import event_text
from apps.webhooks.models import Delivery, Event
from tests import make
from tests.alerts.hooks import hook_of, message_to
from tests.webhooks.events import endpoint_of

MONDAY = datetime(2026, 11, 2, tzinfo=INDIA)
DUE = MONDAY.replace(hour=15)
CHECKED = DUE + timedelta(minutes=1)
SECOND = timedelta(seconds=1)


def missing_events() -> list[dict[str, Any]]:
    rows = Event.objects.filter(type=EventType.ALERT_MISSING).order_by("sequence")
    return [event.data for event in rows]


@pytest.fixture
def hook(alice: User) -> AlertHook:
    """Return a hook of a week before, which expects an alert by 15:00."""
    return hook_of(alice, expected_by="15:00", now=MONDAY - timedelta(days=7))


def test_a_hook_without_an_alert_by_its_time_is_told_of_once_a_day(
    alice: User, hook: AlertHook
) -> None:
    endpoint_of(alice, events=[EventType.ALERT_MISSING])
    assert notice_missing_alerts(now=DUE - SECOND) == 0
    assert [notice_missing_alerts(now=CHECKED) for _ in range(2)] == [1, 0]
    first = {"hookId": hook.pk, "hookName": "Breakouts", "day": "2026-11-02"}
    assert missing_events() == [{**first, "expectedBy": "15:00"}]
    assert Delivery.objects.count() == 1
    assert notice_missing_alerts(now=CHECKED + timedelta(days=1)) == 1
    assert [data["day"] for data in missing_events()] == ["2026-11-02", "2026-11-03"]


@pytest.mark.parametrize(
    ("at", "refusal", "count"),
    [
        (MONDAY, "", 0),
        (DUE, "", 0),
        (DUE + SECOND, "", 1),
        (MONDAY - SECOND, "", 1),
        (DUE - SECOND, "The body is not JSON.", 1),
    ],
)
def test_only_a_readable_message_of_the_day_by_then_counts(
    hook: AlertHook, at: datetime, refusal: str, count: int
) -> None:
    message_to(hook, at=at.astimezone(UTC), refusal=refusal)
    assert notice_missing_alerts(now=CHECKED) == count


def test_a_message_to_another_hook_does_not_count(alice: User, hook: AlertHook) -> None:
    message_to(hook_of(alice), at=DUE - SECOND)
    assert notice_missing_alerts(now=CHECKED) == 1


@pytest.mark.parametrize("day", ["2026-10-31", "2026-11-01", "2026-01-26"])
def test_a_day_without_a_session_expects_nothing(alice: User, day: str) -> None:
    hook_of(alice, expected_by="15:00", now=make.NOW - timedelta(days=400))
    evening = datetime.combine(datetime.fromisoformat(day), time(20), INDIA)
    assert notice_missing_alerts(now=evening) == 0


def test_a_service_that_was_down_tells_later_on_the_same_day(hook: AlertHook) -> None:
    assert notice_missing_alerts(now=MONDAY.replace(hour=23, minute=59)) == 1


@pytest.mark.parametrize(("made", "count"), [(DUE - SECOND, 1), (DUE + SECOND, 0)])
def test_a_hook_made_after_its_time_expects_nothing_that_day(
    alice: User, made: datetime, count: int
) -> None:
    hook_of(alice, expected_by="15:00", now=made)
    assert notice_missing_alerts(now=CHECKED) == count
    assert notice_missing_alerts(now=CHECKED + timedelta(days=1)) == 1


def test_a_time_that_is_set_later_expects_nothing_before(alice: User, hook: AlertHook) -> None:
    def change(expected_by: str | None, now: datetime) -> None:
        changes = {"expected_by": expected_by}
        services.change_hook(owner=alice, hook_id=hook.pk, changes=changes, now=now)

    change("14:00", CHECKED)
    assert notice_missing_alerts(now=CHECKED) == 0
    change("14:00", CHECKED + timedelta(hours=23, minutes=30))
    assert notice_missing_alerts(now=CHECKED + timedelta(days=1)) == 1
    change(None, CHECKED + timedelta(days=1))
    assert notice_missing_alerts(now=CHECKED + timedelta(days=2)) == 0


def test_an_ended_hook_and_a_closed_account_expect_nothing(alice: User, bob: User) -> None:
    before = MONDAY - timedelta(days=7)
    ended = hook_of(alice, expected_by="15:00", now=before)
    services.end_hook(owner=alice, hook_id=ended.pk, now=before)
    hook_of(bob, expected_by="15:00", now=before)
    User.objects.filter(pk=bob.pk).update(erase_at=CHECKED + timedelta(days=7))
    assert notice_missing_alerts(now=CHECKED) == 0


def test_a_restored_copy_tells_nothing_in_its_quiet_start(hook: AlertHook) -> None:
    quiet = QuietStart.objects.create(began_at=MONDAY, snapshot_at=MONDAY)
    assert notice_missing_alerts(now=CHECKED) == 0
    quiet.ended_at = CHECKED
    quiet.save()
    assert notice_missing_alerts(now=CHECKED) == 1


def test_the_database_keeps_one_notice_of_a_hook_and_a_day(hook: AlertHook) -> None:
    notice_missing_alerts(now=CHECKED)
    again = MissingAlert(hook=hook, day=MONDAY.date(), noticed_at=CHECKED)
    with pytest.raises(IntegrityError, match="one_notice"), transaction.atomic():
        again.save()


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_one_tells() -> None:
    hook_of(make.user(), expected_by="15:00", now=MONDAY - timedelta(days=7))
    ready = Barrier(2)

    def check(_: int) -> int:
        ready.wait()
        try:
            return notice_missing_alerts(now=CHECKED)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(check, range(2))) == 1
    assert len(missing_events()) == 1


def test_the_job_asks_the_clock(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    hook_of(alice, expected_by="15:00", now=MONDAY - timedelta(days=7))
    monkeypatch.setattr("apps.core.database.now", lambda: CHECKED)
    tasks.write_notices_of_alerts(timestamp=int(timezone.now().timestamp()))
    assert len(missing_events()) == 1


def test_its_text_names_the_hook_the_time_and_the_day() -> None:
    data = {"hookId": "", "hookName": "Breakouts", "day": "2026-11-02", "expectedBy": "15:00"}
    assert event_text(EventType.ALERT_MISSING, data).splitlines() == [
        "Breakouts: no alert came by 15:00 on 2 Nov.",
        "Check the program that sends them.",
    ]
