"""Django's PostgreSQL with three things made cheaper: whether a connection lives, times, and what
is asked all day.
"""

import select
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus
from psycopg.types.datetime import TimestamptzLoader

from config.database.prepared import Prepared, Values

SECONDS_TRUSTED: Final = 10


class MomentLoader(TimestamptzLoader):
    """A time in UTC, read by Python's own parser; Django's takes five times as long."""

    timezone = UTC
    """Django looks here for what it would otherwise register anew with each cursor."""

    def load(self, data: Any) -> datetime:
        """Any: psycopg's buffers."""
        return datetime.fromisoformat(bytes(data).decode())


class DatabaseWrapper(base.DatabaseWrapper):
    """Django asks SELECT 1 before the first query of each request. A server that closes a
    connection leaves the end of it to be read, which costs a look; a network that has dropped it
    leaves nothing, so the question is asked again every few seconds.
    """

    _asked_at = float("-inf")

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Any: as Django has it."""
        made = super().get_new_connection(conn_params)
        made.adapters.register_loader("timestamptz", MomentLoader)
        self._prepared = Prepared(made)
        return made

    def ask(self, query: str, values: Sequence[Any]) -> list[Values]:
        """The rows of a query that is asked again and again: what a cursor would answer, with the
        same errors and in the same transaction. Any: values of many types.
        """
        self.close_if_health_check_failed()
        self.ensure_connection()
        if self._needs_cursor():
            with self.cursor() as cursor:
                cursor.execute(query, values)
                return list(cursor)
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            return self._prepared.rows(query, values)

    def _needs_cursor(self) -> bool:
        """A cursor opens the transaction that is due, and puts queries on record in tests."""
        status = self.connection.pgconn.transaction_status
        begins = not self.connection.autocommit and status == TransactionStatus.IDLE
        return begins or self.queries_logged

    def is_usable(self) -> bool:
        now = time.monotonic()
        if now - self._asked_at < SECONDS_TRUSTED and self._is_quiet():
            return True
        usable = super().is_usable()
        self._asked_at = now if usable else float("-inf")
        return usable

    def _is_quiet(self) -> bool:
        """Open as far as we know, with nothing to read."""
        if self.connection.closed:
            return False
        look = select.poll()
        look.register(self.connection.pgconn.socket, select.POLLIN)
        return not look.poll(0)
