"""Close the service for a while, for the API and the console alike.

Under maintenance, calls under /api and alerts are refused, and pages cannot write. While the disk
of the embedded database is nearly full, all writes are refused: PostgreSQL stops when it has no
room for its log, and then reads fail too. Health, metrics, the admin and calls that make trading or
accounts safer stay open.

The services enforce the quiet start of a restored copy: they refuse to start runs.
"""

import re
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.core.api import exceptions
from apps.core.api.middleware import GetResponse, is_for_programs
from apps.core.database.failures import Meaning
from apps.core.errors import Code, ServiceError
from apps.core.limits.rate_limits import UNSAFE
from apps.core.machine import disk

SECONDS_TO_RETRY: Final = 60
_PAGES: Final = re.compile(r"/(app|account)(/|$)")
# Signing out, ending sessions, engaging the kill switch, pausing and stopping.
_ALWAYS_OPEN: Final = re.compile(
    r"POST /api/auth/logout"
    r"|DELETE /api/auth/sessions(/[^/]+)?"
    r"|POST /api/trading/kill-switch"
    r"|POST /api/trading/algorithms/[^/]+/(pause|stop)"
    r"|POST /app/sign-out"
    r"|POST /app/settings/end-session/[^/]+"
    r"|POST /app/kill-switch"
    r"|POST /app/live/[^/]+/(do/pause|stop)"
    r"|POST /app/algorithms/[^/]+/do/pause"
)


class UnderMaintenance(ServiceError):
    """An operator has closed the service for a while."""

    code = Code.SERVICE_UNAVAILABLE
    message = "The service is under maintenance; please try again later."


class ServiceGateMiddleware:
    """Refuse requests while the service is closed to them."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_call, is_write = is_for_programs(request.path), request.method in UNSAFE
        if not is_call and not (is_write and _PAGES.match(request.path)):
            return self.get_response(request)
        if _ALWAYS_OPEN.fullmatch(f"{request.method} {request.path}"):
            return self.get_response(request)
        if settings.MAINTENANCE:
            refusal = UnderMaintenance(retryAfter=SECONDS_TO_RETRY)
            return exceptions.http_response(exceptions.for_exception(refusal))
        if is_write and disk.is_disk_nearly_full():
            return exceptions.http_response(exceptions.refusal_of_database(Meaning.DISK_FULL))
        return self.get_response(request)
