"""Addresses outside of /api that are only read, without a token: by browsers, probes, scrapers."""

from collections.abc import Callable
from typing import TypeVar

from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

Page = TypeVar("Page", bound=Callable[..., HttpResponseBase])


def public_page(view: Page) -> Page:
    """Takes GET and HEAD; any other method is a 405. It asks for no CSRF token first, which would
    make it a 403.
    """
    return csrf_exempt(require_safe(view))
