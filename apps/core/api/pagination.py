"""Lists: `{data, pagination: {page, limit, total, totalPages}}`, and the strict reading of their
query.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeVar

from django.db.models import Model, QuerySet
from django.http import QueryDict
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import IntegerField
from rest_framework.views import APIView

from apps.core.api.serializers import DocumentSerializer, QueryIntegerField, StrictSerializer
from apps.core.api.strict_json import UNSTORABLE, storable
from apps.core.errors import WITHHELD, Fault, InvalidInput

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 100
MAX_PAGE: Final = 1_000_000
_INTEGER = re.compile(r"[0-9]{1,9}")
_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,4})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")
Word = TypeVar("Word", bound=str)


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted; pages count from 1."""

    number: int
    limit: int

    @property
    def rows(self) -> slice:
        """Its rows among all."""
        first = (self.number - 1) * self.limit
        return slice(first, first + self.limit)


class Query:
    """The query string of one request, read strictly: each parameter at most once, each value from
    its set.
    """

    def __init__(self, query: QueryDict) -> None:
        self._query = query

    def text(self, name: str) -> str | None:
        """The value as sent, None when absent; NUL and halves of surrogate pairs are refused."""
        values = self._query.getlist(name)
        if len(values) > 1:
            raise InvalidInput(Fault(name, "stands more than once in the query", values))
        if values and UNSTORABLE.search(values[0]):
            message = "holds a NUL or half of a surrogate pair"
            raise InvalidInput(Fault(name, message, storable(values[0])))
        return values[0] if values else None

    def required(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise InvalidInput(Fault(name, "is required", WITHHELD if value is None else value))
        return value

    def integer(self, name: str, *, default: int, most: int) -> int:
        """A plain integer of 1 to `most`."""
        text = self.text(name)
        if text is None:
            return default
        if not _INTEGER.fullmatch(text) or not 1 <= int(text) <= most:
            raise InvalidInput(Fault(name, f"must be a whole number from 1 to {most}", text))
        return int(text)

    def amount(self, name: str, *, most: int) -> Decimal:
        """A plain decimal above 0, up to `most`, of at most four places."""
        text = self.required(name)
        if not _AMOUNT.fullmatch(text) or not 0 < Decimal(text) <= most:
            message = f"must be a decimal above 0 and up to {most}, with at most four places"
            raise InvalidInput(Fault(name, message, text))
        return Decimal(text)

    def date(self, name: str) -> date:
        """A date, YYYY-MM-DD."""
        text = self.required(name)
        try:
            if _DATE.fullmatch(text):
                return date.fromisoformat(text)
        except ValueError:
            pass
        raise InvalidInput(Fault(name, "is no date: write YYYY-MM-DD", text))

    def choice(self, name: str, allowed: Sequence[Word]) -> Word | None:
        text = self.text(name)
        chosen = next((word for word in allowed if word == text), None)
        if text is not None and chosen is None:
            raise InvalidInput(Fault(name, "is not one of the allowed values", text, allowed))
        return chosen

    def one_of(self, name: str, allowed: Sequence[Word]) -> Word:
        """A choice that must be made."""
        chosen = self.choice(name, allowed)
        if chosen is None:
            raise InvalidInput(Fault(name, "is required", allowed=allowed))
        return chosen

    def page(self) -> Page:
        return Page(
            number=self.integer("page", default=1, most=MAX_PAGE),
            limit=self.integer("limit", default=DEFAULT_LIMIT, most=MAX_LIMIT),
        )

    def ordering(self, columns: Mapping[str, str], *, default: str) -> tuple[str, str]:
        """`sort` and `order` as the arguments of `order_by`: the wanted column, then the key, so
        that pages are stable.
        """
        column = columns[self.choice("sort", list(columns)) or default]
        sign = "" if self.choice("order", ("asc", "desc")) == "asc" else "-"
        return sign + column, sign + "pk"


def ordering(query: Mapping[str, str], columns: Mapping[str, str]) -> tuple[str, str]:
    """Return `sort` and `order` of a query as the arguments of `order_by`: the wanted column, then
    the key, so that pages are stable.
    """
    sign = "" if query["order"] == "asc" else "-"
    return sign + columns[query["sort"]], sign + "pk"


def page_of(
    rows: QuerySet[Row, Item], page: Page, render: Callable[[Item], dict[str, object]]
) -> dict[str, object]:
    """One page of `rows`, each rendered; past the end it is empty."""
    shown = [render(row) for row in rows[page.rows]]
    is_last = 0 < len(shown) < page.limit
    total = page.rows.start + len(shown) if is_last else rows.count()
    return page_with(shown, page, total=total)


def page_with(data: Sequence[dict[str, object]], page: Page, *, total: int) -> dict[str, object]:
    """A page whose items, of `total` in all, have been cut out already."""
    pages = -(-total // page.limit)
    pagination = {"page": page.number, "limit": page.limit, "total": total, "totalPages": pages}
    return {"data": data, "pagination": pagination}


class PageQuery(StrictSerializer):
    """Which part of a list is wanted."""

    page = QueryIntegerField(
        max_value=MAX_PAGE, default=1, help_text="Counts from 1. A page past the end is empty."
    )
    limit = QueryIntegerField(
        max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="How many items a page holds."
    )


class PaginationSerializer(DocumentSerializer):
    """Where in a list a page is."""

    page = IntegerField(help_text="The page that was asked for.")
    limit = IntegerField(help_text="How many items a page holds.")
    total = IntegerField(min_value=0, help_text="How many items there are on all pages.")
    totalPages = IntegerField(min_value=0, help_text="How many pages there are.")


# An example for drf-spectacular's pages of examples.
PAGINATION: Final[dict[str, Any]] = {
    "$ref": "#/components/schemas/Pagination",
    "example": {"page": 1, "limit": DEFAULT_LIMIT, "total": 1, "totalPages": 1},
}


class Pagination(BasePagination):
    """`{data, pagination: {page, limit, total, totalPages}}`.

    REST framework's own page numbers cut a limit that is too large, and answer a page past the end
    with 404; here the one is refused and the other is empty. Rows are not counted when a page that
    is not full tells how many there are.
    """

    page: Page
    total: int

    def paginate_queryset(
        self,
        queryset: QuerySet[Any, Any] | Sequence[Any],
        request: Request,
        view: APIView | None = None,
    ) -> list[Any]:
        query = PageQuery.read_query(request.query_params)
        self.page = Page(number=query["page"], limit=query["limit"])
        rows = list(queryset[self.page.rows])
        is_last = 0 < len(rows) < self.page.limit
        if is_last:
            self.total = self.page.rows.start + len(rows)
        else:
            self.total = queryset.count() if isinstance(queryset, QuerySet) else len(queryset)
        return rows

    def get_paginated_response(self, data: Any) -> Response:
        return Response(page_with(data, self.page, total=self.total))

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["data", "pagination"],
            "properties": {"data": schema, "pagination": PAGINATION},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "in": "query",
                "description": field.help_text,
                "schema": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": getattr(field, "max_value", None),
                    "default": field.default,
                },
            }
            for name, field in PageQuery().get_fields().items()
        ]
