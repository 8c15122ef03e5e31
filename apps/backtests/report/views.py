"""/api/backtests/<id>/report and report-link, and /reports/<signed>"""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.backtests import results
from apps.backtests.models import Backtest
from apps.backtests.report import openapi, services
from apps.backtests.report.page import page_of
from apps.core import envelope
from apps.core.errors import ServiceError
from apps.core.idempotency import idempotent
from apps.core.input import EmptyBody
from apps.core.middleware import API_HEADERS, SIGNED
from apps.core.openapi import documented
from apps.core.public import public_page


class PageRenderer(BaseRenderer):
    """Stands for the page in negotiation; the page itself is an answer of Django's own."""

    media_type = "text/html"
    format = "html"


class ReportView(ViewSet):
    """The report of the caller's own backtest."""

    renderer_classes = [PageRenderer]

    @documented(openapi.REPORT)
    def show(self, request: Request, backtest_id: str) -> HttpResponse:
        backtest = results.completed(owner=caller(request), backtest_id=backtest_id)
        return _page(backtest)


class ReportLinkView(ViewSet):
    """The way in for those who have no token."""

    @documented(openapi.SHARE)
    @idempotent
    def share(self, request: Request, backtest_id: str) -> Response:
        EmptyBody.read(request.data)
        link = services.share(owner=caller(request), backtest_id=backtest_id, now=timezone.now())
        url = request.build_absolute_uri(SIGNED + link.signed)
        return Response({"url": url, "expiresAt": link.expires_at})


@public_page
def shared_report(request: HttpRequest, signed: str) -> HttpResponse:
    """Outside of /api: a browser opens it, and what it must not keep or pass on is said here."""
    try:
        backtest = services.shared(signed=signed, now=timezone.now())
    except ServiceError as refusal:
        answer = envelope.http_response(envelope.render_service_error(refusal))
    else:
        answer = _page(backtest)
    for name, value in API_HEADERS.items():
        answer[name] = value
    return answer


def _page(backtest: Backtest) -> HttpResponse:
    page = page_of(backtest, now=timezone.now())
    return HttpResponse(page.html, headers={"Content-Security-Policy": page.policy})
