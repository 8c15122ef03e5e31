"""The two cookies of a browser: the refresh token, and a login by Django's own session.

Browsers send the refresh token only to /api/auth, only from the service's own site, and scripts
cannot read it. Django's session is for web applications that keep no token. It holds only the id of
the login session, so it ends with that row, and it does not log in to the admin.
"""

import re
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import rotate_token
from django.utils.functional import cached_property
from rest_framework.authentication import CSRFCheck
from rest_framework.request import Request

from apps.accounts.models import LoginSession
from apps.core.errors import Forbidden

REFRESH_COOKIE: Final = "refreshToken"
REFRESH_PATH: Final = "/api/auth"
_SESSION_VARIABLE: Final = "session"
_SESSION_KEY: Final = re.compile(r"[a-z0-9]{32}")  # as Django makes them


# The refresh token.


def set_refresh_token(response: HttpResponseBase, token: str, *, max_age: int) -> None:
    """Set the cookie by hand: Django's own `set_cookie` would add `expires`."""
    response.cookies[REFRESH_COOKIE] = token
    morsel = response.cookies[REFRESH_COOKIE]
    morsel.set(REFRESH_COOKIE, token, token)  # as it is: http.cookies writes an empty value as ""
    morsel["max-age"] = str(max_age)
    morsel["path"] = REFRESH_PATH
    morsel["samesite"] = "Strict"
    morsel["httponly"] = morsel["secure"] = "yes"  # any text: these two are written without a value


def clear_refresh_token(response: HttpResponseBase) -> None:
    set_refresh_token(response, "", max_age=0)


def refresh_token_in(request: Request) -> str | None:
    """Return the cookie's value; None without a cookie, or with two, because either may be
    meant.
    """
    pairs = (pair.strip().partition("=") for pair in request.headers.get("Cookie", "").split(";"))
    values = [value for name, _, value in pairs if name == REFRESH_COOKIE]
    return values[0] if len(values) == 1 else None


def refuse_cross_site(request: Request) -> None:
    """Refuse a browser that another site sent here. Programs send neither header and may pass."""
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        raise Forbidden(reason="This call cannot be made from another site.")
    origin = request.headers.get("Origin")
    # The service's own TLS may end at a proxy.
    own = (f"https://{request.get_host()}", f"http://{request.get_host()}")
    if origin is not None and origin not in (*settings.CORS_ALLOWED_ORIGINS, *own):
        raise Forbidden(reason="This call cannot be made from this origin.")


# The session cookie.


def log_browser_in(request: HttpRequest, session: LoginSession) -> None:
    """Log the browser in, with its cookie and a new CSRF token.

    An operator's login to the admin, held by Django's session, stays under a new session key.
    """
    if not _is_sent(request):
        request.session = type(request.session)()  # the present cookie may hold an unstorable key
    request.session.cycle_key()
    request.session[_SESSION_VARIABLE] = session.pk
    rotate_token(request)


def session_id_in(request: HttpRequest) -> str | None:
    """Return the id of the login session in the cookie; the session may have ended."""
    return request.session.get(_SESSION_VARIABLE) if _is_sent(request) else None


def log_browser_out(request: HttpRequest) -> None:
    """Forget the login session; an operator's login to the admin stays."""
    session = request.session
    if session_id_in(request) is not None:
        del session[_SESSION_VARIABLE]
        if session.is_empty() or not session.keys():
            session.flush()


class ApiCsrfCheck(CSRFCheck):
    """Check the CSRF token under /api, where web applications of other origins may call."""

    @cached_property
    def allowed_origins_exact(self) -> set[str]:
        return {*settings.CSRF_TRUSTED_ORIGINS, *settings.CORS_ALLOWED_ORIGINS}


def check_csrf(request: Request) -> None:
    """Refuse an unsafe call without the CSRF token, or from another origin."""
    check = ApiCsrfCheck(_no_response)
    check.process_request(request._request)
    rejection = check.process_view(request._request, _no_response, (), {})
    if rejection is not None:
        raise Forbidden(reason=f"A call with the session cookie needs X-CSRFToken: {rejection}")


def _is_sent(request: HttpRequest) -> bool:
    return _SESSION_KEY.fullmatch(request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")) is not None


def _no_response(request: HttpRequest) -> HttpResponse:
    """Stand in for the view that Django's check wraps and here never calls."""
    raise AssertionError("a check calls no view")
