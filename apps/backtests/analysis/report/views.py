"""The report of a backtest, and links to it."""

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.backtests.analysis.report import page, services
from apps.backtests.analysis.report.serializers import ReportLinkSerializer
from apps.backtests.models import BacktestNotFound, ReportLink
from apps.backtests.running import results
from apps.backtests.running.results import NotCompleted
from apps.core.api import resources
from apps.core.api.resources import (
    API_HEADERS,
    NO_FIELDS,
    SIGNED,
    EmptyBody,
    OwnedViewSet,
    answer_header,
    idempotent_with_secret,
    public_page,
    refuses,
)
from apps.core.errors import NotFound, ServiceError


class PageRenderer(BaseRenderer):
    """Represents the page in content negotiation; the page itself is a plain Django response."""

    media_type = "text/html"
    format = "html"


@extend_schema(tags=["backtests"])
class ReportViewSet(OwnedViewSet):
    not_found = BacktestNotFound
    renderer_classes = [PageRenderer]

    @extend_schema(
        operation_id="readReport",
        parameters=[answer_header("Content-Security-Policy")],
        responses={(200, "text/html; charset=utf-8"): str},
        examples=[
            OpenApiExample("Example", "<!doctype html>…", media_type="text/html; charset=utf-8")
        ],
    )
    @refuses(NotCompleted)
    def retrieve(self, request: Request, backtest_id: str) -> HttpResponseBase:
        """Get the report of a completed backtest, as a page.

        One HTML page with charts, metrics, breakdowns and the receipt; it needs no network.
        """
        if request.method == "HEAD":
            results.fetch_completed(owner=self.owner, backtest_id=backtest_id)
            return _without_page()
        return _with_page(services.read(owner=self.owner, backtest_id=backtest_id, now=self.now))


@extend_schema(tags=["backtests"])
class ReportLinkViewSet(OwnedViewSet):
    """Links to a report, for readers without a token."""

    not_found = BacktestNotFound

    @extend_schema(
        operation_id="shareReport", request=NO_FIELDS, responses={200: ReportLinkSerializer}
    )
    @refuses(NotCompleted)
    @idempotent_with_secret
    def create(self, request: Request, backtest_id: str) -> Response:
        """Create a link to the report of a completed backtest, for a browser.

        Anyone with the address can read the report, for 24 hours, without a token.
        """
        self.read(EmptyBody)
        link = services.share_report(owner=self.owner, backtest_id=backtest_id, now=self.now)
        return Response(self._render(link))

    @extend_schema(operation_id="listReportLinks", responses=ReportLinkSerializer(many=True))
    def list(self, request: Request, backtest_id: str) -> Response:
        """List the valid links to the report of a backtest, the newest first.

        Expired and recalled links are not included.
        """
        links = services.links_of(owner=self.owner, backtest_id=backtest_id, now=self.now)
        page = self.paginate_queryset(links) or ()
        return self.get_paginated_response([self._render(link) for link in page])

    @extend_schema(operation_id="recallReportLink", responses={204: None})
    @refuses(NotFound)
    def destroy(self, request: Request, backtest_id: str, link_id: str) -> Response:
        """Recall a link to the report of a backtest.

        The address then gets the same answer as one that never existed.
        """
        services.recall_link(
            owner=self.owner, backtest_id=backtest_id, link_id=link_id, now=self.now
        )
        return Response(status=204)

    def _render(self, link: ReportLink) -> dict[str, object]:
        url = self.request.build_absolute_uri(SIGNED + services.sign_link(link))
        return ReportLinkSerializer.render(
            {"id": link.pk, "url": url, "expires_at": link.expires_at}
        )


@public_page
def shared_report(request: HttpRequest, signed: str) -> HttpResponseBase:
    """Answer the page of a link, with headers against storing it or passing on its address.

    It is outside of /api.
    """
    answer: HttpResponseBase
    try:
        if request.method == "HEAD":
            services.open_link(signed, now=timezone.now())
            answer = _without_page()
        else:
            answer = _with_page(services.read_shared(signed=signed, now=timezone.now()))
    except ServiceError as refusal:
        answer = resources.http_response(resources.render_service_error(refusal))
    for name, value in API_HEADERS.items():
        answer[name] = value
    return answer


def _with_page(html: bytes) -> HttpResponse:
    return HttpResponse(html, headers=_headers())


def _without_page() -> StreamingHttpResponse:
    """Answer HEAD without rendering a page, and so without its length."""
    return StreamingHttpResponse((), headers=_headers())


def _headers() -> dict[str, str]:
    return {"Content-Security-Policy": page.policy()}
