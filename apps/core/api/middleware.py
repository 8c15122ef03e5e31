"""What every request passes, outermost first: the envelope and the request id, and the size of the
body.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from corsheaders.middleware import CorsMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from apps.core.api import exceptions
from apps.core.limits.rate_limits import PROBES
from apps.core.requests import request_id, request_origin

log = logging.getLogger("request")

GetResponse = Callable[[HttpRequest], HttpResponseBase]

API: Final = "/api"
API_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
# Pages that may say by a status of their own that something is refused.
_PAGES: Final = ("/admin/", "/account/", "/app/")
# Reports that open without a token, by a signature in the address.
SIGNED: Final = "/reports/"
MAX_COOKIES: Final = 16 * 1024
MAX_BODY: Final = 1024 * 1024
MAX_AUTH_BODY: Final = 64 * 1024
MAX_DRAINED: Final = 8 * MAX_BODY
# Where operators send files (core/files/uploads.py), which in base64 are a third longer.
UPLOADS: Final = ("/api/market/candle-files", "/api/market/masters", "/app/data/upload")
MAX_UPLOAD: Final = 7 * MAX_BODY


class EnvelopeMiddleware:
    """Gives the request its id and makes every refusal leave in the envelope."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        known = request_id.begin(request.headers.get(request_id.HEADER))
        request_origin.begin(request)
        begun = time.monotonic()
        response = _in_envelope(request, self._answered(request))
        response[request_id.HEADER] = known
        if is_under_api(request.path):
            for name, value in API_HEADERS.items():
                response[name] = value
        _log(request, response, seconds=time.monotonic() - begun)
        return response

    def _answered(self, request: HttpRequest) -> HttpResponseBase:
        # Python before 3.11.10 takes seconds to read 100 KB of escapes in a cookie (CVE-2024-7592).
        if len(request.META.get("HTTP_COOKIE", "")) > MAX_COOKIES:
            return exceptions.http_response(exceptions.refusal_of_http(431))
        return self.get_response(request)


def _log(request: HttpRequest, response: HttpResponseBase, *, seconds: float) -> None:
    """One line a request; questions after the service's health, asked all day, only when bad."""
    quiet = request.path in PROBES and response.status_code < 400
    log.log(
        logging.DEBUG if quiet else logging.INFO,
        "%s %s %d",
        request.method,
        loggable(request.path),
        response.status_code,
        extra={"milliseconds": round(seconds * 1000, 1)},
    )


def loggable(path: str) -> str:
    """Return the path without what opens without a token, which is itself the secret."""
    is_secret = path.startswith((SIGNED, "/account/"))
    return f"/{path.split('/')[1]}/…" if is_secret else path


def is_under_api(path: str) -> bool:
    return path == API or path.startswith(API + "/")


def _in_envelope(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Turn a refusal into JSON, unless it is that already or a page of its own."""
    kind = response.get("Content-Type", "").partition(";")[0]
    if response.status_code < 400 or kind == "application/json" or request.path.startswith(_PAGES):
        return response
    headers = {name: response[name] for name in ("Allow", "WWW-Authenticate") if name in response}
    return exceptions.http_response(exceptions.refusal_of_http(response.status_code), headers)


class CrossOriginMiddleware(CorsMiddleware):
    """The origins of CORS_ALLOWED_ORIGINS, and the service's own."""

    def check_signal(self, request: HttpRequest) -> bool:
        """Where the library asks for origins beside its list, of signals that nobody sends here."""
        origin = request.headers.get("Origin")
        return origin is not None and origin == f"{request.scheme}://{request.get_host()}"


class BodySizeMiddleware:
    """Refuses a body that is too large, or does not say how large, before anything reads it.

    Django takes a body without Content-Length for an empty one: what came in chunks would be lost.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "Transfer-Encoding" in request.headers:
            return exceptions.http_response(exceptions.refusal_of_http(411))
        length = declared_length(request)
        limit = MAX_AUTH_BODY if request.path.startswith("/api/auth/") else max_body(request.path)
        if length <= limit:
            return self.get_response(request)
        return exceptions.http_response(exceptions.refusal_of_http(413), {"Connection": "close"})


def max_body(path: str) -> int:
    """Return how many bytes of a body are kept of a request to this path."""
    return MAX_UPLOAD if path in UPLOADS else MAX_BODY


def declared_length(request: HttpRequest) -> int:
    text = request.META.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isascii() and text.isdigit() else 0


class PageMessagesMiddleware(MessageMiddleware):
    """What an operator's page has to say on the next one; answers under /api are not looked
    through for it.
    """

    def process_request(self, request: HttpRequest) -> None:
        if not is_under_api(request.path):
            super().process_request(request)


class OptionsMiddleware:
    """Answers OPTIONS under /api with the methods of the address: no token is asked for, and
    nothing else is told.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method != "OPTIONS" or not is_under_api(request.path):
            return self.get_response(request)
        try:
            actions = resolve(request.path_info).func.actions  # type: ignore[attr-defined]
        except Resolver404:
            return self.get_response(request)
        # REST framework adds HEAD when the address is first called, not before.
        head = {"HEAD"} if "get" in actions else set()
        known = sorted({method.upper() for method in actions} | head | {"OPTIONS"})
        return HttpResponse(status=204, headers={"Allow": ", ".join(known)})
