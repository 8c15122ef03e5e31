"""/openapi.json, /docs, where it is read with a browser, and /docs/webhooks. All are public."""

from functools import cache
from pathlib import Path

import orjson
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.views import SpectacularSwaggerView

import apps.webhooks
from apps.core.public import public_page
from apps.webhooks.event_types import EventType
from apps.webhooks.failures import MEANINGS
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


_SAMPLES = Path(apps.webhooks.__file__).parent / "samples"


@public_page
def webhooks(request: HttpRequest) -> HttpResponse:
    """How to receive webhooks, with receivers that work as they are."""
    shown = {
        "python": (_SAMPLES / "receiver.py").read_text(),
        "node": (_SAMPLES / "receiver.mjs").read_text(),
        "curl": (_SAMPLES / "send.sh").read_text(),
        "types": list(EventType),
        "failures": MEANINGS.items(),
    }
    return render(request, "webhooks/guide.html", shown)
