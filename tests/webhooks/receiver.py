"""Receivers of webhooks on this machine: good and hostile ones, with TLS and without."""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_network

from apps.webhooks.sending.address_guard import Exemptions

Behaviour = Callable[[socket.socket], None]
LOOPBACK = Exemptions(networks=[ip_network("127.0.0.0/8")], http=True)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Receiver:
    """The received bytes of each request, and the server names of TLS clients."""

    port: int
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def receiver(*behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Yield a receiver.

    After reading a request, each connection gets the next behaviour in turn.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        made = Receiver(listening.getsockname()[1])
        if tls is not None:
            tls.sni_callback = lambda _, name, __: made.names.append(name)
        connections: list[socket.socket] = []

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    connections.append(connection)
                    behaviour = behaviours[made.connections % len(behaviours)]
                    made.connections += 1
                    threading.Thread(target=meet, args=(connection, behaviour), daemon=True).start()

        def meet(plain: socket.socket, behaviour: Behaviour) -> None:
            with suppress(OSError):
                connection = plain if tls is None else tls.wrap_socket(plain, server_side=True)
                with connection:
                    made.requests.append(_request(connection))
                    behaviour(connection)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield made
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for connection in connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def _request(connection: socket.socket) -> bytes:
    """Read a complete request, or the beginning of a TLS handshake."""
    data = b""
    while b"\r\n\r\n" not in data and not data.startswith(b"\x16"):
        data += _received(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    length = int(lengths[0].split(b":")[1]) if lengths else 0
    while len(body) < length:
        body += _received(connection)
    return head + b"\r\n\r\n" + body


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionResetError
    return data


def says(*parts: bytes) -> Behaviour:
    """Send these bytes and close."""

    def behave(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return behave


def goes_on_with(start: bytes, part: bytes, *, every: float = 0) -> Behaviour:
    """Send without end."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(part)
            time.sleep(every)

    return behave


def says_nothing(connection: socket.socket) -> None:
    """Wait until the other side gives up."""
    connection.recv(1)


def resets_after(start: bytes) -> Behaviour:
    def behave(connection: socket.socket) -> None:
        connection.sendall(start)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    return behave
