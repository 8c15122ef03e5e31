"""Bodies, threads and answers of our Django handler, without a server."""

import asyncio
import threading
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from pytest_django import Settings

from apps.core.api.middleware import MAX_BODY, MAX_DRAINED
from apps.core.requests import long_poll
from apps.core.requests.long_poll import LongPoll
from apps.ops.web.handler import PART_BYTES, REQUEST_THREADS, Handler, scheme_of
from tests.ops.asgi import Client, handler_of, run, scope_of

MEGABYTE = b"a" * 1024 * 1024
MESSAGE_BYTES = ASGIHandler.chunk_size


def echo(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.body)


def test_overridden_methods_exist_in_django() -> None:
    """Django documents none of them."""
    for name in ("load_middleware", "get_response_async", "get_response", "handle"):
        assert callable(getattr(ASGIHandler, name))


def test_body_in_pieces_arrives_whole() -> None:
    async def play() -> None:
        client = Client(b"ab", b"", b"c")
        await client.call(handler_of(echo))
        assert (client.status, client.body) == (200, b"abc")
        assert client.header("content-length") == "3"

    run(play())


def test_a_client_that_leaves_before_its_body_is_complete_is_not_served() -> None:
    async def play() -> None:
        client = Client(b"a", b"never")
        client.pieces = []
        client.is_gone.set()
        await client.call(handler_of(echo))
        assert not client.sent

    run(play())


@pytest.mark.parametrize(
    ("size", "is_read"), [(MAX_BODY + 1, True), (MAX_DRAINED, True), (MAX_DRAINED + 1, False)]
)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_too_large_body_is_dropped_and_read_up_to_a_limit(
    size: int, is_read: bool, is_chunked: bool
) -> None:
    async def play() -> None:
        megabytes, remainder = divmod(size, len(MEGABYTE))
        pieces = [MEGABYTE] * megabytes + [b"a" * remainder] + [b""] * 3
        client = Client(*pieces, length="chunked" if is_chunked else None)
        held: list[int] = []

        def view(request: HttpRequest) -> HttpResponse:
            held.append(len(request.read()))
            return HttpResponse(status=413)

        await client.call(handler_of(view))
        assert client.status == 413
        assert held[0] <= MAX_BODY
        assert (not client.pieces) == is_read

    run(play())


@pytest.mark.django_db
def test_body_that_declares_too_much_is_refused_unread_through_every_layer() -> None:
    async def play() -> None:
        client = Client(b"a", b"never", length=40_000_000)
        await client.call(Handler(), path="/api/auth/login")
        assert (client.status, client.header("connection")) == (413, "close")
        assert b"payload_too_large" in client.body
        assert client.header("x-request-id") is not None
        assert client.pieces == [b"a", b"never"]

    run(play())


def test_head_without_a_length_stays_without_one() -> None:
    async def play() -> None:
        client = Client()
        await client.call(handler_of(lambda request: HttpResponse()), method="HEAD")
        assert (client.status, client.header("content-length")) == (200, None)

    run(play())


def test_file_is_read_in_request_threads(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"ab" * 100_000)
    opened = (tmp_path / "file").open("rb")

    async def play() -> None:
        client = Client()
        await client.call(handler_of(lambda request: FileResponse(opened)))
        assert client.body == b"ab" * 100_000
        assert client.header("content-length") == "200000"
        assert opened.closed

    run(play())


def test_a_client_that_leaves_a_large_answer_stops_it_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    read: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number in range(100):
            read.append(number)
            yield bytes(PART_BYTES)

    async def play() -> None:
        messages = 1 + 2 * PART_BYTES // MESSAGE_BYTES
        client = Client(reads=messages)  # the head and two chunks
        handler = handler_of(lambda request: StreamingHttpResponse(chunks()))
        call = asyncio.create_task(client.call(handler))
        while len(client.sent) < messages:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert read == [0, 1, 2]  # no more than one that waits to be sent
        client.is_gone.set()
        await call
        assert len(read) <= 4

    run(play())
    assert caplog.records == []


def test_threads_are_few_and_stay() -> None:
    names: set[str] = set()
    begun, go_on = threading.Semaphore(0), threading.Event()

    def view(request: HttpRequest) -> HttpResponse:
        names.add(threading.current_thread().name)
        begun.release()
        go_on.wait(5)
        return HttpResponse()

    async def play() -> None:
        handler = handler_of(view)
        calls = [asyncio.create_task(Client().call(handler)) for _ in range(3 * REQUEST_THREADS)]
        for _ in range(REQUEST_THREADS):
            await asyncio.to_thread(begun.acquire)
        go_on.set()
        await asyncio.gather(*calls)
        assert len(names) == REQUEST_THREADS

    run(play())


def test_a_call_in_progress_ends_with_its_body_though_the_client_leaves() -> None:
    begun, go_on, bodies = threading.Event(), threading.Event(), list[bytes]()

    def view(request: HttpRequest) -> HttpResponse:
        begun.set()
        go_on.wait(5)
        bodies.append(request.body)
        return HttpResponse()

    async def play() -> None:
        client = Client(b"body")
        call = asyncio.create_task(client.call(handler_of(view)))
        await asyncio.to_thread(begun.wait)
        client.is_gone.set()
        await asyncio.sleep(0.02)
        go_on.set()
        await call
        assert bodies == [b"body"]
        assert not client.sent

    run(play())


def test_a_call_that_waits_for_a_thread_is_dropped_when_its_client_leaves() -> None:
    begun, go_on, served = threading.Semaphore(0), threading.Event(), list[str]()

    def view(request: HttpRequest) -> HttpResponse:
        served.append(request.path)
        begun.release()
        go_on.wait(5)
        return HttpResponse()

    async def play() -> None:
        handler = handler_of(view)
        calls = [asyncio.create_task(Client().call(handler)) for _ in range(REQUEST_THREADS)]
        for _ in range(REQUEST_THREADS):
            await asyncio.to_thread(begun.acquire)
        client = Client()
        call = asyncio.create_task(client.call(handler, path="/late"))
        await asyncio.sleep(0.02)
        client.is_gone.set()
        await call
        go_on.set()
        await asyncio.gather(*calls)
        assert "/late" not in served

    run(play())


def test_failure_after_the_view_is_an_error_in_the_envelope(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        response = HttpResponse()
        poll = LongPoll("c", "p", 30, lambda: True, lambda: bytes(1 // 0), {})
        long_poll.attach_long_poll(response, poll)
        return response

    async def play() -> None:
        client = Client()
        await client.call(handler_of(view))
        assert client.status == 500
        assert b"INTERNAL_SERVER_ERROR" in client.body
        assert client.header("x-request-id") is not None

    run(play())
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("peer", "trusted", "scheme"),
    [
        ("127.0.0.1", [], "http"),
        ("127.0.0.1", ["10.0.0.0/8", "fd00::/8", "127.0.0.2"], "http"),
        ("127.0.0.1", ["fd00::/8", "127.0.0.0/8"], "https"),
        ("::ffff:127.0.0.1", ["127.0.0.0/8"], "https"),
    ],
)
def test_only_a_trusted_proxy_can_report_tls(
    settings: Settings, peer: str, trusted: list[str], scheme: str
) -> None:
    settings.TRUSTED_PROXIES = [ip_network(text) for text in trusted]

    def scheme_with(headers: dict[str, str]) -> str:
        return scheme_of(scope_of(client=peer, headers=headers))

    assert scheme_with({}) == scheme_with({"x-forwarded-proto": "http"}) == "http"
    assert scheme_with({"x-forwarded-proto": "https"}) == scheme


@pytest.mark.parametrize("name", ["x_forwarded_for", "content_type", "script_name"])
def test_header_with_an_underscore_is_dropped(name: str) -> None:
    """The header could pass for another one."""

    async def play() -> None:
        seen: dict[str, Any] = {}

        def view(request: HttpRequest) -> HttpResponse:
            seen.update(request.META)
            return HttpResponse()

        client = Client()
        client.headers[name] = "evil"
        await client.call(handler_of(view))
        assert "evil" not in seen.values()

    run(play())
