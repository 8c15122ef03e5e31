"""Deadlines and bounds of one connection, by a clock that the test moves."""

import json
from collections.abc import Callable, Coroutine, Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from pytest_django import Settings
from uvicorn.server import ServerState

from apps.ops.web import http_protocol
from apps.ops.web.application import Application
from apps.ops.web.http_protocol import HttpProtocol
from apps.ops.web.notifications import Notifications
from apps.ops.web.server import uvicorn_config

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

APPLICATION = Application(WSGIHandler(), threads=1, notifications=Notifications([]))


class Timer:
    def __init__(self, due: float, call: Callable[[], None]) -> None:
        self.due, self.call = due, call

    def cancel(self) -> None:
        self.due = float("inf")


class Loop:
    """asyncio's loop as far as a protocol asks it; no request is ever begun."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_at(self, due: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(due, call))
        return self.timers[-1]

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        return self.call_at(self.now + seconds, call)

    def create_task(self, work: Coroutine[Any, Any, None]) -> "Loop":
        work.close()
        return self

    def add_done_callback(self, call: object) -> None:
        pass

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while (due := min((timer.due for timer in self.timers), default=until + 1)) <= until:
            self.now = due
            timer = next(timer for timer in self.timers if timer.due == due)
            self.timers.remove(timer)
            timer.call()
        self.now = until


class Transport:
    def __init__(self, address: str) -> None:
        self.address = address
        self.written = b""
        self.state = "open"

    def get_extra_info(self, name: str) -> object:
        return (self.address, 4711) if name == "peername" else None

    def getpeername(self) -> tuple[str, int]:
        return (self.address, 4711)

    def write(self, data: bytes) -> None:
        self.written += data

    def write_eof(self) -> None:
        self.state = "ended"

    def close(self) -> None:
        self.state = "closed"

    def abort(self) -> None:
        self.state = "aborted"

    def is_closing(self) -> bool:
        return self.state in ("closed", "aborted")

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Connection:
    def __init__(self, loop: Loop, state: ServerState, address: str) -> None:
        self.loop = loop
        self.transport = Transport(address)
        config = uvicorn_config(APPLICATION)
        config.load()
        self.protocol = HttpProtocol(config, state, {}, _loop=loop)  # type: ignore[arg-type]
        self.protocol.connection_made(self.transport)  # type: ignore[arg-type]
        self.protocol.client = (address, 4711)

    def send(self, data: bytes) -> None:
        self.protocol.data_received(data)

    def answer(self) -> None:
        """As uvicorn does when the application has answered the oldest request."""
        cycles = [cycle for cycle, _ in self.protocol.pipeline]
        cycle = cycles[0] if cycles else self.protocol.cycle
        cycle.response_complete = True
        self.protocol.on_response_complete()

    def status(self) -> int:
        return int(self.transport.written.split()[1])


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def connect(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Connection]]:
    monkeypatch.setattr(
        "uvicorn.protocols.http.httptools_impl.get_remote_addr",
        lambda transport: (transport.address, 4711),
    )
    HttpProtocol.by_address.clear()
    state = ServerState()
    yield lambda address="192.0.2.1": Connection(loop, state, address)
    HttpProtocol.by_address.clear()


Connect = Callable[..., Connection]


def test_a_head_that_comes_byte_by_byte_is_refused_after_ten_seconds(
    connect: Connect, loop: Loop
) -> None:
    connection = connect()
    connection.send(b"GET / HTTP/1.1\r\nHost:")
    loop.pass_time(9.5)
    connection.send(b"a")
    assert connection.transport.written == b""
    loop.pass_time(0.6)
    assert connection.status() == 408
    head, _, body = connection.transport.written.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert error["details"] == {"reason": "request_timeout"}
    assert f"x-request-id: {error['requestId']}".encode() in head
    assert connection.transport.state == "ended"
    connection.send(b"more")  # read and thrown away, so that the answer arrives
    loop.pass_time(2.1)
    assert connection.transport.state == "aborted"


@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n"], ids=["nothing", "empty lines"])
def test_a_connection_that_brings_nothing_is_closed_in_silence(
    connect: Connect, loop: Loop, sent: bytes
) -> None:
    connection = connect()
    loop.pass_time(9.9)
    connection.send(sent)
    loop.pass_time(0.2)
    assert (connection.transport.state, connection.transport.written) == ("closed", b"")


def test_a_connection_is_kept_for_five_seconds_after_an_answer(
    connect: Connect, loop: Loop
) -> None:
    connection = connect()
    connection.send(REQUEST)
    loop.pass_time(60)  # the answer has deadlines of its own
    connection.answer()
    loop.pass_time(4.9)
    connection.send(b"\r\n")
    assert connection.transport.state == "open"
    loop.pass_time(0.2)
    assert connection.transport.state == "closed"
    loop.pass_time(2.1)  # what is left of the answer is not read
    assert connection.transport.state == "aborted"


def test_connections_are_limited_for_each_address(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_protocol, "MAX_OF_ADDRESS", 2)
    first, second, third = (connect("2001:db8::1") for _ in range(3))
    assert connect("2001:db8::2").status() == third.status() == 503
    assert b"retry-after: 5" in third.transport.written
    assert connect("2001:db8:0:1::1").transport.written == b""
    assert first.transport.written == second.transport.written == b""
    first.protocol.connection_lost(None)
    for _ in range(2):
        third.protocol.connection_lost(None)
    assert connect("2001:db8::1").transport.written == b""


def test_connections_of_a_trusted_proxy_are_not_counted(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(http_protocol, "MAX_OF_ADDRESS", 0)
    settings.TRUSTED_PROXIES = [ip_network("192.0.2.0/24")]
    assert connect("192.0.2.1").transport.written == b""
    assert connect("198.51.100.1").status() == 503


def test_a_process_that_is_out_of_files_cuts_connections_off(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_protocol, "most_connections", lambda: 1)
    assert [connect().transport.state for _ in range(2)] == ["open", "aborted"]


def test_of_many_requests_sent_at_once_a_few_wait_and_the_rest_is_not_read(
    connect: Connect,
) -> None:
    connection = connect()
    connection.send(REQUEST * 5_000)
    assert len(connection.protocol.pipeline) == http_protocol.MAX_PIPELINED
    assert not connection.protocol.cycle.keep_alive  # it closes after the last of them
    assert connection.transport.written == b""


def test_a_head_without_end_is_refused(connect: Connect) -> None:
    connection = connect()
    connection.send(b"GET / HTTP/1.1\r\nX-A: ")
    for _ in range(17):
        connection.send(b"a" * 4096)
    assert connection.status() == 431
