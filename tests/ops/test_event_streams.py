"""An event stream after its first answer: news, hints, slow clients, ended sessions; no server."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from apps.core import event_stream
from apps.core.event_stream import EventStream
from apps.ops.web import event_streams
from apps.ops.web.application import Application
from apps.ops.web.notifications import Notifications
from tests.ops.test_asgi import Client, run

NEWS, BARS = ("news", "alice"), ("bars", "NSE:TCS 1m")
HINT = b"event: bars\ndata: {}\n\n"


class Streams:
    """An application whose one view begins a stream; `news` is what there is to read."""

    def __init__(self) -> None:
        self.news: list[bytes] = []
        self.reads = 0
        self.notifications = Notifications([])
        self.application = Application(self._wsgi, threads=2, notifications=self.notifications)  # type: ignore[arg-type]
        self._slots = 0

    def _wsgi(self, environ: dict[str, Any], start_response: Callable[..., object]) -> HttpResponse:
        response = HttpResponse(b"id: 7\n\n", content_type="text/event-stream")
        response["Content-Length"] = "7"
        self._slots += 1
        stream = EventStream(slot=self._slots, news=NEWS, hints={BARS: HINT}, read=self._read)
        event_stream.attach_stream(response, stream)
        start_response("200 OK", list(response.items()))
        return response

    def _read(self) -> bytes:
        self.reads += 1
        return self.news.pop(0) if self.news else b""

    def tell(self, *messages: bytes) -> None:
        self.news += messages
        self.notifications.wake(*NEWS)

    async def connect(self, client: Client) -> "asyncio.Task[None]":
        call = asyncio.create_task(client.call(self.application))
        await until(lambda: len(client.sent) > 1)
        return call


async def until(happened: Callable[[], bool]) -> None:
    while not happened():
        await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The slots that were left; no database is asked."""
    slots: list[int] = []
    monkeypatch.setattr(event_streams, "close_old_connections", lambda: None)
    monkeypatch.setattr(event_streams, "_leave_slot", slots.append)
    return slots


def test_news_and_hints_are_sent_as_they_come(left: list[int]) -> None:
    async def play() -> None:
        streams, client = Streams(), Client(b"")
        call = await streams.connect(client)
        assert client.status == 200
        assert client.header(b"content-length") is None
        streams.tell(b"id: 8\n\n", b"id: 9\n\n")
        await until(lambda: client.body == b"id: 7\n\nid: 8\n\nid: 9\n\n")
        reads = streams.reads
        for _ in range(3):
            streams.notifications.wake(*BARS)
        await until(lambda: client.body.endswith(HINT))
        assert client.body.count(HINT) == 1
        assert streams.reads == reads  # a hint asks no database
        client.is_gone.set()
        await call
        assert left == [1]

    run(play())


def test_what_happened_before_the_stream_waited_is_sent() -> None:
    async def play() -> None:
        streams, client = Streams(), Client(b"")
        streams.news = [b"id: 8\n\n"]
        call = await streams.connect(client)
        await until(lambda: client.body.endswith(b"id: 8\n\n"))
        client.is_gone.set()
        await call

    run(play())


def test_a_quiet_stream_sends_comments_and_looks_for_what_nobody_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_streams, "SECONDS_BETWEEN_COMMENTS", 0.02)

    async def play() -> None:
        streams, client = Streams(), Client(b"")
        call = await streams.connect(client)
        await until(lambda: client.body.endswith(b":\n\n"))
        streams.news = [b"id: 8\n\n"]
        await until(lambda: b"id: 8\n\n" in client.body)
        client.is_gone.set()
        await call

    run(play())


def test_a_client_that_does_not_read_is_cut_off_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch, left: list[int]
) -> None:
    monkeypatch.setattr(event_streams, "SECONDS_TO_SEND", 0.05)

    async def play() -> None:
        streams = Streams()
        slow, quick = Client(b"", reads=2), Client(b"")
        calls = [await streams.connect(client) for client in (slow, quick)]
        streams.notifications.wake(*BARS)
        await calls[0]
        assert slow.is_aborted
        assert left == [1]
        await until(lambda: quick.body.endswith(HINT))
        quick.is_gone.set()
        await calls[1]
        assert not quick.is_aborted

    run(play())


def test_a_stream_ends_with_its_session(monkeypatch: pytest.MonkeyPatch, left: list[int]) -> None:
    monkeypatch.setattr(event_streams, "SECONDS_BETWEEN_SESSION_CHECKS", 0.02)
    ended: set[int] = set()
    monkeypatch.setattr(event_streams, "_keep_slots", lambda slots: slots - ended)

    async def play() -> None:
        streams = Streams()
        first, second = Client(b""), Client(b"")
        calls = [await streams.connect(client) for client in (first, second)]
        checks = asyncio.create_task(streams.application._streams.check_sessions())
        await asyncio.sleep(0.05)
        assert not calls[0].done()
        ended.add(1)
        await calls[0]
        assert first.sent[-1] == {"type": "http.response.body", "body": b""}
        assert not calls[1].done()
        checks.cancel()
        second.is_gone.set()
        await calls[1]
        assert left == [1, 2]

    run(play())


def test_streams_end_when_the_process_does() -> None:
    async def play() -> None:
        streams, client, late = Streams(), Client(b""), Client(b"")
        call = await streams.connect(client)
        streams.application.stop()
        await call
        await (await streams.connect(late))
        assert [client.sent[-1] for client in (client, late)] == [
            {"type": "http.response.body", "body": b""}
        ] * 2

    run(play())


def test_many_streams_hold_no_request_thread() -> None:
    """There are two."""

    async def play() -> None:
        streams = Streams()
        clients = [Client(b"") for _ in range(30)]
        calls = [await streams.connect(client) for client in clients]
        streams.notifications.wake(*BARS)
        await until(lambda: all(client.body.endswith(HINT) for client in clients))
        for client in clients:
            client.is_gone.set()
        await asyncio.gather(*calls)

    run(play())
