"""/openapi.json, and /docs, where it is read with a browser. Both are public."""

from functools import cache

import orjson
from django.http import HttpRequest, HttpResponse
from drf_spectacular.views import SpectacularSwaggerView

from apps.core.public import public_page
from config import openapi


@cache
def _bytes() -> bytes:
    """The same for as long as the process lives."""
    return orjson.dumps(openapi.document())


@public_page
def document(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_bytes(), content_type="application/json")


page = SpectacularSwaggerView.as_view(url_name="openapi")
"""Swagger UI, whose files are the service's own."""
