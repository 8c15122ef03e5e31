"""The errors of the service in one vocabulary: every code of the interface, and the exceptions with
these codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final


class Code(StrEnum):
    """Every `error.code` of the service. `api.exceptions.STATUS` has their HTTP statuses."""

    VALIDATION_ERROR = "VALIDATION_ERROR"
    INVALID_SYMBOL = "INVALID_SYMBOL"
    UNAUTHORIZED = "UNAUTHORIZED"
    INVALID_TOKEN = "INVALID_TOKEN"
    TOKEN_EXPIRED = "TOKEN_EXPIRED"
    FORBIDDEN = "FORBIDDEN"
    DAILY_LOSS_LIMIT = "DAILY_LOSS_LIMIT"
    NOT_FOUND = "NOT_FOUND"
    ALGORITHM_NOT_FOUND = "ALGORITHM_NOT_FOUND"
    BACKTEST_NOT_FOUND = "BACKTEST_NOT_FOUND"
    CONFLICT = "CONFLICT"
    UNPROCESSABLE_ENTITY = "UNPROCESSABLE_ENTITY"
    ALGORITHM_ALREADY_ACTIVE = "ALGORITHM_ALREADY_ACTIVE"
    ALGORITHM_INCOMPLETE = "ALGORITHM_INCOMPLETE"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"
    BACKTEST_RUNNING = "BACKTEST_RUNNING"
    INSUFFICIENT_BALANCE = "INSUFFICIENT_BALANCE"
    POSITION_LIMIT_REACHED = "POSITION_LIMIT_REACHED"
    TOO_MANY_REQUESTS = "TOO_MANY_REQUESTS"
    BROKER_RATE_LIMIT = "BROKER_RATE_LIMIT"
    INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    BROKER_CONNECTION_FAILED = "BROKER_CONNECTION_FAILED"


class _Secret:
    """Stands for a value that must not be echoed."""

    def __repr__(self) -> str:
        return "<withheld>"


WITHHELD: Final = _Secret()
_VALUE_SHOWN = 100
_SHORT_FIELD_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """A validation error.

    `field` is a dotted path such as `entryConditions.conditions[0].indicator1.period`, empty for
    the body as a whole. `value` is the value sent (`WITHHELD` for a secret or a missing value).
    `allowed` is the closed set of good values, if there is one.
    """

    field: str
    message: str
    value: object = WITHHELD
    allowed: Sequence[object] | None = None

    @property
    def short_field(self) -> str:
        """The path for the answer, cut at its beginning if a long key makes it long."""
        return _beginning(self.field, _SHORT_FIELD_LENGTH)

    def as_details(self) -> dict[str, object]:
        details: dict[str, object] = {"field": self.short_field} if self.field else {}
        details["message"] = self.message
        if self.value is not WITHHELD:
            details["value"] = _shortened(self.value)
        if self.allowed is not None:
            details["allowedValues"] = list(self.allowed)
        return details


def _shortened(value: object) -> object:
    """Shorten a large value: its beginning identifies it."""
    if isinstance(value, str):
        return _beginning(value, _VALUE_SHOWN)
    if isinstance(value, dict | list) and len(repr(value)) > _VALUE_SHOWN:
        return f"{type(value).__name__} of {len(value)}"
    return value


def _beginning(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


class ServiceError(Exception):
    """An error that a client can act on.

    A subclass is defined beside the rule that raises it, and has its code and message. Keyword
    arguments become the `details` of the envelope under their wire names, and fill the placeholders
    of the message.
    """

    code: ClassVar[Code]
    message: ClassVar[str]

    def __init__(self, **details: object) -> None:
        self.details: dict[str, object] = details
        words = {name: _in_words(value) for name, value in details.items()}
        super().__init__(self.message.format_map(words))


def _in_words(value: object) -> object:
    """Return a list as words in a sentence."""
    return ", ".join(map(str, value)) if isinstance(value, list) else value


class InvalidInput(ServiceError):
    """The input fails validation.

    The first error leads; `details.errors` holds all if there are several.
    """

    code = Code.VALIDATION_ERROR
    message = "{message}"

    def __init__(self, *faults: Fault) -> None:
        first = faults[0]
        details = first.as_details()
        if len(faults) > 1:
            details["errors"] = [fault.as_details() for fault in faults]
        super().__init__(**details)
        self.faults = faults
        # The first fault's message is the error's own message; details need not repeat it.
        self.details.pop("message")
        self.args = (f"{first.short_field}: {first.message}" if first.field else first.message,)


class NotFound(ServiceError):
    """The address belongs to nothing of the caller's.

    Resources of other users get the same answer as missing ones.
    """

    code = Code.NOT_FOUND
    message = "Nothing is found at this address."


class PreconditionFailed(ServiceError):
    """The condition of a conditional write does not hold.

    The interface has no code for it, so it is a CONFLICT with status 412.
    """

    code = Code.CONFLICT
    message = "It has changed since it was read: its ETag is now {currentETag}. Read it again."


class Forbidden(ServiceError):
    """The caller is known and may not do this."""

    code = Code.FORBIDDEN
    message = "{reason}"
