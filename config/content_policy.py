"""The content policy of the service's own pages: browsers load and run only files of the service.

A report can also be saved as a file and has its own policy: apps/backtests/analysis/report.
"""

import base64
import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.loader import get_template

HEADER: Final = "Content-Security-Policy"
# Templates with a style element; the policy names it by its hash.
WITH_STYLE: Final = ("drf_spectacular/swagger_ui.html", "webhooks/guide.html")
_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)


class ContentPolicyMiddleware:
    """Sends the policy with every page that does not bring its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault(HEADER, _policy())
        return response


@cache
def _policy() -> str:
    styles = [_hash(style) for name in WITH_STYLE for style in _STYLE.findall(_source(name))]
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' {' '.join(styles)}",
            "img-src 'self' data:",  # icons of Swagger UI are part of its style sheet
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


def _source(template: str) -> str:
    """Return the style element as it is sent: it has no template tags."""
    source: str = get_template(template).template.source  # type: ignore[attr-defined]
    return source


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
