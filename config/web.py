"""gunicorn's worker, whose own refusals leave in the envelope too."""

import socket
import struct
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import orjson
from gunicorn.http.errors import (  # type: ignore[import-untyped]
    InvalidHeader,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

# What cannot be parsed never becomes a request; the most telling kind comes first.
REFUSALS: Final = {LimitRequestLine: 414, LimitRequestHeaders: 431, ParseException: 400}
SILENCE_SECONDS: Final = 10
"""For so long a client may send nothing in the middle of a request: it holds a thread meanwhile."""


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """`--worker-class config.web.Worker`."""

    def handle(self, conn: Any) -> Any:
        """A request or more of one connection. Any: gunicorn's own values."""
        limit = struct.pack("ll", SILENCE_SECONDS, 0)
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """HTTP/1.1 wants a Host, and Django would make one up. Any: as above."""
        if req.version >= (1, 1) and "HOST" not in dict(req.headers):
            raise InvalidHeader("HOST")
        return super().handle_request(req, conn)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer what Django never sees. Any: gunicorn's own values, which stay unused."""
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
