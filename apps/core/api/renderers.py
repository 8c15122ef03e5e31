"""Write answers for REST framework: JSON, and lists as CSV for spreadsheets and data frames."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any, ClassVar, Final

from django.http import HttpRequest
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


Rows = Iterable[Mapping[str, object]]


def table_of(columns: Sequence[str], rows: Rows) -> str:
    """Return CSV by RFC 4180: a line of names, then a line for each row."""
    text = StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(columns)
    lines.writerows([row[name] for name in columns] for row in rows)
    return text.getvalue()


class TableRenderer(BaseRenderer):
    """Write the list of an answer as CSV.

    Pagination goes into headers; other fields are in the JSON only. A subclass names the columns of
    each list, keyed by the list's name in the JSON.
    """

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"
    columns: ClassVar[Mapping[str, Sequence[str]]]

    def render(
        self,
        data: Mapping[str, Any],
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> str:
        if renderer_context and "pagination" in data:
            headers = headers_of(data["pagination"], renderer_context["request"])
            for name, value in headers.items():
                renderer_context["response"][name] = value
        return next(
            table_of(columns, data[name]) for name, columns in self.columns.items() if name in data
        )


def headers_of(pagination: Mapping[str, int], request: HttpRequest) -> dict[str, str]:
    """Return pagination as headers: the total, and links to the previous and next page (RFC 8288)
    with the same query.
    """
    headers = {"X-Total-Count": str(pagination["total"])}
    if "after" in request.GET:  # its reader knows the last id, and pages have no numbers
        return headers
    number = pagination["page"]
    neighbours = {"prev": number - 1, "next": number + 1}
    links = [
        f'<{_at(request, page)}>; rel="{name}"'
        for name, page in neighbours.items()
        if 1 <= page <= pagination["totalPages"]
    ]
    return {**headers, "Link": ", ".join(links)} if links else headers


def _at(request: HttpRequest, page: int) -> str:
    query = request.GET.copy()
    query["page"] = str(page)
    return f"{request.path}?{query.urlencode()}"
