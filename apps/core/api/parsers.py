"""Read the body of a request for REST framework."""

from collections.abc import Mapping
from typing import IO, Any, Final

from django.http import UnreadablePostError
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from apps.core.errors import Fault, InvalidInput
from apps.core.requests import strict_json

CUT: Final = Fault("", "The body ended before its Content-Length, or came too slowly.")


class StrictJsonParser(BaseParser):
    """Read `application/json` in UTF-8, uncompressed, by `strict_json`; the document must be an
    object.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, object]:
        request: Request | None = (parser_context or {}).get("request")
        _check_charset(media_type or "")
        _check_coding(request)
        document = strict_json.read_json(_whole(stream, request))
        if not isinstance(document, dict):
            raise InvalidInput(Fault("", "The body must be a JSON object."))
        return document


class RawParser(BaseParser):
    """Return the body of any type as it came, uncompressed."""

    media_type = "*/*"

    def parse(  # type: ignore[override]  # REST framework passes on what a parser returns
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        request: Request | None = (parser_context or {}).get("request")
        _check_coding(request)
        return _whole(stream, request)


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


def _whole(stream: IO[Any], request: Request | None) -> bytes:
    """Return the complete body.

    Refuse one that a broken connection cut short: it may still be valid JSON.
    """
    try:
        body: bytes = stream.read()
    except UnreadablePostError as error:
        raise InvalidInput(CUT) from error
    if request is not None and len(body) < int(request.META.get("CONTENT_LENGTH") or 0):
        raise InvalidInput(CUT)
    return body
