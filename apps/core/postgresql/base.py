"""Django's PostgreSQL backend, for a server that does not answer: one thread of the process tries.

An attempt to connect to a server that is gone takes seconds. If each request made its own, all
threads would wait, also those that could answer without the database.
"""

import select
import threading
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import psycopg
from django.db.backends.postgresql import base
from psycopg.abc import Buffer
from psycopg.types.datetime import TimestamptzLoader

# How long a request waits for the attempt of another; a server that is back answers sooner.
SECONDS_TO_WAIT: Final = 0.25


# Whether the last attempt of this process has failed, and who makes the next.
_is_lost = threading.Event()
_attempt = threading.Lock()


class MomentLoader(TimestamptzLoader):
    """Reads a timestamp by `datetime.fromisoformat`: 0.6 us, where Django's loader, a subclass of
    psycopg's Python one, takes 2.5; a list of 20 algorithms has 46 of them.
    """

    # Django compares it with its own and would else register its loader for each cursor.
    timezone: ClassVar = UTC

    def load(self, data: Buffer) -> datetime:
        try:
            return datetime.fromisoformat(str(data, "ascii")).astimezone(UTC)
        except (ValueError, OverflowError):  # infinity, or years before 1 and after 9999
            return super().load(data)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connects as Django's does; while the server is lost, one connection at a time is tried."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a new connection. Raises psycopg.OperationalError."""
        if not _is_lost.is_set():
            return self._connect(conn_params)
        if not _attempt.acquire(timeout=SECONDS_TO_WAIT):
            raise psycopg.OperationalError("the database is lost; another thread tries to reach it")
        try:
            return self._connect(conn_params)
        finally:
            _attempt.release()

    def _connect(self, conn_params: dict[str, Any]) -> Any:
        try:
            connection = super().get_new_connection(conn_params)
        except psycopg.OperationalError:
            _is_lost.set()
            raise
        _is_lost.clear()
        connection.adapters.register_loader("timestamptz", MomentLoader)
        return connection

    def is_usable(self) -> bool:
        """Return whether the server has left the connection open, which its socket tells: between
        statements a server sends nothing but its farewell.

        Django's sends `SELECT 1`, before the first statement of each request: that is 0.1 of the
        1.5 ms that a short call takes.
        """
        if self.connection is None or self.connection.closed:
            return False
        socket = select.poll()
        socket.register(self.connection.fileno(), select.POLLIN)
        return not socket.poll(0)
