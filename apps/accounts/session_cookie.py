"""A browser's login by Django's own session, for web applications that keep no token.

Django's session holds nothing but the id of the session row, so it ends when the row does. It is no
login to the admin's pages.
"""

import re
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from rest_framework.authentication import CSRFCheck
from rest_framework.request import Request

from apps.accounts.models import LoginSession
from apps.core.errors import Forbidden

_NAME: Final = "session"
_KEY: Final = re.compile(r"[a-z0-9]{32}")  # as Django makes them


def put(request: Request, session: LoginSession) -> None:
    """Log the browser in; its cookie and a new CSRF token leave with the response.

    What Django's session held, an operator's login to the admin, stays, under another key.
    """
    inner = request._request
    if not _is_sent(inner):
        inner.session = type(inner.session)()  # what the cookie holds may not even be storable
    inner.session.cycle_key()
    inner.session[_NAME] = session.pk
    rotate_token(inner)


def session_id_in(request: HttpRequest) -> str | None:
    """The id of the session row that the cookie stands for, which may have ended."""
    return request.session.get(_NAME) if _is_sent(request) else None


def drop(request: Request) -> None:
    session = request._request.session
    if session_id_in(request._request) is not None:
        del session[_NAME]
        if session.is_empty() or not session.keys():
            session.flush()


def check_csrf(request: Request) -> None:
    """Refuse an unsafe verb that does not bring the CSRF token, or comes from another origin."""
    check = CSRFCheck(_no_response)
    check.process_request(request._request)
    verdict = check.process_view(request._request, _no_response, (), {})
    if verdict is not None:
        raise Forbidden(reason=f"A call with the session cookie needs X-CSRFToken: {verdict}")


def _is_sent(request: HttpRequest) -> bool:
    return _KEY.fullmatch(request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")) is not None


def _no_response(request: HttpRequest) -> HttpResponse:
    """What Django's check wants to wrap; it is only asked for its verdict."""
    raise AssertionError("a check calls no view")
