"""The meaning of a database error for a client, read from its SQLSTATE."""

import logging
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Final

import psycopg
from django.db import InterfaceError, OperationalError


class Meaning(Enum):
    TAKEN = auto()
    """A unique value is there already: another request was first."""
    UNSTORABLE = auto()
    """A value that no column takes: a check of the input is missing."""
    BUSY = auto()
    """The database answers, but not this statement now."""
    DISK_FULL = auto()
    """The database reads, and has no room to write."""
    UNREACHABLE = auto()
    """The database, or our connection to it, is gone."""


# By the whole SQLSTATE or its beginning, the longest first.
STATES: Final[Mapping[str, Meaning]] = {
    "23505": Meaning.TAKEN,  # unique_violation
    "22": Meaning.UNSTORABLE,  # data exceptions
    "55P03": Meaning.BUSY,  # lock_timeout
    "57014": Meaning.BUSY,  # statement_timeout
    "40001": Meaning.BUSY,  # serialization_failure
    "40P01": Meaning.BUSY,  # deadlock_detected
    "53100": Meaning.DISK_FULL,
    "53": Meaning.BUSY,  # out of connections, memory
    "25P03": Meaning.BUSY,  # idle_in_transaction_session_timeout
    "08": Meaning.UNREACHABLE,  # connection exceptions
    "57P": Meaning.UNREACHABLE,  # shutdown, crash, starting up
    "25006": Meaning.UNREACHABLE,  # read only: this server is a standby now
}
# psycopg's own errors carry no SQLSTATE.
WITHOUT_STATE: Final[Mapping[type[psycopg.Error], Meaning]] = {
    psycopg.OperationalError: Meaning.UNREACHABLE,
    psycopg.InterfaceError: Meaning.UNREACHABLE,
    psycopg.DataError: Meaning.UNSTORABLE,
}


def meaning_of(error: BaseException) -> Meaning | None:
    """Return the meaning; None for errors of other origin and for our own mistakes in SQL.

    Django and procrastinate wrap the driver's error, so the causes are followed.
    """
    for cause in _causes(error):
        if isinstance(cause, psycopg.Error):
            return _meaning_of_driver(cause)
    return Meaning.UNREACHABLE if isinstance(error, OperationalError | InterfaceError) else None


def is_passing(error: BaseException) -> bool:
    """Return whether a retry a little later may succeed."""
    return meaning_of(error) in (Meaning.BUSY, Meaning.DISK_FULL, Meaning.UNREACHABLE)


class IsNoOutage(logging.Filter):
    """Drop log records of an outage: `api.exceptions` logs it in one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return error is None or not is_passing(error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _meaning_of_driver(error: psycopg.Error) -> Meaning | None:
    if state := error.sqlstate:
        beginnings = (state, state[:3], state[:2])
        return next((STATES[start] for start in beginnings if start in STATES), None)
    return next((WITHOUT_STATE[kind] for kind in WITHOUT_STATE if isinstance(error, kind)), None)
