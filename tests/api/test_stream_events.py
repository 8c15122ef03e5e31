"""GET /api/events: the answer of its view. tests/ops/test_event_streams.py tests the rest of the
stream.
"""

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.utils import timezone

from apps.accounts.login import streams
from apps.accounts.models import LoginSession, StreamSlot, User
from apps.webhooks.event_types import EventType, render_body
from apps.webhooks.models import Event
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.webhooks.events import emit

PATH = "/api/events"


def messages(response: Any) -> list[dict[str, str]]:
    assert response.status_code == 200
    blocks = response.content.decode().split("\n\n")
    assert blocks.pop() == ""
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


def test_a_stream_begins_with_its_position_and_new_events(api: Api, alice: User) -> None:
    emit(alice)
    response = api(alice).get(PATH)
    assert messages(response) == [{"retry": "2000", "id": "1"}]
    assert response["Content-Type"] == "text/event-stream"
    assert response["X-Accel-Buffering"] == "no"
    assert response["Cache-Control"] == "no-store"


def test_a_client_continues_after_its_last_id_with_the_events_of_webhooks(
    api: Api, alice: User, bob: User
) -> None:
    for type in (
        EventType.ALGORITHM_STARTED,
        EventType.TRADE_EXECUTED,
        EventType.PERFORMANCE_ALERT,
    ):
        emit(alice, type=type)
    emit(bob)
    client = api(alice)
    assert messages(client.get(PATH, headers={"Last-Event-ID": "3"})) == [
        {"retry": "2000", "id": "3"}
    ]
    _, trade, alert = messages(client.get(PATH, headers={"Last-Event-ID": "1"}))
    assert (trade["id"], trade["event"]) == ("2", "trade.executed")
    assert (alert["id"], alert["event"]) == ("3", "performance.alert")
    event = Event.objects.get(owner=alice, position=2)
    body = render_body(
        id=event.pk, type=event.type, created_at=event.created_at, sequence=2, data=event.data
    )
    assert trade["data"].encode() == body
    assert orjson.loads(alert["data"])["sequence"] == 3


def test_an_unknown_position_counts_as_the_last_one(api: Api, alice: User) -> None:
    """The database was restored from a backup: later events must not be skipped."""
    emit(alice)
    response = api(alice).get(PATH, headers={"Last-Event-ID": "900"})
    assert messages(response) == [{"retry": "2000", "id": "1"}]


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "9" * 30, "٣"])
def test_an_id_of_no_message_is_refused(api: Api, alice: User, text: str) -> None:
    response = api(alice).get(PATH, HTTP_LAST_EVENT_ID=text)
    assert_error(response, 400, "VALIDATION_ERROR", field="Last-Event-ID")


@pytest.mark.parametrize("text", ["", "RELIANCE", "NSE:TCS,", ",".join(["NSE:TCS"] * 51)])
def test_symbols_are_symbols(api: Api, alice: User, text: str) -> None:
    response = api(alice).get(PATH, {"symbols": text})
    assert_error(response, 400, "VALIDATION_ERROR", field="symbols")


def test_a_fifth_stream_of_a_session_is_refused(api: Api, alice: User) -> None:
    client = api(alice)
    for _ in range(4):
        messages(client.get(PATH))
    response = client.get(PATH)
    assert_error(response, 429, "TOO_MANY_REQUESTS", reason="too_many_streams", limit=4)
    assert response["Retry-After"] == "15"
    messages(api(alice).get(PATH))  # of another session
    assert client.head(PATH).status_code == 200


def test_abandoned_stream_slots_become_free(api: Api, alice: User) -> None:
    client = api(alice)
    for _ in range(4):
        messages(client.get(PATH))
    StreamSlot.objects.update(kept_until=timezone.now() - timedelta(seconds=1))
    messages(client.get(PATH))
    assert StreamSlot.objects.count() == 1


@pytest.mark.parametrize(("scope", "status"), [("read", 200), ("trade", 403)])
def test_a_key_that_may_read_has_streams(api: Api, alice: User, scope: str, status: int) -> None:
    made = api(alice).post("/api/auth/keys", {"name": "Watcher", "scopes": [scope]}).json()
    response = api().get(PATH, headers={"Authorization": f"Bearer {made['key']}"})
    assert response.status_code == status


def test_slots_of_ended_sessions_become_free(api: Api, alice: User) -> None:
    for _ in range(2):
        messages(api(alice).get(PATH))
    now = timezone.now()
    slots = list(StreamSlot.objects.order_by("pk"))
    slot_ids = [slot.pk for slot in slots]
    assert streams.keep_slots(slot_ids, now=now) == set(slot_ids)
    LoginSession.objects.filter(pk=slots[0].session_id).update(ended_at=now, end_reason="logout")
    assert streams.keep_slots(slot_ids, now=now) == {slot_ids[1]}
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert streams.keep_slots(slot_ids, now=now) == set()
