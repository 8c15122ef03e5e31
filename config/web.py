"""gunicorn's worker, whose own refusals leave in the envelope too, and whose threads do not fight
over the interpreter (config/decisions/0030).

One of its threads leads: it waits for connections and serves their requests itself, one after the
other. When a request takes long, another thread takes the lead.
"""

import gc
import socket
import struct
import threading
import time
from collections import deque
from concurrent.futures import Future
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
from gunicorn.workers.gthread import (  # type: ignore[import-untyped]
    STOP_KEEPALIVE_LINGER,
    TConn,
    ThreadWorker,
)

# What cannot be parsed never becomes a request; the most telling kind comes first.
REFUSALS: Final = {LimitRequestLine: 414, LimitRequestHeaders: 431, ParseException: 400}
SILENCE_SECONDS: Final = 10
"""For so long a client may send nothing in the middle of a request: it holds a thread meanwhile."""
SECONDS_TO_BEGIN: Final = 7
"""For so long a new connection may bring nothing; it holds no thread."""
PATIENCE: Final = 0.02
"""Seconds that a request may take before another thread takes the lead; so often that is looked
for.
"""
SECONDS_BETWEEN_SIGNS: Final = 1
"""Of life, for gunicorn's master."""


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """`--worker-class config.web.Worker`. Any: gunicorn's own values."""

    alive: bool

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._ready: deque[Any] = deque()
        self._lock = threading.Lock()
        # Under the lock, but for the leader, who may write that it begins:
        self._term = 0
        self._busy = 0
        self._serving_since: float | None = None
        self._leader: Future[None]
        self._next_sign = 0.0

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

    def run(self) -> None:
        """The main thread only watches, so that gunicorn's master always hears of it."""
        self.poller.register(
            self.method_queue.fileno(), EVENT_READ, self.method_queue.run_callbacks
        )
        self._appoint()
        try:
            while self.alive and self.is_parent_alive():
                self._watch()
            self.alive = False
            until = time.monotonic() + self.cfg.graceful_timeout
            while self.nr_conns > 0 and time.monotonic() < until:
                self._watch()
        finally:
            with self._lock:
                self._term += 1
            self.method_queue.defer(lambda: None)  # whoever leads looks up, and goes
            self.tpool.shutdown(wait=False)

    def _appoint(self) -> None:
        """A new leader; the one before it, if any, serves its request to the end."""
        self._term += 1
        self._busy += 1
        self._serving_since = None
        self._leader = self.tpool.submit(self._lead, self._term)

    def _watch(self) -> None:
        """A while, and then see to it that somebody leads who is free to."""
        now = time.monotonic()
        if now >= self._next_sign:
            self.notify()
            self._next_sign = now + SECONDS_BETWEEN_SIGNS
        time.sleep(PATIENCE)
        if self._leader.done():
            self._leader.result()  # it ends before its term does by an error alone
        with self._lock:
            since = self._serving_since
            is_long = since is not None and time.monotonic() - since > PATIENCE
            if is_long and self._busy < self.cfg.threads:
                self._appoint()

    def _lead(self, term: int) -> None:
        """Until another thread does. All that is known of connections is the leader's own."""
        try:
            while self._term == term:
                for _ in range(len(self._ready)):
                    if not self._serve(self._ready.popleft(), term):
                        return
                self._look_after_connections()
                self.wait_for_and_dispatch_events(timeout=0 if self._ready else 1.0)
        finally:
            with self._lock:
                self._busy -= 1

    def _look_after_connections(self) -> None:
        if self.alive:
            self.set_accept_enabled(self.nr_conns < self.worker_connections)
        elif self._accepting:
            self.set_accept_enabled(False)
            self._cap_keepalive(time.monotonic() + STOP_KEEPALIVE_LINGER)
        self.murder_keepalived()
        self.murder_pending()

    def enqueue_req(self, conn: Any) -> None:
        self._ready.append(conn)

    def _serve(self, conn: Any, term: int) -> bool:
        """A request; whether we still lead. Who has lost the lead leaves the rest to the leader."""
        self._serving_since = time.monotonic()
        served: Future[Any] = Future()
        try:
            served.set_result(self.handle(conn))
        except Exception as error:
            served.set_exception(error)
        with self._lock:
            leads = self._term == term
            if leads:
                self._serving_since = None
        if leads:
            self.finish_request(conn, served)
        else:
            self.method_queue.defer(self.finish_request, conn, served)
        return leads

    def _cap_keepalive(self, deadline: float) -> None:
        """A worker that stops waits no longer for a first request than for another one."""
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

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
