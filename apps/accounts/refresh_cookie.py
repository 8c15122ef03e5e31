"""The cookie that holds the refresh token, and who may use it.

Browsers send it only to /api/auth, only from the service's own site, and scripts cannot read it.
"""

from typing import Final

from django.conf import settings
from django.http import HttpResponseBase
from rest_framework.request import Request

from apps.core.errors import Forbidden

NAME: Final = "refreshToken"
PATH: Final = "/api/auth"


def put(response: HttpResponseBase, token: str, *, max_age: int) -> None:
    """Set the cookie; Django's own `set_cookie` would add `expires`."""
    response.cookies[NAME] = token
    morsel = response.cookies[NAME]
    morsel.set(NAME, token, token)  # as it is: http.cookies writes an empty value as ""
    morsel["max-age"] = str(max_age)
    morsel["path"] = PATH
    morsel["samesite"] = "Strict"
    morsel["httponly"] = morsel["secure"] = "yes"  # any text: these two are written without a value


def clear(response: HttpResponseBase) -> None:
    put(response, "", max_age=0)


def taken_from(request: Request) -> str | None:
    """The cookie's value; None when there is none, or two, as nobody can say which one is meant."""
    pairs = (pair.strip().partition("=") for pair in request.headers.get("Cookie", "").split(";"))
    values = [value for name, _, value in pairs if name == NAME]
    return values[0] if len(values) == 1 else None


def refuse_cross_site(request: Request) -> None:
    """Refuse a browser that another site sent here. Programs send neither header and may pass."""
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        raise Forbidden(reason="This call cannot be made from another site.")
    origin = request.headers.get("Origin")
    if origin is not None and origin not in _origins(request):
        raise Forbidden(reason="This call cannot be made from this origin.")


def _origins(request: Request) -> list[str]:
    """The allowed ones and the service's own, whose TLS may end at a proxy."""
    host = request.get_host()
    return [*settings.CORS_ALLOWED_ORIGINS, f"https://{host}", f"http://{host}"]
