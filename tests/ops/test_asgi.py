"""Bodies, answers and waits of one request, without a server."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from ipaddress import ip_network
from typing import Any

import pytest
from django.http import HttpResponse
from pytest_django import Settings

from apps.core import long_poll
from apps.core.api.middleware import MAX_BODY, MAX_DRAINED
from apps.core.long_poll import LongPoll
from apps.ops.web import application as asgi
from apps.ops.web.application import Application, environ_of
from apps.ops.web.http_protocol import CONNECTION
from apps.ops.web.notifications import Notifications

Headers = list[tuple[bytes, bytes]]


def scope(
    *, headers: Headers | None = None, path: bytes = b"/x", client: str = "192.0.2.1", **more: Any
) -> dict[str, Any]:
    return {
        "type": "http", "method": "POST", "http_version": "1.1", "path": path.decode(),
        "raw_path": path, "query_string": b"", "headers": headers or [],
        "client": (client, 4711), "server": ("127.0.0.1", 8000), **more,
    }  # fmt: skip


class Client:
    """What a client sends, piece by piece, and what it is sent. `reads`: pieces of the answer that
    it takes before it reads no more.
    """

    def __init__(
        self, *pieces: bytes, length: int | None = None, stalls: bool = False, reads: int = 10**6
    ) -> None:
        self.pieces = list(pieces) or [b""]
        self.stalls, self.reads = stalls, reads
        size = sum(map(len, pieces)) if length is None else length
        self.headers = [(b"content-length", str(size).encode())]
        self.sent: list[dict[str, Any]] = []
        self.is_aborted = False
        self.is_gone = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        if self.pieces:
            piece = self.pieces.pop(0)
            more = bool(self.pieces) or self.stalls
            return {"type": "http.request", "body": piece, "more_body": more}
        await self.is_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if len(self.sent) >= self.reads:
            await asyncio.sleep(60)
        self.sent.append(message)

    def abort(self) -> None:
        self.is_aborted = True

    async def call(self, application: Application, **more: Any) -> None:
        connection = {"abort": self.abort, "is_pipelined": False}
        extensions = {CONNECTION: connection}
        asked = scope(headers=self.headers, extensions=extensions, **more)
        await application(asked, self.receive, self.send)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])

    def header(self, name: bytes) -> bytes | None:
        return dict(self.sent[0]["headers"]).get(name)


View = Callable[[dict[str, Any]], HttpResponse]


def application(view: View, *, threads: int = 2) -> Application:
    """Of one view, which is given the WSGI environment."""

    def wsgi(environ: dict[str, Any], start_response: Callable[..., object]) -> HttpResponse:
        response = view(environ)
        start_response(f"{response.status_code} X", list(response.items()))
        return response

    return Application(wsgi, threads=threads, notifications=Notifications([]))  # type: ignore[arg-type]


def echo(environ: dict[str, Any]) -> HttpResponse:
    return HttpResponse(environ["wsgi.input"].read())


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 5))


def test_a_body_that_comes_in_pieces_is_handed_over_whole() -> None:
    async def play() -> None:
        client = Client(b"ab", b"", b"c")
        await client.call(application(echo))
        assert (client.status, client.body) == (200, b"abc")

    run(play())


def test_a_body_that_stops_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "SECONDS_TO_TRANSFER", 0.05)

    async def play() -> None:
        client = Client(b"a", length=10, stalls=True)
        await client.call(application(echo))
        assert (client.status, client.header(b"connection")) == (408, b"close")

    run(play())


def test_a_client_that_goes_before_its_body_has_come_is_not_served() -> None:
    async def play() -> None:
        client = Client(b"a", length=10, stalls=True)
        client.is_gone.set()
        await client.call(application(echo))
        assert not client.sent

    run(play())


@pytest.mark.parametrize(
    ("size", "is_read"), [(MAX_BODY + 1, True), (MAX_DRAINED, True), (MAX_DRAINED + 1, False)]
)
def test_a_body_that_is_too_large_is_not_kept(size: int, *, is_read: bool) -> None:
    async def play() -> None:
        pieces = [b"a" * (1024 * 1024)] * (size // (1024 * 1024)) + [b"a"]
        client = Client(*pieces, length=size)
        await client.call(application(echo))
        assert client.body == b""
        assert (not client.pieces) == is_read
        assert client.header(b"connection") == (None if is_read else b"close")

    run(play())


@pytest.mark.parametrize("size", [10, 10_000_000])
def test_a_client_that_does_not_read_is_cut_off(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "SECONDS_TO_TRANSFER", 0.05)

    async def play() -> None:
        client = Client(b"", reads=1)
        await client.call(application(lambda environ: HttpResponse(b"a" * size)))
        assert client.is_aborted

    run(play())


def test_a_head_without_a_length_is_given_none() -> None:
    async def serve() -> None:
        client = Client()
        await client.call(application(lambda environ: HttpResponse()), method="HEAD")
        assert (client.status, client.header(b"content-length")) == (200, None)

    run(serve())


def test_a_large_answer_is_sent_in_pieces_and_whole() -> None:
    async def play() -> None:
        client = Client(b"")
        await client.call(application(lambda environ: HttpResponse(b"ab" * 500_000)))
        assert client.body == b"ab" * 500_000
        assert client.header(b"content-length") == b"1000000"
        assert max(len(message["body"]) for message in client.sent[1:]) == asgi.CHUNK

    run(play())


def test_an_address_that_leaves_too_much_unread_loses_its_oldest_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asgi, "MAX_HELD", 250_000)

    async def play() -> None:
        served = application(lambda environ: HttpResponse(b"a" * 100_000))
        clients = [Client(b"", reads=1) for _ in range(3)]
        other = Client(b"", reads=1)
        calls = [asyncio.create_task(client.call(served)) for client in clients]
        calls.append(asyncio.create_task(other.call(served, client="192.0.2.2")))
        await asyncio.wait(calls, timeout=0.3)
        assert [client.is_aborted for client in (*clients, other)] == [True, False, False, False]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls)

    run(play())


def test_large_documents_leave_threads_to_the_others() -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    def view(environ: dict[str, Any]) -> HttpResponse:
        if environ["PATH_INFO"].startswith("/reports/"):
            begun.release()
            go_on.wait(5)
        return HttpResponse()

    async def play() -> None:
        served = application(view, threads=2)
        documents = [Client(b"") for _ in range(4)]
        calls = [
            asyncio.create_task(client.call(served, path=b"/reports/x")) for client in documents
        ]
        await asyncio.to_thread(begun.acquire)
        client = Client(b"")
        await client.call(served)
        assert client.status == 200
        go_on.set()
        await asyncio.gather(*calls)
        assert {document.status for document in documents} == {200}

    run(play())


def test_an_address_that_reads_none_of_its_documents_is_given_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asgi, "DOCUMENTS_OF_ADDRESS", 2)
    monkeypatch.setattr(asgi, "SECONDS_TO_TRANSFER", 0.2)
    made: list[str] = []

    def view(environ: dict[str, Any]) -> HttpResponse:
        made.append(environ["REMOTE_ADDR"])
        return HttpResponse(b"a" * 100)

    async def play() -> None:
        served = application(view)
        unread = [Client(b"", reads=0) for _ in range(2)]
        more = Client(b"")
        calls = [
            asyncio.create_task(client.call(served, path=b"/static/x"))
            for client in (*unread, more)
        ]
        await asyncio.sleep(0.05)
        assert made == ["192.0.2.1"] * 2  # the third waits
        other = Client(b"")
        await other.call(served, path=b"/static/x", client="192.0.2.2")
        assert other.status == 200
        await asyncio.gather(*calls)
        assert [client.is_aborted for client in unread] == [True, True]
        assert more.status in (200, 503)

    run(play())


def test_what_the_service_fails_to_answer_is_an_error_in_the_envelope(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def view(environ: dict[str, Any]) -> HttpResponse:
        raise MemoryError

    async def play() -> None:
        client = Client(b"")
        await client.call(application(view))
        assert client.status == 500
        assert b"INTERNAL_SERVER_ERROR" in client.body

    run(play())
    assert "MemoryError" in caplog.text


# ------------------------------------------------------------------------------------------- waits


class Waits:
    """A view whose answer waits for something to happen."""

    def __init__(self, *, seconds: float = 30) -> None:
        self.seconds = seconds
        self.has_happened = False
        self.checks = 0
        self.notifications = Notifications([])
        self.application = Application(
            self._wsgi,  # type: ignore[arg-type]
            threads=2,
            notifications=self.notifications,
        )

    def _wsgi(self, environ: dict[str, Any], start_response: Callable[..., object]) -> HttpResponse:
        response = HttpResponse(b"not yet", headers={"X-A": "b"})
        poll = LongPoll("c", "p", self.seconds, self._is_over, lambda: b"now", {"X-C": "d"})
        long_poll.attach(response, poll)
        start_response("201 X", list(response.items()))
        return response

    def _is_over(self) -> bool:
        self.checks += 1
        return self.has_happened

    async def until_checked(self, times: int = 1) -> None:
        while self.checks < times:
            await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "close_old_connections", lambda: None)


async def checked(waits: Waits) -> tuple[Client, asyncio.Task[None]]:
    client = Client(b"")
    call = asyncio.create_task(client.call(waits.application))
    await waits.until_checked()
    await asyncio.sleep(0.02)
    assert not client.sent
    return client, call


def test_an_answer_waits_until_it_is_notified() -> None:
    async def play() -> None:
        waits = Waits()
        client, call = await checked(waits)
        waits.notifications.wake("c", "another")
        await asyncio.sleep(0.02)
        assert waits.checks == 1
        waits.has_happened = True
        waits.notifications.wake("c", "p")
        await call
        assert (client.status, client.body) == (201, b"now")
        assert client.header(b"x-c") == b"d"
        assert client.header(b"x-a") == b"b"
        assert client.header(b"content-length") == b"3"
        assert waits.checks == 2

    run(play())


def test_an_answer_waits_no_longer_than_it_may() -> None:
    async def play() -> None:
        client, call = await checked(Waits(seconds=0.1))
        await call
        assert client.body == b"now"

    run(play())


def test_a_notification_that_was_lost_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "SECONDS_BETWEEN_CHECKS", 0.05)

    async def play() -> None:
        waits = Waits()
        client, call = await checked(waits)
        waits.has_happened = True
        await call
        assert client.body == b"now"

    run(play())


def test_more_than_may_wait_are_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "MAX_POLLS", 1)

    async def play() -> None:
        waits = Waits()
        _, call = await checked(waits)
        second = Client(b"")
        await second.call(waits.application)
        assert (second.body, second.header(b"x-c")) == (b"not yet", None)
        waits.application.stop()
        await call
        third, call = await checked_or_sent(waits)
        await call
        assert third.body == b"now"  # there is room again, but nothing waits when it stops

    async def checked_or_sent(waits: Waits) -> tuple[Client, asyncio.Task[None]]:
        client = Client(b"")
        return client, asyncio.create_task(client.call(waits.application))

    run(play())


def test_a_client_that_is_gone_ends_its_wait() -> None:
    async def play() -> None:
        client, call = await checked(Waits())
        client.is_gone.set()
        await call

    run(play())


def test_waiting_holds_no_request_thread() -> None:
    """There are two."""

    async def play() -> None:
        waits = Waits()
        clients = [Client(b"") for _ in range(20)]
        calls = [asyncio.create_task(client.call(waits.application)) for client in clients]
        await waits.until_checked(20)
        waits.has_happened = True
        waits.notifications.wake("c", "p")
        await asyncio.gather(*calls)
        assert {client.body for client in clients} == {b"now"}

    run(play())


# ------------------------------------------------------------------------------------- environment


def test_the_environment_is_that_of_wsgi() -> None:
    headers = [
        (b"host", b"a.example"), (b"content-type", b"text/plain"), (b"content-length", b"1"),
        (b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"x-forwarded-for", b"1.1.1.1"),
        (b"x-forwarded-for", b"2.2.2.2"), (b"script_name", b"/api"),
        (b"x_forwarded_for", b"3.3.3.3"),
    ]  # fmt: skip
    environ = environ_of(scope(headers=headers, path=b"//a%20b/%C3%A9"), b"x")
    assert environ["PATH_INFO"] == "//a b/Ã©"
    assert environ["SCRIPT_NAME"] == ""
    assert environ["HTTP_HOST"] == "a.example"
    assert (environ["CONTENT_TYPE"], environ["CONTENT_LENGTH"]) == ("text/plain", "1")
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert environ["HTTP_X_FORWARDED_FOR"] == "1.1.1.1,2.2.2.2"
    assert environ["REMOTE_ADDR"] == "192.0.2.1"
    assert "HTTP_SCRIPT_NAME" not in environ
    assert environ["wsgi.input"].read() == b"x"


@pytest.mark.parametrize(
    ("peer", "trusted", "scheme"),
    [
        ("127.0.0.1", [], "http"),
        ("127.0.0.1", ["10.0.0.0/8", "fd00::/8", "127.0.0.2"], "http"),
        ("127.0.0.1", ["fd00::/8", "127.0.0.0/8"], "https"),
        ("::ffff:127.0.0.1", ["127.0.0.0/8"], "https"),
    ],
)
def test_who_says_that_a_request_came_by_tls_is_believed_if_trusted(
    settings: Settings, peer: str, trusted: list[str], scheme: str
) -> None:
    settings.TRUSTED_PROXIES = [ip_network(text) for text in trusted]

    def scheme_of(*headers: tuple[bytes, bytes]) -> str:
        return str(environ_of(scope(client=peer, headers=list(headers)), b"")["wsgi.url_scheme"])

    assert scheme_of() == scheme_of((b"x-forwarded-proto", b"http")) == "http"
    assert scheme_of((b"x-forwarded-proto", b"https")) == scheme
