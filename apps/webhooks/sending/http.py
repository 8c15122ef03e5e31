"""One attempt to send a webhook to its receiver, by HTTP/1.1 over a connection of its own.

Whatever the receiver, its name server and the network do, the attempt ends in time, reads no body,
follows no redirect and returns a `SendResult`. Of a webhook's answer only status and Retry-After
are kept: its text would let a user read pages that only this machine can reach.
"""

import re
import socket
import ssl
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_address
from typing import Final

import httpcore2

from apps.webhooks.lifecycle import Failure
from apps.webhooks.sending.address_guard import (
    Exemptions,
    IPAddress,
    NotPublic,
    Resolve,
    Target,
    Unresolvable,
    UrlRejected,
    parse_url,
    resolve_host,
    resolve_target,
)

TOTAL_SECONDS: Final = 15.0
CONNECT_SECONDS: Final = 5.0  # to resolve the name in, and as many again to connect in
MOST_ADDRESSES: Final = 3  # of one name: they share the time to connect in
MOST_BYTES_READ: Final = 64 * 1024  # of an answer's headers
MOST_BODY_READ: Final = 512 * 1024  # of a body, where it is read at all


class AnswerTooLong(Exception):
    """The headers of the answer exceed the byte limit."""


# Exceptions and the failures they mean; the first match counts.
_FAILURES: Final[tuple[tuple[type[Exception], Failure], ...]] = (
    (Unresolvable, Failure.DNS),
    (UrlRejected, Failure.FORBIDDEN_ADDRESS),
    (TimeoutError, Failure.TIMEOUT),
    (ssl.SSLError, Failure.TLS),
    (ConnectionRefusedError, Failure.REFUSED),
    (ConnectionError, Failure.RESET),
    (OSError, Failure.UNREACHABLE),
    (httpcore2.RemoteProtocolError, Failure.BAD_ANSWER),
    (AnswerTooLong, Failure.BAD_ANSWER),
)
_FAR_SIDE: Final = tuple(error for error, _ in _FAILURES)


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of an attempt, which delivered the webhook exactly if `error` is None.

    `status` is the answer's status if there was one, even with an error. `seconds` is the duration
    of the attempt; `retry_after` is the wait that the receiver asked for, in seconds. `body` is the
    answer's, where the caller reads it.
    """

    status: int | None
    error: Failure | None
    seconds: float
    retry_after: float | None
    body: bytes = b""


def send(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    exemptions: Exemptions,
    resolve: Resolve = resolve_host,
    read: Collection[int] = (),
) -> SendResult:
    """POST the body; threads may do so concurrently.

    `headers` are the message's headers; those of the connection (Host, Content-Length) are added.
    `read` are the statuses of which the answer's body is read: only of receivers whose answers
    users do not choose, or see.
    """
    deadline, started = Deadline(TOTAL_SECONDS), time.monotonic()
    status: int | None = None
    retry_after: float | None = None
    error: Failure | None = None
    content = b""
    try:
        target = parse_url(url, exemptions)
        with closing(_open(target, resolve, deadline)) as connection:
            most = MOST_BYTES_READ + (MOST_BODY_READ if read else 0)
            stream = BoundedStream(connection, deadline, most)
            with _post(target, stream, headers, body) as answer:
                status, retry_after = answer.status, _retry_after(answer)
                error = _failure_of(status)
                content = answer.read() if status in read else b""
    except _FAR_SIDE as raised:
        error = next(failure for kind, failure in _FAILURES if isinstance(raised, kind))
    return SendResult(status, error, time.monotonic() - started, retry_after, content)


def _post(
    target: Target, stream: httpcore2.NetworkStream, headers: Mapping[str, str], body: bytes
) -> AbstractContextManager[httpcore2.Response]:
    url = httpcore2.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path
    )
    return httpcore2.HTTP11Connection(url.origin, stream).stream(
        "POST",
        url,
        headers=[("Host", target.authority), ("Connection", "close"), *headers.items()],
        content=body,
    )


def _failure_of(status: int) -> Failure | None:
    if 200 <= status < 300:
        return None
    return Failure.REDIRECT if 300 <= status < 400 else Failure.STATUS


def _retry_after(answer: httpcore2.Response) -> float | None:
    texts = [value for name, value in answer.headers if name.lower() == b"retry-after"]
    return parse_retry_after(texts[0].decode("latin-1"), datetime.now(UTC)) if texts else None


def parse_retry_after(text: str, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for (RFC 9110, 10.2.3), as a number or as a
    date; None for a text that is neither.
    """
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        date = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0.0, (date - now).total_seconds())


class Deadline:
    """A deadline this many seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds until then, more than 0. Raises TimeoutError."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _open(target: Target, resolve: Resolve, deadline: Deadline) -> socket.socket:
    addresses = resolve_target(target, resolve, min(CONNECT_SECONDS, deadline.left()))
    plain = connect(addresses, target.port, min(CONNECT_SECONDS, deadline.left()))
    return plain if target.scheme == "http" else _start_tls(plain, target.host, deadline)


def connect(addresses: Sequence[IPAddress], port: int, within: float) -> socket.socket:
    """Connect to the first of these addresses that accepts. Raises OSError."""
    deadline = Deadline(within)
    *earlier, last = addresses[:MOST_ADDRESSES]
    for index, address in enumerate(earlier):
        with suppress(OSError):
            return _connect_to(address, port, deadline.left() / (len(earlier) + 1 - index))
    return _connect_to(last, port, deadline.left())


def _connect_to(address: IPAddress, port: int, within: float) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.settimeout(within)
        connection.connect((str(address), port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if ip_address(connection.getpeername()[0]) != address:
            raise NotPublic
    except BaseException:
        connection.close()
        raise
    return connection


def _start_tls(plain: socket.socket, host: str, deadline: Deadline) -> ssl.SSLSocket:
    """Start TLS with a server that has a certificate for the host.

    Raises OSError, with the connection closed.
    """
    # The handshake is done explicitly: without a peer, wrapping would silently skip it.
    connection = trusted_authorities().wrap_socket(
        plain, server_hostname=host, do_handshake_on_connect=False
    )
    try:
        connection.settimeout(deadline.left())
        connection.do_handshake()
    except BaseException:
        connection.close()
        raise
    return connection


@cache
def trusted_authorities() -> ssl.SSLContext:
    return httpcore2.default_ssl_context()


class BoundedStream(httpcore2.NetworkStream):
    """A connection for httpcore2: every read and write ends by the deadline, and at most `most`
    bytes are read.
    """

    def __init__(self, connection: socket.socket, deadline: Deadline, most: int) -> None:
        self._connection = connection
        self._deadline = deadline
        self._most = most
        self._read = 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._read >= self._most:
            raise AnswerTooLong
        self._connection.settimeout(self._deadline.left())
        data = self._connection.recv(min(max_bytes, self._most - self._read))
        if not data and not self._read:
            raise ConnectionResetError
        self._read += len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        while buffer:
            self._connection.settimeout(self._deadline.left())
            buffer = buffer[self._connection.send(buffer) :]

    def close(self) -> None:
        self._connection.close()
