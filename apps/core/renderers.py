"""Writing answers for REST framework."""

import re
from collections.abc import Mapping
from typing import Any, Final

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.core import wire_json

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
    """REST framework's own, which takes no notice of a weight: what weighs 0 is not wanted."""

    def get_accept_list(self, request: Request) -> list[str]:
        return [kind for kind in super().get_accept_list(request) if not _REFUSED.search(kind)]
