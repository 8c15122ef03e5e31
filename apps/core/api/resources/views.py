"""Base classes for the views of the API, and helpers for pages outside of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.core.api.resources.pagination import GrowingList, ListSource, Pagination
from apps.core.api.resources.serializers import StrictSerializer
from apps.core.api.resources.tables import ROWS_PER_PART, send_whole, whole_list
from apps.core.database import server_clock
from apps.core.errors import NotFound, ServiceError
from apps.core.requests.etags import Expectation, expected, is_known

if TYPE_CHECKING:
    from datetime import datetime

    # The model of AUTH_USER_MODEL, by the name that its stubs give it.
    from django.contrib.auth.models import _User as User

PageView = TypeVar("PageView", bound=Callable[..., HttpResponseBase])


class OwnedViewSet(GenericViewSet[Any]):
    """Calls about resources of a user, with the caller, the time, and methods to read requests and
    answer.

    `not_found` is the error for an id that is not the caller's. The document shows it on every call
    with an id in its path.
    """

    pagination_class = Pagination
    not_found: ClassVar[type[ServiceError]] = NotFound

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.now: datetime = server_clock.now()

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Answer 304 without a body if the client has the current state."""
        tag = response.headers.get("ETag")
        if request.method in ("GET", "HEAD") and tag and is_known(tag, request.headers):
            response.status_code, response.data = 304, None
        final: Response = super().finalize_response(request, response, *args, **kwargs)
        return final

    @property
    def owner(self) -> User:
        """The user behind a call that needs a token."""
        user = self.request.user
        assert user.is_authenticated, "this address answers calls without a token"
        return user

    @property
    def if_match(self) -> Expectation:
        return expected(self.request.headers)

    def read(self, serializer: type[StrictSerializer]) -> dict[str, Any]:
        """Return the validated body. Raises InvalidInput with every error."""
        return serializer.read(self.request.data)

    def query(self, serializer: type[StrictSerializer]) -> dict[str, Any]:
        """Return the validated query. Raises InvalidInput with every error."""
        return serializer.read_query(self.request.query_params)

    def paginate_queryset(self, queryset: ListSource) -> list[Any]:
        rows = super().paginate_queryset(queryset)  # type: ignore[arg-type]  # ours takes GrowingLists
        return list(rows or ())

    def page(self, rows: ListSource, serializer: type[StrictSerializer]) -> Response:
        """Answer the page of `rows` that the query asks for."""
        data = [serializer.render(row) for row in self.paginate_queryset(rows)]
        return self.get_paginated_response(data)

    def page_or_whole(
        self, rows: ListSource, serializer: type[StrictSerializer]
    ) -> Response | StreamingHttpResponse:
        """Answer the page of `rows` that the query asks for, or all of them as a table."""
        if whole_list(self.request, instead_of=("page", "limit", "after")):
            return send_whole(self.request, "data", _blocks(rows, serializer))
        return self.page(rows, serializer)


def _blocks(
    source: ListSource, serializer: type[StrictSerializer]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a list, rendered, some at a time. Each part is a query of its own, as
    another thread may ask for it; a growing list continues after the last row.
    """
    rows, first = source.rows if isinstance(source, GrowingList) else source, 0
    while block := list(rows[first : first + ROWS_PER_PART]):
        yield [serializer.render(row) for row in block]
        if isinstance(source, GrowingList):
            rows = source.after(block[-1].pk)
        else:
            first += len(block)


def public_page(view: PageView) -> PageView:
    """Let a page outside of /api accept GET and HEAD; other methods get 405.

    CSRF is not checked first, because that would answer 403.
    """
    return csrf_exempt(require_safe(view))
