"""uvicorn's HTTP protocol with deadlines and limits, and errors in the service's envelope.

uvicorn lets a server choose its protocol class (`http=`) and subclass its own. This one overrides
asyncio's callbacks, httptools' callbacks (`on_url` and so on) and four methods without an
underscore: `send_400_response`, `on_response_complete`, `shutdown` and `connection_made`. uvicorn
documents none of the attributes that a subclass reads; those read here are all public by name:
`transport`, `flow`, `loop`, `client`, `connections`, `parser`, `scope`, `url`, `headers`,
`pipeline`, and of `cycle` (a request and its answer) `response_complete`, `response_started`,
`more_body`, `keep_alive`, `disconnected` and `message_event`. tests/ops/test_http_protocol.py
and tests/ops/test_web.py test what they must do.
"""

import asyncio
import resource
from collections import Counter
from typing import ClassVar, Final

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from apps.core.client_address import is_trusted, network_of
from apps.ops.web.responses import error_response

# The name of our extension of the ASGI scope: `abort` cuts the connection off, and `is_pipelined`
# says that the request came before the answer to the one before it.
CONNECTION: Final = "algotrade.connection"
# A new connection may be silent for so long.
SECONDS_TO_BEGIN: Final = 10.0
# From the first byte of a request to the end of its headers.
SECONDS_FOR_HEAD: Final = 10.0
# From an answer to the next request.
SECONDS_KEPT_ALIVE: Final = 5.0
# A client may take so long to read a refusal, or the end of an answer, before it is cut off.
SECONDS_TO_CLOSE: Final = 2.0
# A deadline that is nearer than the last one is kept so late at most.
_SECONDS_BETWEEN_CHECKS: Final = 2.0

MAX_URL: Final = 8190
MAX_FIELD: Final = 8190
MAX_FIELDS: Final = 100
# Bytes of a head beyond the piece in which it begins, which the event loop bounds to 256 KiB.
MAX_HEAD: Final = 64 * 1024
# Requests that wait on one connection; those sent beyond them are not answered.
MAX_PIPELINED: Final = 16
# Connections of one client address to one web process; proxies that we trust are not counted.
MAX_OF_ADDRESS: Final = 1024
# Descriptors of a web process that are not for connections: its database, logs and files.
FILES_KEPT_FREE: Final = 256


class RejectedHead(Exception):
    """Ends the parser; `_status` of the protocol says why."""


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    # Open connections of this process.
    by_address: ClassVar[Counter[str]] = Counter()

    _address: str | None = None
    _timer: asyncio.TimerHandle | None = None
    # None while a request is answered: its body and its answer have deadlines of their own.
    _deadline: float | None = None
    _in_head = False
    _head_bytes = 0
    # What the parser's next error means to the client.
    _status = 400
    # A refusal that waits for the answers before it.
    _refusal_due: int | None = None
    # The request that was read last is the last one that is answered.
    _is_last = False
    # Whatever the client still sends is discarded.
    _discards_input = False

    # ---------------------------------------------------------------------- asyncio's callbacks

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline(SECONDS_TO_BEGIN)
        self._watch()
        if len(self.connections) > most_connections():
            self._discards_input = True
            transport.abort()
        elif self.client and not is_trusted(self.client[0], settings.TRUSTED_PROXIES):
            self._address = network_of(self.client[0])
            self.by_address[self._address] += 1
            if self.by_address[self._address] > MAX_OF_ADDRESS:
                self._refuse(503)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._address is not None:
            self.by_address[self._address] -= 1
            if not self.by_address[self._address]:
                del self.by_address[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._discards_input:
            return
        self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > MAX_HEAD and not self._discards_input:
            self._reject_in_order(431)

    def eof_received(self) -> bool:  # type: ignore[override]
        """True keeps the connection open: a client may stop sending and still read its answer.

        A body that was cut short is handed on as it is, and refused where it is read.
        """
        if self._discards_input or not self._is_answering():
            return False
        self._discards_input = True
        self.cycle.keep_alive = False
        if self.cycle.more_body:
            self.on_message_complete()
        return True

    # --------------------------------------------------------------------- httptools' callbacks

    def on_message_begin(self) -> None:
        if self._is_last:
            raise RejectedHead
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._set_deadline(SECONDS_FOR_HEAD)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MAX_URL:
            self._reject(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > MAX_FIELDS or len(name) + len(value) > MAX_FIELD:
            self._reject(431)

    def on_headers_complete(self) -> None:
        if self.parser.get_http_version() == "1.1" and not self._names_host():
            self._reject(400)
        self.scope["extensions"] = {
            CONNECTION: {"abort": self.transport.abort, "is_pipelined": self._is_answering()}
        }
        super().on_headers_complete()
        self._in_head, self._deadline = False, None
        # An upgrade leads to nothing that is spoken here.
        if self.parser.should_upgrade() or len(self.pipeline) >= MAX_PIPELINED:
            self.cycle.keep_alive = False
            self._is_last = True

    def _names_host(self) -> bool:
        return any(name == b"host" for name, _ in self.headers)

    def _reject(self, status: int) -> None:
        self._status = status
        raise RejectedHead

    # -------------------------------------------------------------------------- uvicorn's hooks

    def send_400_response(self, msg: str) -> None:
        """Respond to what the parser cannot read."""
        if self._is_last and not self._is_reading_body():
            self._discards_input = True
        elif not self._discards_input:
            self._reject_in_order(self._status)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_answering():  # the next one of the pipeline
            return
        self._set_deadline(SECONDS_FOR_HEAD if self._in_head else SECONDS_KEPT_ALIVE)
        if self._refusal_due is not None:
            self._refuse(self._refusal_due)

    def timeout_keep_alive_handler(self) -> None:
        """Do nothing: the deadline closes, which empty lines do not extend as they do uvicorn's."""

    # -------------------------------------------------------------------------------- deadlines

    def _set_deadline(self, seconds: float) -> None:
        self._deadline = self.loop.time() + seconds

    def _watch(self) -> None:
        """Check the deadline now and then: a timer for each request would cost more."""
        now = self.loop.time()
        if self._deadline is not None and now >= self._deadline:
            self._end()
        next_check = now + _SECONDS_BETWEEN_CHECKS
        if self._deadline is not None and self._deadline > now:
            next_check = min(next_check, self._deadline)
        self._timer = self.loop.call_at(next_check, self._watch)

    def _end(self) -> None:
        """Close the connection of a client that has let its deadline pass."""
        if self._is_answering():
            self._set_deadline(SECONDS_FOR_HEAD)
        elif self.transport.is_closing() or self._discards_input:
            self.transport.abort()
        elif self._in_head:
            self._refuse(408)
        else:
            self._set_deadline(SECONDS_TO_CLOSE)
            self.transport.close()

    # --------------------------------------------------------------------------------- refusals

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _reject_in_order(self, status: int) -> None:
        """Respond after the responses to earlier requests; at once when the body is bad."""
        self._in_head = False
        if self._is_answering() and not self._is_reading_body():
            self._discards_input, self._refusal_due = True, status
            return
        if self._is_answering():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._refuse(status)

    def _is_reading_body(self) -> bool:
        """Return whether the body of the one request being served is still arriving."""
        cycle = self.cycle
        return cycle.more_body and not cycle.response_started and not self.pipeline

    def _refuse(self, status: int) -> None:
        """Respond and close.

        What still arrives is read and discarded: a socket that is closed with unread bytes is
        reset, and the client might never see the response.
        """
        self._discards_input, self._in_head, self._refusal_due = True, False, None
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        self.transport.write(error_response(status).as_bytes())
        self.transport.write_eof()
        self._set_deadline(SECONDS_TO_CLOSE)


def most_connections() -> int:
    """Return how many connections leave this process enough file descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(soft - FILES_KEPT_FREE, soft // 2)
