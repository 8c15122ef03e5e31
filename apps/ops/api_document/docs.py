"""/openapi.json; /docs, which shows a shorter form of it; /docs/webhooks; and /, which redirects
programs to the first and browsers to the console. All are public.
"""

import threading
from functools import cache
from typing import Final

import orjson
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from drf_spectacular.views import SpectacularSwaggerSplitView

from apps.algorithms.serializers import without_alternatives
from apps.core.api import resources
from apps.core.api.resources import public_page
from apps.ops.api_document.openapi_30 import to_openapi_30
from apps.webhooks.services import guide_contents

JSON: Final = "application/json"
_writing = threading.Lock()  # drf-spectacular cannot write two documents at once


@cache
def _bytes() -> bytes:
    """Return the document, which stays the same while the process lives."""
    return orjson.dumps(resources.document())


@public_page
def root(request: HttpRequest) -> HttpResponse:
    """Redirect a browser to the console, and any other client to the document."""
    preferred = request.get_preferred_type([JSON, "text/html"])
    addresses = {"openapi": "/openapi.json", "docs": "/docs"}
    answer = HttpResponseRedirect(
        "/app" if preferred == "text/html" else addresses["openapi"],
        content=orjson.dumps(addresses),
        content_type=JSON,
    )
    patch_vary_headers(answer, ["Accept"])
    return answer


@public_page
def openapi_document(request: HttpRequest) -> HttpResponse:
    with _writing:
        written = _bytes()
    return HttpResponse(written, content_type=JSON)


# Swagger UI from the service's own files. Its script is a separate request, because the policy
# (config.content_policy) allows no script inside a page.
@cache
def _bytes_for_page() -> bytes:
    return orjson.dumps(to_openapi_30(without_alternatives(orjson.loads(_bytes()))))


@public_page
def openapi_document_for_page(request: HttpRequest) -> HttpResponse:
    with _writing:
        written = _bytes_for_page()
    return HttpResponse(written, content_type=JSON)


page = SpectacularSwaggerSplitView.as_view(url_name="openapi-for-page")


@public_page
def webhooks(request: HttpRequest) -> HttpResponse:
    """Show how to receive webhooks."""
    return render(request, "webhooks/guide.html", guide_contents())
