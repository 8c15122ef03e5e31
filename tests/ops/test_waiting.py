"""Long polls and event streams after the view's answer, without a server or a database."""

import asyncio

import pytest
from django.http import HttpRequest, HttpResponse

from apps.core.requests import event_stream, long_poll
from apps.core.requests.event_stream import EventStream
from apps.core.requests.long_poll import LongPoll
from apps.ops.web import waiting
from tests.ops.asgi import Client, handler_of, run, until

# Long polls.


class Polls:
    """A handler with a view that waits for an event."""

    def __init__(self, *, seconds: float = 30) -> None:
        self.seconds = seconds
        self.has_happened = False
        self.checks = 0
        self.handler = handler_of(self._view)

    def _view(self, request: HttpRequest) -> HttpResponse:
        response = HttpResponse(b"not yet", status=201, headers={"X-A": "b"})
        poll = LongPoll("c", "p", self.seconds, self._is_over, lambda: b"now", {"X-C": "d"})
        long_poll.attach_long_poll(response, poll)
        return response

    def _is_over(self) -> bool:
        self.checks += 1
        return self.has_happened

    def wake(self, payload: str) -> None:
        self.handler.waiting.notifications.wake("c", payload)

    async def ask(self) -> tuple[Client, asyncio.Task[None]]:
        """Return a client that waits, and its call."""
        client, checks = Client(), self.checks
        call = asyncio.create_task(client.call(self.handler))
        await until(lambda: self.checks > checks)
        await asyncio.sleep(0.02)
        assert not client.sent
        return client, call


def test_an_answer_waits_until_its_notification() -> None:
    async def play() -> None:
        polls = Polls()
        client, call = await polls.ask()
        polls.wake("another")
        await asyncio.sleep(0.02)
        assert polls.checks == 1
        polls.has_happened = True
        polls.wake("p")
        await call
        assert (client.status, client.body) == (201, b"now")
        headers = [client.header(name) for name in ("x-a", "x-c", "content-length")]
        assert headers == ["b", "d", "3"]
        assert polls.checks == 2

    run(play())


def test_an_answer_waits_no_longer_than_allowed() -> None:
    async def play() -> None:
        client, call = await Polls(seconds=0.1).ask()
        await call
        assert client.body == b"now"

    run(play())


def test_lost_notification_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_CHECKS", 0.05)

    async def play() -> None:
        polls = Polls()
        client, call = await polls.ask()
        polls.has_happened = True
        await call
        assert client.body == b"now"

    run(play())


def test_poll_beyond_the_limit_is_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MAX_POLLS", 1)

    async def play() -> None:
        polls = Polls()
        _, call = await polls.ask()
        second, third = Client(), Client()
        await second.call(polls.handler)
        assert (second.body, second.header("x-c")) == (b"not yet", None)
        polls.handler.waiting.stop()
        await call
        await third.call(polls.handler)
        assert third.body == b"now"  # there is room again, but nothing waits when it stops

    run(play())


def test_a_client_that_leaves_ends_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MAX_POLLS", 1)

    async def play() -> None:
        polls = Polls()
        client, call = await polls.ask()
        client.is_gone.set()
        await call
        client, call = await polls.ask()  # the place of the first is free
        client.is_gone.set()
        await call

    run(play())


def test_waiting_polls_hold_no_request_thread() -> None:
    async def play() -> None:
        polls = Polls()
        clients = [Client() for _ in range(20)]
        calls = [asyncio.create_task(client.call(polls.handler)) for client in clients]
        await until(lambda: polls.checks == 20)
        polls.has_happened = True
        polls.wake("p")
        await asyncio.gather(*calls)
        assert {client.body for client in clients} == {b"now"}

    run(play())


# Event streams.

NEWS, BARS = ("news", "alice"), ("bars", "NSE:TCS 1m")
HINT = b"event: bars\ndata: {}\n\n"


class Streams:
    """A handler with a view that begins a stream; `news` is its unread content."""

    def __init__(self) -> None:
        self.news: list[bytes] = []
        self.reads = 0
        self.handler = handler_of(self._view)
        self.notifications = self.handler.waiting.notifications
        self._slots = 0

    def _view(self, request: HttpRequest) -> HttpResponse:
        response = HttpResponse(b"id: 7\n\n", content_type="text/event-stream")
        response["Content-Length"] = "7"
        self._slots += 1
        stream = EventStream(slot=self._slots, news=NEWS, hints={BARS: HINT}, read=self._read)
        event_stream.attach_stream(response, stream)
        return response

    def _read(self) -> bytes:
        self.reads += 1
        return self.news.pop(0) if self.news else b""

    def tell(self, *messages: bytes) -> None:
        self.news += messages
        self.notifications.wake(*NEWS)

    async def connect(self, client: Client) -> "asyncio.Task[None]":
        call = asyncio.create_task(client.call(self.handler))
        await until(lambda: len(client.sent) > 1)
        return call


@pytest.fixture(autouse=True)
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the released slots, without a database."""
    slots: list[int] = []
    monkeypatch.setattr("apps.accounts.services.leave_slots", slots.extend)
    return slots


def test_news_and_hints_are_sent_as_they_come(left: list[int]) -> None:
    async def play() -> None:
        streams, client = Streams(), Client()
        call = await streams.connect(client)
        assert (client.status, client.header("content-length")) == (200, None)
        assert client.header("content-type") == "text/event-stream"
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
        await until(lambda: left == [1])

    run(play())


def test_news_before_the_stream_waited_is_sent() -> None:
    async def play() -> None:
        streams, client = Streams(), Client()
        streams.news = [b"id: 8\n\n"]
        call = await streams.connect(client)
        await until(lambda: client.body.endswith(b"id: 8\n\n"))
        client.is_gone.set()
        await call

    run(play())


def test_a_quiet_stream_sends_comments_and_reads_unnotified_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_COMMENTS", 0.02)

    async def play() -> None:
        streams, client = Streams(), Client()
        call = await streams.connect(client)
        await until(lambda: client.body.endswith(b":\n\n"))
        streams.news = [b"id: 8\n\n"]
        await until(lambda: b"id: 8\n\n" in client.body)
        client.is_gone.set()
        await call

    run(play())


def test_a_client_that_does_not_read_delays_no_other_and_frees_its_slot_when_it_leaves(
    left: list[int],
) -> None:
    async def play() -> None:
        streams = Streams()
        slow, quick = Client(reads=2), Client()
        calls = [await streams.connect(client) for client in (slow, quick)]
        for number in range(3):
            streams.tell(b"id: %d\n\n" % number)
        await until(lambda: quick.body.endswith(b"id: 2\n\n"))
        slow.is_gone.set()
        await calls[0]
        await until(lambda: left == [1])
        quick.is_gone.set()
        await calls[1]

    run(play())


def test_stream_ends_with_its_session(monkeypatch: pytest.MonkeyPatch, left: list[int]) -> None:
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_SESSION_CHECKS", 0.02)
    ended: set[int] = set()
    monkeypatch.setattr(waiting, "_keep_slots", lambda slots: slots - ended)

    async def play() -> None:
        streams = Streams()
        first, second = Client(), Client()
        calls = [await streams.connect(client) for client in (first, second)]
        checks = asyncio.create_task(streams.handler.waiting.check_sessions())
        await asyncio.sleep(0.05)
        assert not calls[0].done()
        ended.add(1)
        await calls[0]
        assert first.has_ended
        assert not calls[1].done()
        checks.cancel()
        second.is_gone.set()
        await calls[1]
        await until(lambda: left == [1, 2])

    run(play())


def test_streams_end_when_the_process_stops() -> None:
    async def play() -> None:
        streams, client, late = Streams(), Client(), Client()
        call = await streams.connect(client)
        streams.handler.waiting.stop()
        await call
        await (await streams.connect(late))
        assert client.has_ended
        assert late.has_ended

    run(play())


def test_many_streams_hold_no_request_thread() -> None:
    async def play() -> None:
        streams = Streams()
        clients = [Client() for _ in range(30)]
        calls = [await streams.connect(client) for client in clients]
        streams.notifications.wake(*BARS)
        await until(lambda: all(client.body.endswith(HINT) for client in clients))
        for client in clients:
            client.is_gone.set()
        await asyncio.gather(*calls)

    run(play())
