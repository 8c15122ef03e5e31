"""/openapi.json, /docs, where it is read with a browser, and /docs/webhooks. All are public."""

from functools import cache

import orjson
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.views import SpectacularSwaggerSplitView

from apps.core.public import public_page
from apps.webhooks import guide
from config import openapi


@cache
def _bytes() -> bytes:
    """The same for as long as the process lives."""
    return orjson.dumps(openapi.document())


@public_page
def document(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_bytes(), content_type="application/json")


page = SpectacularSwaggerSplitView.as_view(url_name="openapi")
"""Swagger UI, whose files are the service's own; its script is a request of its own, as the policy
(config.content_policy) runs none that stands in a page.
"""


@public_page
def webhooks(request: HttpRequest) -> HttpResponse:
    """How to receive webhooks."""
    return render(request, "webhooks/guide.html", guide.contents())
