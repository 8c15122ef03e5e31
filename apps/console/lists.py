"""Lists of the console: pages of rows, each as its serializer says it on the wire."""

from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict

from apps.core.api.pagination import Page, PageQuery
from apps.core.api.serializers import StrictSerializer

ROWS: Final = 25


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of rows, and the addresses of the pages around it."""

    rows: list[dict[str, Any]]
    number: int
    total: int
    pages: int
    query: QueryDict

    @property
    def previous(self) -> str:
        return self._address(self.number - 1) if self.number > 1 else ""

    @property
    def next(self) -> str:
        return self._address(self.number + 1) if self.number < self.pages else ""

    def _address(self, number: int) -> str:
        query = self.query.copy()
        query["page"] = str(number)
        return f"?{query.urlencode()}"


def wanted_page(request: HttpRequest) -> Page:
    """Return the page that the address asks for. Raises InvalidInput."""
    query = QueryDict(mutable=True)
    query["page"] = request.GET.get("page") or "1"
    return Page(number=PageQuery.read_query(query)["page"], limit=ROWS)


def listing(
    request: HttpRequest,
    rows: QuerySet[Any, Any] | list[Any],
    serializer: type[StrictSerializer],
) -> Listing:
    """Return the page of `rows` that the address asks for. Raises InvalidInput."""
    page = wanted_page(request)
    total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    data = [serializer.render(row) for row in rows[page.rows]]
    return listing_of(request, data, page, total=total)


def listing_of(
    request: HttpRequest, data: list[dict[str, Any]], page: Page, *, total: int
) -> Listing:
    """Return a page that has been cut out already."""
    return Listing(data, page.number, total, max(1, -(-total // page.limit)), request.GET)
