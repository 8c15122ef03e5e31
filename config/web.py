"""gunicorn's worker, whose own refusals leave in the envelope too, and whose threads do not fight
over the interpreter (config/decisions/0030).

Two of its threads have hands free: one works while the other waits for PostgreSQL. Each serves a
request from its first byte to its last, and looks for more itself. When a request takes long,
another thread takes over from the one that has it.
"""

import gc
import socket
import struct
import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
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
HANDS: Final = 2
"""Threads that take requests: with more the interpreter goes round among them, and none gains."""
PATIENCE: Final = 0.04
"""Seconds that a request may take before another thread takes over; so often that is looked for."""
SECONDS_BETWEEN_SIGNS: Final = 1
"""Of life, for gunicorn's master."""


@dataclass(eq=False, slots=True)
class Hand:
    """What a thread holds while it may take requests; `since`: when it took the one it serves."""

    since: float | None = None
    let_go: bool = False

    def is_late(self) -> bool:
        since = self.since
        return since is not None and time.monotonic() - since > PATIENCE


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """`--worker-class config.web.Worker`. Any: gunicorn's own values."""

    alive: bool

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._hands: dict[Hand, Future[None]] = {}
        self._ready: deque[Any] = deque()
        self._looking = threading.Lock()
        """Has whoever waits for connections, for all."""
        self._lock = threading.Lock()
        """Without it nothing changes in what is known of connections, or how many threads work."""
        self._busy = 0
        self._next_sign = 0.0

    def init_process(self) -> None:
        """What the processes share stays as it is: the collector of garbage passes it by."""
        gc.freeze()
        # A request asks for thirty of them, which gunicorn looks up by a function each time.
        self.cfg.__dict__.update({name: one.get() for name, one in self.cfg.settings.items()})
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
        self.set_accept_enabled(True)
        for _ in range(HANDS):
            self._lend_hand()
        try:
            while self.alive and self.is_parent_alive():
                self._watch()
            self.alive = False
            until = time.monotonic() + self.cfg.graceful_timeout
            while self.nr_conns > 0 and time.monotonic() < until:
                self._watch()
        finally:
            for hand in self._hands:
                hand.let_go = True
            self.method_queue.defer(lambda: None)  # whoever looks, looks up and goes
            self.tpool.shutdown(wait=False)

    def _lend_hand(self) -> None:
        hand = Hand()
        with self._lock:
            self._busy += 1
        self._hands[hand] = self.tpool.submit(self._work, hand)

    def _watch(self) -> None:
        """A while, and then see to it that as many hands as can be are free to take requests."""
        now = time.monotonic()
        if now >= self._next_sign:
            self.notify()
            self._next_sign = now + SECONDS_BETWEEN_SIGNS
        time.sleep(PATIENCE)
        for hand, work in list(self._hands.items()):
            if work.done():
                work.result()  # it ends before it is let go by an error alone
            if hand.is_late() and self._busy < self.cfg.threads:
                hand.let_go = True
                del self._hands[hand]
                self._lend_hand()

    def _work(self, hand: Hand) -> None:
        """Serve what is ready until another has taken over; what is under way is served to its
        end.
        """
        try:
            while not hand.let_go:
                try:
                    conn = self._ready.popleft()
                except IndexError:
                    self._look(hand)
                    continue
                hand.since = time.monotonic()
                self._finish(conn, stays=self.handle(conn))
                hand.since = None
        finally:
            with self._lock:
                self._busy -= 1

    def _look(self, hand: Hand) -> None:
        """Wait until a connection brings something, a second at most; one does it for all."""
        with self._looking:
            if self._ready or hand.let_go:  # by now
                return
            happened = self.poller.select(timeout=1.0)
            with self._lock:
                for key, _ in happened:
                    key.data(key.fileobj)
                self._look_after_connections()

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

    def _finish(self, conn: Any, *, stays: bool) -> None:
        """Leave a connection to wait for its next request, or close it, which may take a while."""
        if not stays:
            conn.close(graceful=True)
            with self._lock:
                self.nr_conns -= 1
        elif conn.parser.unreader.buf.getvalue():  # it has come, but others are first
            self.method_queue.defer(self.enqueue_req, conn)
        else:
            with self._lock:
                self._keep(conn)

    def _keep(self, conn: Any) -> None:
        conn.set_timeout()
        if not self.alive:
            conn.timeout = min(conn.timeout, time.monotonic() + STOP_KEEPALIVE_LINGER)
        self.keepalived_conns.append(conn)
        waits = partial(self.on_client_socket_readable, conn)
        self.poller.register(conn.sock, EVENT_READ, waits)

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
