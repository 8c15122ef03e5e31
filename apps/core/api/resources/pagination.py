"""Lists as `{data, pagination: {page, limit, total, totalPages}}`, and strict reading of their
query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import IntegerField
from rest_framework.views import APIView

from apps.core.api.resources.schema import ID_EXAMPLE
from apps.core.api.resources.serializers import (
    DocumentSerializer,
    QueryIntegerField,
    StrictSerializer,
)
from apps.core.errors import Fault, InvalidInput

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 100
MAX_PAGE: Final = 1_000_000

# A page can be cut out of any of these.
ListSource: TypeAlias = "QuerySet[Any, Any] | Sequence[Any] | GrowingList"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list; pages count from 1."""

    number: int
    limit: int

    @property
    def rows(self) -> slice:
        """The rows of the page in the whole list."""
        first = (self.number - 1) * self.limit
        return slice(first, first + self.limit)


@dataclass(frozen=True, slots=True)
class GrowingList:
    """A list, newest first by a column and then the id, that can be continued after an item.

    `among` holds the items before filtering: the last item that a client saw may no longer match
    the filters. `tail` has items that follow all rows and never change.
    """

    rows: QuerySet[Any, Any]
    among: QuerySet[Any, Any]
    newest: str
    tail: Sequence[Mapping[str, Any]] = ()

    def page_after(self, item_id: str, limit: int) -> list[Any]:
        """Return so many items after an item. Raises InvalidInput."""
        ids = [item["id"] for item in self.tail]
        if item_id in ids:
            return list(self.tail[ids.index(item_id) + 1 :][:limit])
        rows = list(self.after(item_id)[:limit])
        return [*rows, *self.tail[: limit - len(rows)]]

    def after(self, item_id: str) -> QuerySet[Any, Any]:
        """Return the rows after an item. Raises InvalidInput."""
        item = self.among.order_by().filter(pk=item_id).values_list(self.newest, flat=True)
        time = item.first()
        if time is None:
            raise InvalidInput(Fault("after", "is the id of no item of this list", item_id))
        older = Q(**{f"{self.newest}__lt": time})
        return self.rows.filter(older | Q(**{self.newest: time, "pk__lt": item_id}))


def growing(
    rows: QuerySet[Any, Any],
    query: Mapping[str, str],
    columns: Mapping[str, str],
    *,
    among: QuerySet[Any, Any],
    newest: str,
) -> ListSource:
    """Return the rows of a query in order; if the newest come first, as a GrowingList."""
    is_newest_first = columns[query["sort"]] == newest and query["order"] == "desc"
    return GrowingList(rows, among, newest) if is_newest_first else rows


def fetch_page(page: Page, source: ListSource) -> tuple[list[Any], int]:
    """Return the rows of a page, and the total number of rows.

    A queryset is counted only when the page is full.
    """
    if isinstance(source, GrowingList):
        rows, total = fetch_page(page, source.rows)
        start, stop = (max(row - total, 0) for row in (page.rows.start, page.rows.stop))
        return [*rows, *source.tail[start:stop]], total + len(source.tail)
    rows = list(source[page.rows])
    if 0 < len(rows) < page.limit:
        return rows, page.rows.start + len(rows)
    return rows, source.count() if isinstance(source, QuerySet) else len(source)


def ordering(query: Mapping[str, str], columns: Mapping[str, str]) -> tuple[str, str]:
    """Return `sort` and `order` of a query as arguments of `order_by`: the column, then the id, so
    that pages are stable.
    """
    sign = "" if query["order"] == "asc" else "-"
    return sign + columns[query["sort"]], sign + "id"


def page_with(data: Sequence[Mapping[str, object]], page: Page, *, total: int) -> dict[str, object]:
    """Return the answer of a page. `data` is already cut to the page; `total` counts all items."""
    pages = -(-total // page.limit)
    pagination = {"page": page.number, "limit": page.limit, "total": total, "totalPages": pages}
    return {"data": data, "pagination": pagination}


class PageQuery(StrictSerializer):
    """Page number and size."""

    page = QueryIntegerField(
        max_value=MAX_PAGE, default=1, help_text="Counts from 1. A page past the end is empty."
    )
    limit = QueryIntegerField(
        max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="How many items a page holds."
    )


class ItemField(serializers.Field[str, str, str, Any]):
    """The id of an item; any text is accepted."""

    def to_internal_value(self, data: str) -> str:
        return data


class AfterQuery(PageQuery):
    """Page number and size, or the item after which to continue."""

    after = ItemField(required=False)


AFTER: Final = OpenApiParameter(
    "after",
    {"type": "string", "examples": [ID_EXAMPLE]},
    description=(
        "The id of the last item of the page before, instead of `page`. The response has"
        " the items after it, in the default order; items added in the meantime move none"
        " of them. `page` is 1 in the response, and `total` counts the whole list."
    ),
)


class PaginationSerializer(DocumentSerializer):
    """The position of a page in a list."""

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
    """Paginate as `{data, pagination: {page, limit, total, totalPages}}`.

    REST framework's own page numbers reduce a limit that is too large, and answer 404 past the end.
    Here the limit is refused, and the page is empty.
    """

    page: Page
    total: int

    def paginate_queryset(
        self,
        queryset: ListSource,
        request: Request,
        view: APIView | None = None,
    ) -> list[Any]:
        query = AfterQuery.read_query(request.query_params)
        self.page = Page(number=query["page"], limit=query["limit"])
        if "after" not in query:
            rows, self.total = fetch_page(self.page, queryset)
            return rows
        if "page" in request.query_params:
            raise InvalidInput(Fault("page", "is not given together with after", query["page"]))
        if not isinstance(queryset, GrowingList):
            message = "is accepted only by growing lists in their default order"
            raise InvalidInput(Fault("after", message, query["after"]))
        self.total = queryset.rows.count() + len(queryset.tail)
        return queryset.page_after(query["after"], self.page.limit)

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
