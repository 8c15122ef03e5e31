"""The errors of the service, a class for each code, and errors of the client itself."""

from collections.abc import Mapping
from typing import Any, ClassVar


class AlgotradeError(Exception):
    """The base of all errors of this package."""


class ServiceUnreachable(AlgotradeError):
    """No answer came: the address is wrong, or the service is away for longer than `patience`."""


class BacktestNotCompleted(AlgotradeError):
    """The backtest failed, was cancelled, or has not ended in time."""


class EvidenceNotReady(AlgotradeError):
    """The evidence could not be made, or not in time."""


class NotLoggedIn(AlgotradeError):
    """There is no stored key: run `algotrade login`."""


class ExtraMissing(AlgotradeError):
    """A package is missing that `pip install 'algotrade-client[...]'` brings."""


class ApiError(AlgotradeError):
    """A refusal of the service.

    `field` is the dotted path of the first wrong value, if the request had one; `details` has all
    the facts that the service gives. Quote `request_id` when you report a problem.
    """

    code: ClassVar[str] = ""

    def __init__(self, error: Mapping[str, Any], *, status: int) -> None:
        self.status = status
        self.code_on_the_wire = str(error.get("code", ""))
        self.message = str(error.get("message", f"The service answered {status}."))
        self.details: Mapping[str, Any] = error.get("details") or {}
        self.field: str | None = self.details.get("field")
        self.request_id: str | None = error.get("requestId")
        super().__init__(self.message)


class ValidationError(ApiError):
    code = "VALIDATION_ERROR"

    @property
    def errors(self) -> list[Mapping[str, Any]]:
        """The wrong values, each with its `field` and `message`."""
        first = {**self.details, "message": self.message}
        return list(self.details.get("errors") or [first])


class InvalidSymbol(ApiError):
    code = "INVALID_SYMBOL"


class Unauthorized(ApiError):
    code = "UNAUTHORIZED"


class InvalidToken(Unauthorized):
    code = "INVALID_TOKEN"


class TokenExpired(Unauthorized):
    code = "TOKEN_EXPIRED"


class Forbidden(ApiError):
    """The key lacks a scope (`details["requiredScope"]`), or the state forbids the call."""

    code = "FORBIDDEN"


class DailyLossLimit(Forbidden):
    code = "DAILY_LOSS_LIMIT"


class NotFound(ApiError):
    code = "NOT_FOUND"


class AlgorithmNotFound(NotFound):
    code = "ALGORITHM_NOT_FOUND"


class BacktestNotFound(NotFound):
    code = "BACKTEST_NOT_FOUND"


class Conflict(ApiError):
    code = "CONFLICT"


class UnprocessableEntity(ApiError):
    code = "UNPROCESSABLE_ENTITY"


class AlgorithmAlreadyActive(UnprocessableEntity):
    code = "ALGORITHM_ALREADY_ACTIVE"


class AlgorithmIncomplete(UnprocessableEntity):
    code = "ALGORITHM_INCOMPLETE"


class InsufficientData(UnprocessableEntity):
    code = "INSUFFICIENT_DATA"


class BacktestRunning(UnprocessableEntity):
    code = "BACKTEST_RUNNING"


class InsufficientBalance(UnprocessableEntity):
    code = "INSUFFICIENT_BALANCE"


class PositionLimitReached(UnprocessableEntity):
    code = "POSITION_LIMIT_REACHED"


class TooManyRequests(ApiError):
    code = "TOO_MANY_REQUESTS"


class BrokerRateLimit(TooManyRequests):
    code = "BROKER_RATE_LIMIT"


class InternalServerError(ApiError):
    code = "INTERNAL_SERVER_ERROR"


class ServiceUnavailable(ApiError):
    code = "SERVICE_UNAVAILABLE"


class BrokerConnectionFailed(ServiceUnavailable):
    code = "BROKER_CONNECTION_FAILED"


def _subclasses(kind: type[ApiError]) -> list[type[ApiError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _subclasses(child))]


ERRORS = {kind.code: kind for kind in _subclasses(ApiError) if kind.code}
"""The class of each code."""


def error_of(body: object, *, status: int) -> ApiError:
    """Return the error in an answer; a newer service may have codes that are unknown here."""
    envelope = body.get("error") if isinstance(body, dict) else None
    error = envelope if isinstance(envelope, dict) else {}
    return ERRORS.get(str(error.get("code")), ApiError)(error, status=status)
