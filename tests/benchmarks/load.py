"""A cheap client: one thread, several connections, each with one request at a time."""

import re
import selectors
import time
from contextlib import ExitStack
from dataclasses import dataclass
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection, socket
from typing import NamedTuple

CONNECTIONS = 8
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


class Load(NamedTuple):
    """The times of a round of requests: in all, and each; seconds."""

    seconds: float
    latencies: list[float]


def request(method: str, path: str, *, token: str) -> bytes:
    """Return a complete request without a body."""
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Accept: */*",
        "Content-Length: 0",
        f"Authorization: Bearer {token}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def ask(port: int, sent: bytes, *, times: int) -> Load:
    """Send this many requests, all answered 200; the connections are opened before the clock
    starts.
    """
    with ExitStack() as opened:
        connections = [opened.enter_context(_connected(port)) for _ in range(CONNECTIONS)]
        waiting = opened.enter_context(selectors.DefaultSelector())
        begun, left, latencies = time.perf_counter(), times, list[float]()
        for connection in connections:
            _send(connection, sent, waiting)
            left -= 1
        while waiting.get_map():
            for key, _ in waiting.select():
                exchange: _Exchange = key.data
                exchange.answer += exchange.connection.recv(65536)
                if not _is_whole(exchange.answer):
                    continue
                latencies.append(time.perf_counter() - exchange.begun)
                waiting.unregister(key.fileobj)
                if left > 0:
                    _send(exchange.connection, sent, waiting)
                    left -= 1
        return Load(time.perf_counter() - begun, latencies)


@dataclass(slots=True)
class _Exchange:
    connection: socket
    begun: float
    answer: bytes = b""


def _connected(port: int) -> socket:
    connection = create_connection(("127.0.0.1", port), timeout=30)
    connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    return connection


def _send(connection: socket, sent: bytes, waiting: selectors.BaseSelector) -> None:
    exchange = _Exchange(connection, time.perf_counter())
    connection.sendall(sent)
    waiting.register(connection, selectors.EVENT_READ, exchange)


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        assert answer, "the server has closed the connection"
        return False
    assert head.startswith(b"HTTP/1.1 200"), answer[:1000]
    length = _LENGTH.search(head)
    assert length, head
    return len(body) >= int(length[1])
