"""gunicorn's worker, whose own refusals leave in the envelope too, and whose threads do not fight
over the interpreter (config/decisions/0017).
"""

import gc
import socket
import struct
import time
from collections import deque
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from selectors import EVENT_READ
from typing import Any, Final

import orjson
from gunicorn.http.errors import (  # type: ignore[import-untyped]
    InvalidHeader,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.workers.gthread import TConn, ThreadWorker  # type: ignore[import-untyped]

# What cannot be parsed never becomes a request; the most telling kind comes first.
REFUSALS: Final = {LimitRequestLine: 414, LimitRequestHeaders: 431, ParseException: 400}
SILENCE_SECONDS: Final = 10
"""For so long a client may send nothing in the middle of a request: it holds a thread meanwhile."""
SECONDS_TO_BEGIN: Final = 7
"""For so long a new connection may bring nothing; it holds no thread."""
AT_ONCE: Final = 2
"""So many requests of one process are served at once while they are quick: each further thread
makes all of them slower, as they take the interpreter from one another at every wait.
"""
PATIENCE: Final = 0.02
"""Seconds that a request waits for those before it; then it gets a thread of its own."""


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """`--worker-class config.web.Worker`. Any: gunicorn's own values."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._served = 0
        self._waiting: deque[tuple[float, Any]] = deque()

    def init_process(self) -> None:
        """What the processes share stays as it is: the collector of garbage passes it by."""
        gc.freeze()
        super().init_process()

    def accept(self, listener: socket.socket) -> None:
        """A new connection waits for its first request as others do for their next."""
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # another process was quicker
            return
        self.nr_conns += 1
        silence = struct.pack("ll", SILENCE_SECONDS, 0)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, silence)
        made = TConn(self.cfg, client, address, listener.getsockname())
        made.timeout = time.monotonic() + SECONDS_TO_BEGIN
        self.pending_conns.append(made)
        self.poller.register(client, EVENT_READ, partial(self.on_pending_socket_readable, made))

    def enqueue_req(self, conn: Any) -> None:
        """It can be read, and gets a thread in its turn."""
        self._waiting.append((time.monotonic() + PATIENCE, conn))
        self._serve_next()

    def finish_request(self, conn: Any, fs: Any) -> None:
        self._served -= 1
        super().finish_request(conn, fs)
        self._serve_next()

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        super().wait_for_and_dispatch_events(min(timeout, PATIENCE) if self._waiting else timeout)
        self._serve_next()

    def _cap_keepalive(self, deadline: float) -> None:
        """A worker that stops waits no longer for a first request than for another one."""
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

    def _serve_next(self) -> None:
        while self._waiting:
            until, conn = self._waiting[0]
            if self._served >= AT_ONCE and time.monotonic() < until:
                return
            self._waiting.popleft()
            self._served += 1
            super().enqueue_req(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """HTTP/1.1 wants a Host, and Django would make one up."""
        if req.version >= (1, 1) and "HOST" not in dict(req.headers):
            raise InvalidHeader("HOST")
        return super().handle_request(req, conn)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer what Django never sees; request and address stay unused."""
        status = next((code for kind, code in REFUSALS.items() if isinstance(exc, kind)), 500)
        if status == 500:
            self.log.error("a request could not be served", exc_info=exc)
        with suppress(OSError):  # the client may be gone
            client.sendall(refusal(status))


def refusal(status: int) -> bytes:
    """A whole HTTP answer in bytes. Imports late: gunicorn's master never loads the service."""
    from apps.core import envelope, middleware, request_id

    known = request_id.begin(None)
    body = orjson.dumps(envelope.refusal_of_http(status))
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        request_id.HEADER: known,
        **middleware.API_HEADERS,
    }
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
