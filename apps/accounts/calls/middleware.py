"""Rate limits and the refusal of forms, before the body of a request is read."""

from typing import Any, Final

from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase

from apps.accounts.calls.authentication import identify
from apps.core import limits, requests
from apps.core.api import resources
from apps.core.api.resources import (
    GetResponse,
    declared_length,
    is_for_programs,
    is_under_api,
)
from apps.core.errors import ServiceError
from apps.core.limits import Usage

# A page of another site can make a browser send these without asking.
FORMS: Final = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})


class LimitMiddleware:
    """Count each request, refuse it over the limit, and send the remaining number with every answer
    under /api.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_under_api(request.path):
            return self._page(request)
        try:
            usage = _count(request)
        except limits.LimiterDown as refusal:
            return _refused(refusal)
        if usage is None:
            return self.get_response(request)
        response = self._answer(request, usage)
        for name, value in usage.headers().items():
            response[name] = value
        return response

    def _page(self, request: HttpRequest) -> HttpResponseBase:
        if is_for_programs(request.path):
            return self.get_response(request)  # the view of alerts counts them
        address = requests.current_origin().address or "unknown"
        usage = limits.count_page(request.path, address=address)
        return self.get_response(request) if usage is None else self._answer(request, usage)

    def _answer(self, request: HttpRequest, usage: Usage) -> HttpResponseBase:
        try:
            limits.refuse_exceeded(usage)
        except limits.TooManyRequests as refusal:
            return _refused(refusal)
        return self.get_response(request)


class FormMiddleware:
    """Refuse a form under /api before a view or the CSRF check reads it.

    An empty form passes. If a needed token is missing, the view refuses the call without reading
    its body.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: object, kwargs: object
    ) -> HttpResponseBase | None:
        if not is_under_api(request.path):
            return None
        request.POST = QueryDict()  # Django's CSRF check looks there: it shall read no body
        if request.content_type not in FORMS or not declared_length(request):
            return None
        if view.cls.permission_classes and identify(request).credential is None:
            return None
        return resources.http_response(resources.refusal_of_http(415))


def _count(request: HttpRequest) -> Usage | None:
    caller = identify(request)
    address = requests.current_origin().address
    scope = limits.scope_of(
        request.method or "",
        request.path,
        user_id=caller.credential.user_id if caller.credential else None,
        address=address or "unknown",
    )
    return limits.count_request(scope) if scope else None


def _refused(refusal: ServiceError) -> HttpResponseBase:
    return resources.http_response(resources.for_exception(refusal))
