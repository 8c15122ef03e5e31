"""Writing answers for REST framework."""

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import orjson
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.core.times import wire_time

_REFUSED: Final = re.compile(r";\s*q\s*=\s*0(\.0*)?\s*(;|$)", re.IGNORECASE)
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_SERIALIZE_NUMPY


class JsonRenderer(BaseRenderer):
    """JSON by orjson: dates as ISO 8601 with Z, Decimals as numbers; a NaN is a programming error
    upstream.
    """

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else orjson.dumps(data, default=_plain, option=_OPTIONS)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return wire_time(value)
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class Negotiation(DefaultContentNegotiation):
    """REST framework's own, which takes no notice of a weight: what weighs 0 is not wanted."""

    def get_accept_list(self, request: Request) -> list[str]:
        return [kind for kind in super().get_accept_list(request) if not _REFUSED.search(kind)]
