"""Write answers for REST framework, and choose their format."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.core.requests import wire_json

_REFUSED: Final = re.compile(r";\s*q\s*=\s*0(\.0*)?\s*(;|$)", re.IGNORECASE)


class JsonRenderer(BaseRenderer):
    """Render JSON with orjson."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else wire_json.dump_json(data)


class Negotiation(DefaultContentNegotiation):
    """REST framework's negotiation, without media types of weight 0.

    Other weights are ignored.
    """

    def get_accept_list(self, request: Request) -> list[str]:
        return [kind for kind in super().get_accept_list(request) if not _REFUSED.search(kind)]


class AnyAccept(DefaultContentNegotiation):
    """Negotiation for programs whose Accept header nobody chose: it is ignored."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
