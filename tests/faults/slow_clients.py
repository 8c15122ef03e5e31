"""Connections that are slow on purpose, in a separate process.

    python -m tests.faults.slow_clients KIND COUNT PORT ADDRESS [PATH]

Prints "ready" once the wanted number is open. A connection cut by the server is opened again at
once. Ends with its standard input.
"""

import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

SECONDS_BETWEEN_BYTES: Final = 9.5
HEAD: Final = (
    b"POST /api/auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """The bytes sent at the opening of a connection, and every few seconds; `reads` if it reads the
    answer, `is_kept_up` if it is opened again after the server closes it.
    """

    first: Callable[[str], bytes]
    drip: bytes = b""
    reads: bool = True
    is_kept_up: bool = True


def pipelined(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() * 60


KINDS: Final = {
    "idle": Kind(lambda path: b"", is_kept_up=False),
    "slow head": Kind(lambda path: b"GET /api/x HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ", drip=b"a"),
    "slow body": Kind(lambda path: HEAD + b"Content-Length: 60000\r\n\r\n{", drip=b"a"),
    "body that never comes": Kind(lambda path: HEAD + b"Content-Length: 8000000\r\n\r\n"),
    "never reading": Kind(pipelined, reads=False),
}


class Crowd:
    """The connections of one process."""

    def __init__(self, kind: Kind, port: int, address: str, path: str) -> None:
        self._kind = kind
        self._port, self._address, self._path = port, address, path
        self._open: dict[int, socket.socket] = {}
        self._poll = select.poll()
        self._dripped = time.monotonic()

    def open(self) -> None:
        connection = socket.socket()
        if not self._kind.reads:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((self._address, 0))
        try:
            connection.connect(("127.0.0.1", self._port))
            connection.sendall(self._kind.first(self._path))
        except OSError:
            connection.close()
            return
        connection.setblocking(False)
        self._open[connection.fileno()] = connection
        # An error and a hang-up are always told.
        self._poll.register(connection, select.POLLIN if self._kind.reads else select.POLLRDHUP)

    def go_on(self, wanted: int) -> None:
        """Advance all connections by a moment."""
        for descriptor, _ in self._poll.poll(200):
            if self._has_ended(self._open[descriptor]):
                self._poll.unregister(descriptor)
                self._open.pop(descriptor).close()
        if self._kind.is_kept_up:
            for _ in range(wanted - len(self._open)):
                self.open()
        if self._kind.drip and time.monotonic() - self._dripped > SECONDS_BETWEEN_BYTES:
            self._dripped = time.monotonic()
            for connection in self._open.values():
                with suppress(OSError):
                    connection.send(self._kind.drip)

    def _has_ended(self, connection: socket.socket) -> bool:
        if not self._kind.reads:
            return True
        try:
            return not connection.recv(65536)
        except BlockingIOError:
            return False
        except OSError:
            return True


def main(kind: str, count: str, port: str, address: str, path: str = "/") -> None:
    crowd = Crowd(KINDS[kind], int(port), address, path)
    wanted = int(count)
    for _ in range(wanted):
        crowd.open()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        crowd.go_on(wanted)


if __name__ == "__main__":
    main(*sys.argv[1:])
