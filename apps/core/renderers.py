"""Writing answers for REST framework."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.core import wire_json

ANYTHING: Final = "*/*"
_REFUSED: Final = re.compile(r";\s*q\s*=\s*0(\.0*)?\s*(;|$)", re.IGNORECASE)


class JsonRenderer(BaseRenderer):
    """JSON by orjson."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else wire_json.dumps(data)


class Negotiation(DefaultContentNegotiation):
    """REST framework's own, which takes no notice of a weight: what weighs 0 is not wanted.

    What most clients ask is answered at once; to weigh it takes twenty times as long.
    """

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        request.query_params  # noqa: B018  # as the library does: too many of them are refused here
        accepted = request.headers.get("Accept", ANYTHING)
        for renderer in renderers:
            if accepted in (ANYTHING, renderer.media_type):
                return renderer, renderer.media_type
        weighed: tuple[BaseRenderer, str] = super().select_renderer(
            request, renderers, format_suffix
        )
        return weighed

    def get_accept_list(self, request: Request) -> list[str]:
        return [kind for kind in super().get_accept_list(request) if not _REFUSED.search(kind)]
