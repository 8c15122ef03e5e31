"""Turn every error into one envelope: `{"error": {message, code, status, details?, requestId}}`."""

import logging
import sys
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions

from apps.core.database.failures import Meaning, meaning_of
from apps.core.errors import Code, PreconditionFailed, ServiceError
from apps.core.requests import request_id, wire_json

log = logging.getLogger(__name__)

STATUS: Final[Mapping[Code, int]] = {
    Code.VALIDATION_ERROR: 400,
    Code.INVALID_SYMBOL: 400,
    Code.UNAUTHORIZED: 401,
    Code.INVALID_TOKEN: 401,
    Code.TOKEN_EXPIRED: 401,
    Code.FORBIDDEN: 403,
    Code.DAILY_LOSS_LIMIT: 403,
    Code.NOT_FOUND: 404,
    Code.ALGORITHM_NOT_FOUND: 404,
    Code.BACKTEST_NOT_FOUND: 404,
    Code.CONFLICT: 409,
    Code.UNPROCESSABLE_ENTITY: 422,
    Code.ALGORITHM_ALREADY_ACTIVE: 422,
    Code.ALGORITHM_INCOMPLETE: 422,
    Code.INSUFFICIENT_DATA: 422,
    Code.BACKTEST_RUNNING: 422,
    Code.INSUFFICIENT_BALANCE: 422,
    Code.POSITION_LIMIT_REACHED: 422,
    Code.TOO_MANY_REQUESTS: 429,
    Code.BROKER_RATE_LIMIT: 429,
    Code.INTERNAL_SERVER_ERROR: 500,
    Code.SERVICE_UNAVAILABLE: 503,
    Code.BROKER_CONNECTION_FAILED: 503,
}
OWN_STATUS: Final[Mapping[type[ServiceError], int]] = {PreconditionFailed: 412}
"""Errors that HTTP has a status for, where their code has another."""

# Refusals of HTTP itself that the table of codes does not list keep their status; `reason` tells
# them apart.
REASON_OF_STATUS: Final[Mapping[int, tuple[str, str]]] = {
    400: ("bad_request", "The request cannot be understood."),
    403: ("forbidden", "This may not be done."),
    405: ("method_not_allowed", "This address does not take this method."),
    406: ("not_acceptable", "The Accept header allows none of the formats of this answer."),
    411: ("length_required", "The body needs a Content-Length; it cannot come in chunks."),
    413: ("payload_too_large", "The body is too large."),
    414: ("uri_too_long", "The address is too long."),
    415: ("unsupported_media_type", "The body must be plain application/json in UTF-8."),
    431: ("headers_too_large", "The headers are too large."),
}
RETRY_AFTER_SECONDS: Final = 5
RETRIED: Final = (429, 503)
"""The statuses that tell a client when to come back."""

# How each meaning is answered, and how loudly it is logged.
_DATABASE: Final[Mapping[Meaning, tuple[Code, int, str]]] = {
    Meaning.TAKEN: (
        Code.CONFLICT,
        logging.WARNING,
        "Another request has made the same at the same moment; read it and try again.",
    ),
    Meaning.UNSTORABLE: (
        Code.VALIDATION_ERROR,
        logging.ERROR,
        "A value of this request cannot be stored.",
    ),
    Meaning.BUSY: (
        Code.SERVICE_UNAVAILABLE,
        logging.WARNING,
        "The service is busy just now; please try again.",
    ),
    Meaning.DISK_FULL: (
        Code.SERVICE_UNAVAILABLE,
        logging.ERROR,
        "The service has no room to store anything just now; reading works. Please try again.",
    ),
    Meaning.UNREACHABLE: (
        Code.SERVICE_UNAVAILABLE,
        logging.ERROR,
        "The service cannot reach its database just now; please try again.",
    ),
}

ErrorBody: TypeAlias = dict[str, dict[str, object]]


def body_of(
    code: Code, message: str, *, status: int, details: Mapping[str, object] | None = None
) -> ErrorBody:
    """Return the body of an error; a `retryAfter` (seconds) in the details is also a field of the
    error.
    """
    error: dict[str, object] = {"message": message, "code": code.value, "status": status}
    if details:
        error["details"] = dict(details)
        if "retryAfter" in details:
            error["retryAfter"] = details["retryAfter"]
    error["requestId"] = request_id.current_request_id()
    return {"error": error}


def refusal_of_http(status: int) -> ErrorBody:
    """Return the envelope of a plain HTTP status: an unknown address, a wrong method, a crash."""
    if status == 404:
        return body_of(Code.NOT_FOUND, "Nothing is found at this address.", status=404)
    if status == 503:
        return refusal_of_database(Meaning.BUSY)
    if status not in REASON_OF_STATUS:
        message = "Something went wrong on our side; quote the requestId when you report it."
        return body_of(Code.INTERNAL_SERVER_ERROR, message, status=status)
    reason, message = REASON_OF_STATUS[status]
    code = Code.FORBIDDEN if status == 403 else Code.VALIDATION_ERROR
    return body_of(code, message, status=status, details={"reason": reason})


def refusal_of_database(meaning: Meaning) -> ErrorBody:
    code, _, message = _DATABASE[meaning]
    status = STATUS[code]
    details: dict[str, object] = {}
    if meaning is Meaning.DISK_FULL:
        details["reason"] = "disk_full"
    if status in RETRIED:
        details["retryAfter"] = RETRY_AFTER_SECONDS
    return body_of(code, message, status=status, details=details)


def http_response(body: ErrorBody, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return the envelope as a plain Django response, for requests that never reach a view."""
    return HttpResponse(
        wire_json.dump_json(body),
        status=_status_of(body),
        content_type="application/json",
        headers=_headers(body, headers),
    )


def _status_of(body: ErrorBody) -> int:
    return int(str(body["error"]["status"]))


def _headers(body: ErrorBody, more: Mapping[str, str] | None = None) -> dict[str, str]:
    headers = dict(more or {})
    status = _status_of(body)
    if status == 401:
        headers.setdefault("WWW-Authenticate", "Bearer")
    if status == 503 or "retryAfter" in body["error"]:
        headers["Retry-After"] = str(body["error"].get("retryAfter", RETRY_AFTER_SECONDS))
    return headers


def render_service_error(error: ServiceError) -> ErrorBody:
    status = OWN_STATUS.get(type(error), STATUS[error.code])
    return body_of(error.code, str(error), status=status, details=error.details)


def for_exception(error: Exception) -> ErrorBody:
    """Return the envelope for this exception.

    An unexpected exception is logged and becomes a 500.
    """
    match error:
        case ServiceError():
            return render_service_error(error)
        case exceptions.NotAuthenticated():
            message = (
                "This address needs an access token: send Authorization: Bearer <access token>."
            )
            return body_of(Code.UNAUTHORIZED, message, status=401)
        case exceptions.MethodNotAllowed():
            return refusal_of_http(405)
        case exceptions.APIException():
            return refusal_of_http(error.status_code)
        case Http404():
            return refusal_of_http(404)
        case PermissionDenied():
            return refusal_of_http(403)
        case SuspiciousOperation():
            return refusal_of_http(400)
    if meaning := meaning_of(error):
        _log_database_error(error, meaning)
        return refusal_of_database(meaning)
    log.error("unexpected error", exc_info=error)
    return refusal_of_http(500)


def _log_database_error(error: Exception, meaning: Meaning) -> None:
    """Log an outage in one line without its traceback: it affects many requests at once."""
    is_outage = meaning in (Meaning.BUSY, Meaning.DISK_FULL, Meaning.UNREACHABLE)
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    log.log(
        _DATABASE[meaning][1],
        "the database: %s: %s",
        meaning.name.lower(),
        reason,
        exc_info=None if is_outage else error,
    )


def answer_exception(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """REST framework's exception handler.

    It answers JSON even where a success would be CSV. The context is typed Any, as in REST
    framework.
    """
    return http_response(for_exception(error))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler404`: an unknown address, with or without a token."""
    return http_response(refusal_of_http(404))


def server_error(request: HttpRequest) -> HttpResponse:
    """`handler500`: an exception outside of REST framework, in middleware or in the admin.

    Django calls it while it handles the exception, and does not pass it.
    """
    error = sys.exc_info()[1]
    answer = for_exception(error) if isinstance(error, Exception) else refusal_of_http(500)
    return http_response(answer)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler400`: a bad Host header and the like."""
    return http_response(refusal_of_http(400))
