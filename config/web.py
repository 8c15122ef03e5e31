"""gunicorn's worker, whose own refusals leave in the envelope too."""

import socket
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import orjson
from gunicorn.http.errors import (  # type: ignore[import-untyped]
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

# What cannot be parsed never becomes a request; the most telling kind comes first.
REFUSALS: Final = {LimitRequestLine: 414, LimitRequestHeaders: 431, ParseException: 400}


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """`--worker-class config.web.Worker`."""

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
