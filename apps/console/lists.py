"""Lists of the console: pages of rows, each as its serializer renders it."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django.http import HttpRequest, QueryDict

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.serializers import AlgorithmItemSerializer
from apps.core import database
from apps.core.api.resources import ListSource, Page, PageQuery, StrictSerializer, fetch_page
from apps.market.candles import sample_notice_of
from apps.trading import services as trading
from apps.trading.serializers import StandingSerializer

ROWS: Final = 25


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of rows, and the addresses of the pages around it.

    `sample_notices` are those of rows on generated candles.
    """

    rows: list[dict[str, Any]]
    number: int
    total: int
    pages: int
    query: QueryDict
    sample_notices: Collection[str] = ()

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
    """Return the page number in the address. Raises InvalidInput."""
    query = QueryDict(mutable=True)
    query["page"] = request.GET.get("page") or "1"
    return Page(number=PageQuery.read_query(query)["page"], limit=ROWS)


def read_filters(
    request: HttpRequest,
    serializer: type[StrictSerializer],
    defaults: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the filled-in filters of a form in the address, read as the API reads its query.

    Raises InvalidInput.
    """
    query = QueryDict(mutable=True)
    for name, value in {**(defaults or {}), **request.GET.dict()}.items():
        if value:
            query[name] = str(value)
    return serializer.read_query(query)


def listing(
    request: HttpRequest,
    source: ListSource,
    serializer: type[StrictSerializer],
) -> Listing:
    """Return the page of a list by the address. Raises InvalidInput."""
    page = wanted_page(request)
    rows, total = fetch_page(page, source)
    return listing_of(request, [serializer.render(row) for row in rows], page, total=total)


def algorithm_listing(request: HttpRequest, user: User, statuses: Collection[str] = ()) -> Listing:
    """Return the page of the user's algorithms by the address, with the state of each; all statuses
    by default. Raises InvalidInput.
    """
    rows = algorithms.listed(owner=user, statuses=statuses, ordering=("-created_at", "-id"))
    page = listing(request, rows, AlgorithmItemSerializer)
    keys = [row["id"] for row in page.rows]
    summaries = trading.live_summaries(owner=user, algorithm_ids=keys, now=database.now())
    rows_with_summary = [
        {**row, "live_summary": StandingSerializer.render(summaries[row["id"]])}
        for row in page.rows
        if row["id"] in summaries
    ]
    symbols: dict[str, set[str]] = defaultdict(set)
    for row in rows_with_summary:
        symbols[row["timeframe"]] |= set(row["symbols"])
    notices = [sample_notice_of(names, timeframe) for timeframe, names in symbols.items()]
    return replace(page, rows=rows_with_summary, sample_notices=notices)


def listing_of(
    request: HttpRequest, data: list[dict[str, Any]], page: Page, *, total: int
) -> Listing:
    """Return a listing of rows that are already cut to the page."""
    return Listing(data, page.number, total, max(1, -(-total // page.limit)), request.GET)
