"""Pages for errors outside of the console's pages: an unknown address, too many requests,
a crash.
"""

import json
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from apps.console.gate import is_part, show_refusal
from apps.core.api.resources import is_for_programs
from apps.core.limits import PROBES

JSON: Final = "application/json"


class ErrorPageMiddleware:
    """Show a browser a page in place of the error envelope for other clients; under /api and at
    alert hooks all requests get the envelope.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code < 400 or not _is_for_people(request):
            return response
        if response.get("Content-Type") != JSON or not hasattr(response, "content"):
            return response
        page = show_refusal(request, json.loads(response.content)["error"])
        for name in response.headers:
            if name not in ("Content-Type", "Content-Length"):
                page.headers.setdefault(name, response.headers[name])
        patch_vary_headers(page, ["Accept"])
        return page


def _is_for_people(request: HttpRequest) -> bool:
    """Return whether a browser shows the answer, or htmx puts it into a page."""
    if is_for_programs(request.path) or request.path in PROBES:
        return False
    return is_part(request) or request.get_preferred_type([JSON, "text/html"]) == "text/html"
