"""Connections to addresses that were checked, which end by a deadline whatever the other side does.

httpcore2 speaks HTTP over them; it is given no name to look up and nothing else to connect to.
"""

import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from ipaddress import ip_address
from typing import Final

import httpcore2

from apps.webhooks.public_addresses import Address
from apps.webhooks.targets import NotPublic

_TRIED: Final = 3
"""Addresses of one name. They share the time to connect in, so of many each would get too little.
"""


class AnswerTooLong(Exception):
    """More bytes than are read."""


class Deadline:
    """A moment, so many seconds from now, by which something ends."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds until then, more than none. Raises TimeoutError."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def connect(addresses: Sequence[Address], port: int, within: float) -> socket.socket:
    """A connection to the first of these addresses that takes one. Raises OSError."""
    deadline = Deadline(within)
    *others, last = addresses[:_TRIED]
    for place, address in enumerate(others):
        with suppress(OSError):
            return _connection(address, port, deadline.left() / (len(others) + 1 - place))
    return _connection(last, port, deadline.left())


def _connection(address: Address, port: int, within: float) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(within)
        made.connect((str(address), port))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if ip_address(made.getpeername()[0]) != address:
            raise NotPublic
    except BaseException:
        made.close()
        raise
    return made


def with_tls(plain: socket.socket, name: str, deadline: Deadline) -> ssl.SSLSocket:
    """The same connection under TLS, with a certificate of that name. Raises OSError, and closes it
    then.
    """
    # The handshake is asked for by itself: without a peer, wrapping would pass over it in silence.
    made = trust().wrap_socket(plain, server_hostname=name, do_handshake_on_connect=False)
    try:
        made.settimeout(deadline.left())
        made.do_handshake()
    except BaseException:
        made.close()
        raise
    return made


@cache
def trust() -> ssl.SSLContext:
    """The authorities that this machine trusts, or those of SSL_CERT_FILE."""
    return httpcore2.default_ssl_context()


class BoundedStream(httpcore2.NetworkStream):
    """A connection for httpcore2: every read and write ends by the deadline, and at most `most`
    bytes are read, of headers and body together.
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
