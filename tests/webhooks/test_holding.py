"""Quiet hours and digests of chats."""

from datetime import datetime, time, timedelta

import pytest

from apps.core.times import INDIA
from apps.webhooks.models import Endpoint
from apps.webhooks.sending.holding import held_until

# Created at, quiet from and until, digest -> sent at; times in India.
CASES = [
    ("10:05", None, "off", "10:05"),
    ("21:59", ("22:00", "07:00"), "off", "21:59"),
    ("22:00", ("22:00", "07:00"), "off", "07:00+1"),
    ("03:00", ("22:00", "07:00"), "off", "07:00"),
    ("07:00", ("22:00", "07:00"), "off", "07:00"),
    ("12:30", ("12:00", "13:00"), "off", "13:00"),
    ("10:05", None, "hourly", "11:00"),
    ("11:00", None, "hourly", "12:00"),
    ("21:30", ("22:00", "07:00"), "hourly", "07:00+1"),
    ("15:31", None, "daily", "18:00"),
    ("18:00", None, "daily", "18:00+1"),
    ("15:31", ("17:00", "19:00"), "daily", "19:00"),
]


def moment(text: str) -> datetime:
    clock, _, days = text.partition("+")
    day = datetime(2026, 11, 20, tzinfo=INDIA) + timedelta(days=int(days or 0))
    return datetime.combine(day.date(), time.fromisoformat(clock), INDIA)


@pytest.mark.parametrize(("created", "quiet", "digest", "sent"), CASES)
def test_an_event_is_held_until_its_time(
    created: str, quiet: tuple[str, str] | None, digest: str, sent: str
) -> None:
    start, end = map(time.fromisoformat, quiet) if quiet else (None, None)
    endpoint = Endpoint(kind="telegram", quiet_from=start, quiet_until=end, digest=digest)
    at = moment(created)
    expected = None if sent == created else moment(sent)
    assert held_until(endpoint, type="trade.executed", created_at=at, now=at) == expected
    due = moment(sent)
    assert held_until(endpoint, type="trade.executed", created_at=at, now=due) is None
    assert held_until(endpoint, type="webhook.test", created_at=at, now=at) is None
