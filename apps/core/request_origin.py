"""Where the request that is being served comes from, and what proved whose it is."""

from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from apps.core.client_address import client_address


@dataclass(frozen=True, slots=True)
class Origin:
    """`address`: the client's, where it has one; `session_id`: of the session, or of the key, that
    the request carries, empty until it has been verified.
    """

    address: str | None = None
    session_id: str = ""


_NOWHERE: Final = Origin()
_current: ContextVar[Origin] = ContextVar("request_origin", default=_NOWHERE)


def begin(request: HttpRequest) -> None:
    """It is the current one from now on; nothing is left of the one before."""
    peer = request.META.get("REMOTE_ADDR", "")
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    _current.set(Origin(client_address(peer, forwarded, settings.TRUSTED_PROXIES)))


def proven_by(session_id: str) -> None:
    """Its session is known from now on."""
    _current.set(replace(_current.get(), session_id=session_id))


def current() -> Origin:
    """Empty outside of a request."""
    return _current.get()
