"""/api/backtests/<id>/report, report-link and report-links, and /reports/<signed>"""

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.backtests import results
from apps.backtests.models import ReportLink
from apps.backtests.report import openapi, page, services
from apps.core.api import exceptions
from apps.core.api.idempotency import idempotent_with_secret
from apps.core.api.middleware import API_HEADERS, SIGNED
from apps.core.api.pagination import Query, page_of
from apps.core.api.serializers import EmptyBody
from apps.core.api.views import public_page
from apps.core.errors import ServiceError
from apps.core.openapi import documented


class PageRenderer(BaseRenderer):
    """Stands for the page in negotiation; the page itself is an answer of Django's own."""

    media_type = "text/html"
    format = "html"


class ReportView(ViewSet):
    """The report of the caller's own backtest."""

    renderer_classes = [PageRenderer]

    @documented(openapi.REPORT)
    def show(self, request: Request, backtest_id: str) -> HttpResponseBase:
        if request.method == "HEAD":
            results.fetch_completed(owner=caller(request), backtest_id=backtest_id)
            return _without_page()
        html = services.read(owner=caller(request), backtest_id=backtest_id, now=timezone.now())
        return _with_page(html)


class ReportLinkView(ViewSet):
    """The way in for those who have no token."""

    @documented(openapi.SHARE)
    @idempotent_with_secret
    def share(self, request: Request, backtest_id: str) -> Response:
        EmptyBody.read(request.data)
        link = services.share_report(
            owner=caller(request), backtest_id=backtest_id, now=timezone.now()
        )
        return Response(_link_out(link, request))

    @documented(openapi.LIST_LINKS)
    def list(self, request: Request, backtest_id: str) -> Response:
        page = Query(request.query_params).page()
        rows = services.links_of(owner=caller(request), backtest_id=backtest_id, now=timezone.now())
        return Response(page_of(rows, page, lambda link: _link_out(link, request)))

    @documented(openapi.RECALL)
    def recall(self, request: Request, backtest_id: str, link_id: str) -> Response:
        services.recall_link(
            owner=caller(request), backtest_id=backtest_id, link_id=link_id, now=timezone.now()
        )
        return Response(status=204)


def _link_out(link: ReportLink, request: Request) -> dict[str, object]:
    url = request.build_absolute_uri(SIGNED + services.sign_link(link))
    return {"id": link.pk, "url": url, "expiresAt": link.expires_at}


@public_page
def shared_report(request: HttpRequest, signed: str) -> HttpResponseBase:
    """Outside of /api: a browser opens it, and what it must not keep or pass on is said here."""
    answer: HttpResponseBase
    try:
        if request.method == "HEAD":
            services.open_link(signed, now=timezone.now())
            answer = _without_page()
        else:
            answer = _with_page(services.read_shared(signed=signed, now=timezone.now()))
    except ServiceError as refusal:
        answer = exceptions.http_response(exceptions.render_service_error(refusal))
    for name, value in API_HEADERS.items():
        answer[name] = value
    return answer


def _with_page(html: bytes) -> HttpResponse:
    return HttpResponse(html, headers=_headers())


def _without_page() -> StreamingHttpResponse:
    """Answer HEAD without making a page: the length, which only a page has, is left out."""
    return StreamingHttpResponse((), headers=_headers())


def _headers() -> dict[str, str]:
    return {"Content-Security-Policy": page.policy()}
