"""Reading a request's body for REST framework."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from apps.core import strict_json
from apps.core.errors import Fault, InvalidInput


class StrictJsonParser(BaseParser):
    """`application/json` in UTF-8, not compressed, read by `strict_json`; the document must be an
    object.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, object]:
        _check_charset(media_type or "")
        _check_coding((parser_context or {}).get("request"))
        document = strict_json.read(stream.read())
        if not isinstance(document, dict):
            raise InvalidInput(Fault("", "The body must be a JSON object."))
        return document


def _check_charset(media_type: str) -> None:
    _, _, parameters = media_type.partition(";")
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "charset" and value.strip('" ').lower() not in ("utf-8", "utf8"):
            raise UnsupportedMediaType(media_type)


def _check_coding(request: Request | None) -> None:
    coding = request.headers.get("Content-Encoding", "identity") if request else "identity"
    if coding.strip().lower() != "identity":
        raise UnsupportedMediaType(coding)
