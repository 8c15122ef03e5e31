"""The id of a request, in the answer and in every log line."""

import logging
import re
import secrets
from contextvars import ContextVar

REQUEST_ID_HEADER = "X-Request-ID"
_FORM = re.compile(r"[A-Za-z0-9._-]{1,128}")
_current: ContextVar[str] = ContextVar("request_id", default="-")


def begin_request_id(offered: str | None) -> str:
    """Make the client's id current if it has a harmless form, or else a new id."""
    known = offered if offered and _FORM.fullmatch(offered) else secrets.token_hex(16)
    _current.set(known)
    return known


def current_request_id() -> str:
    """Return the id of the current request, `-` outside of one."""
    return _current.get()


class AddRequestId(logging.Filter):
    """Puts the current id on every log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.requestId = current_request_id()
        return True
