"""A whole HTTP response, and the error responses that never reach Django."""

from contextvars import copy_context
from http import HTTPStatus
from typing import Final, NamedTuple

from apps.core import request_id
from apps.core.api import exceptions, middleware

Headers = list[tuple[bytes, bytes]]

CLOSE_HEADER: Final = (b"connection", b"close")


class RawResponse(NamedTuple):
    """Status, headers and body, ready to be sent."""

    status: int
    headers: Headers
    body: bytes

    def as_bytes(self) -> bytes:
        """Return the response as HTTP/1.1 writes it."""
        head = [b"HTTP/1.1 %d %s" % (self.status, HTTPStatus(self.status).phrase.encode())]
        head += [b"%s: %s" % header for header in self.headers]
        return b"\r\n".join([*head, b"", self.body])


def error_response(status: int) -> RawResponse:
    """Return the error of `status` with a request id of its own; it closes the connection."""
    return copy_context().run(_error_response, status)


def _error_response(status: int) -> RawResponse:
    """Set the current request id, so the caller runs this in a context of its own."""
    new_id = request_id.begin(None)
    response = exceptions.http_response(exceptions.refusal_of_http(status))
    headers = {**response.headers, request_id.HEADER: new_id, **middleware.API_HEADERS}
    headers["Content-Length"] = str(len(response.content))
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return RawResponse(status, [*encoded, CLOSE_HEADER], response.content)
