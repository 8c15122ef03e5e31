"""Middleware for every request, outermost first: envelope, request id, CORS, size of the body."""

import logging
import time
from collections.abc import Callable
from typing import Final

from corsheaders.middleware import CorsMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from apps.core.api import exceptions
from apps.core.limits.rate_limits import PROBES
from apps.core.requests import request_id, request_origin

log = logging.getLogger("request")

GetResponse = Callable[[HttpRequest], HttpResponseBase]

API: Final = "/api"
# Addresses that other programs send alerts to; the last part of each is a secret.
HOOKS: Final = "/hooks/"
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
MAX_SMALL_BODY: Final = 64 * 1024
MAX_DRAINED: Final = 8 * MAX_BODY
# Below these, bodies are small.
_SMALL: Final = ("/api/auth/", HOOKS)
# Calls that upload files (core/files/uploads.py). Base64 makes a file a third longer.
UPLOADS: Final = ("/api/market/candle-files", "/api/market/masters", "/app/data/upload")
MAX_UPLOAD: Final = 7 * MAX_BODY


class EnvelopeMiddleware:
    """Give each request its id, and answer every error in the envelope."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        known = request_id.begin_request_id(request.headers.get(request_id.REQUEST_ID_HEADER))
        request_origin.begin(request)
        begun = time.monotonic()
        response = _in_envelope(request, self._answered(request))
        response[request_id.REQUEST_ID_HEADER] = known
        if is_for_programs(request.path):
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
    """Log each request in one line; health checks, which come all day, only when they fail."""
    quiet = request.path in PROBES and response.status_code < 400
    log.log(
        logging.DEBUG if quiet else logging.INFO,
        "%s %s %d",
        request.method,
        request.path,
        response.status_code,
        extra={"milliseconds": round(seconds * 1000, 1)},
    )


def is_under_api(path: str) -> bool:
    return path == API or path.startswith(API + "/")


def is_for_programs(path: str) -> bool:
    """Return whether only programs call the address: one under /api, or an alert hook."""
    return is_under_api(path) or path.startswith(HOOKS)


def _in_envelope(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Turn an error page into JSON, unless it is JSON already or a page of the console."""
    kind = response.get("Content-Type", "").partition(";")[0]
    if response.status_code < 400 or kind == "application/json" or request.path.startswith(_PAGES):
        return response
    headers = {name: response[name] for name in ("Allow", "WWW-Authenticate") if name in response}
    return exceptions.http_response(exceptions.refusal_of_http(response.status_code), headers)


class CrossOriginMiddleware(CorsMiddleware):
    """Allow the origins of CORS_ALLOWED_ORIGINS, and the service's own."""

    def check_signal(self, request: HttpRequest) -> bool:
        """Allow the service's own origin.

        The library would ask the receivers of a signal; this project has none.
        """
        origin = request.headers.get("Origin")
        return origin is not None and origin == f"{request.scheme}://{request.get_host()}"


class BodySizeMiddleware:
    """Refuse a body that is too large, or of unknown length, before anything reads it.

    Django takes a body without Content-Length for an empty one, so a chunked body would be lost.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "Transfer-Encoding" in request.headers:
            return exceptions.http_response(exceptions.refusal_of_http(411))
        length = declared_length(request)
        if length <= max_body(request.path):
            return self.get_response(request)
        return exceptions.http_response(exceptions.refusal_of_http(413), {"Connection": "close"})


def max_body(path: str) -> int:
    """Return how many bytes a body sent to this path may have."""
    if path.startswith(_SMALL):
        return MAX_SMALL_BODY
    return MAX_UPLOAD if path in UPLOADS else MAX_BODY


def declared_length(request: HttpRequest) -> int:
    text = request.META.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isascii() and text.isdigit() else 0


class OptionsMiddleware:
    """Answer OPTIONS under /api with the methods of the address and no other details, without a
    token.
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
