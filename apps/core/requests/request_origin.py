"""The origin of the current request: its address and its session."""

import logging
import threading
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from apps.core.requests.addresses import client_address, is_trusted

log = logging.getLogger(__name__)

FORWARDING_HEADERS: Final = frozenset(
    {
        "HTTP_CF_CONNECTING_IP",
        "HTTP_FORWARDED",
        "HTTP_TRUE_CLIENT_IP",
        "HTTP_VIA",
        "HTTP_X_CLIENT_IP",
        "HTTP_X_REAL_IP",
    }
)
"""Headers that proxies add, beside X-Forwarded-For, -Proto, -Host and the like."""
_warned = threading.Lock()  # taken by the first warning of this process and never released


@dataclass(frozen=True, slots=True)
class Origin:
    """`address` is the client's address, if it has one.

    `session_id` is the session or key of the request, empty until it is verified.
    """

    address: str | None = None
    session_id: str = ""


_NOWHERE: Final = Origin()
_current: ContextVar[Origin] = ContextVar("request_origin", default=_NOWHERE)


def begin(request: HttpRequest) -> None:
    """Make this request the current one, and forget the previous one."""
    peer = request.META.get("REMOTE_ADDR", "")
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    _current.set(Origin(client_address(peer, forwarded, settings.TRUSTED_PROXIES)))
    if not _warned.locked() and _is_of_unknown_proxy(request) and _warned.acquire(blocking=False):
        log.warning(
            "a request from %s has forwarding headers, which are ignored: if that is your proxy,"
            " name it in TRUSTED_PROXIES; until then all of its clients count as one address",
            peer,
        )


def is_forwarded(request: HttpRequest) -> bool:
    """Return whether the headers show that a proxy forwarded the request."""
    return any(
        name in FORWARDING_HEADERS or name.startswith("HTTP_X_FORWARDED_") for name in request.META
    )


def _is_of_unknown_proxy(request: HttpRequest) -> bool:
    return (
        is_forwarded(request)
        and _current.get().address is not None
        and not is_trusted(request.META["REMOTE_ADDR"], settings.TRUSTED_PROXIES)
    )


def proven_by(session_id: str) -> None:
    """Set the verified session of the current request."""
    _current.set(replace(_current.get(), session_id=session_id))


def current_origin() -> Origin:
    """Return the current origin, empty outside of a request."""
    return _current.get()
