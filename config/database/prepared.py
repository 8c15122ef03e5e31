"""Queries that a connection asks again and again, parsed by the server once and sent by libpq.

A cursor of psycopg spends more time on such a query than PostgreSQL does. What it does beside
sending is done here once for each query; libpq then sends, waits and reads in one call outside of
the interpreter's lock.
"""

import re
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

from psycopg import Connection, errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

_PLACEHOLDER: Final = re.compile("%([s%])")

Values = tuple[Any, ...]
"""The columns of one row. Any: they are of many types."""


class Prepared:
    """The prepared queries of one connection; they end with it."""

    def __init__(self, connection: Connection[Any]) -> None:
        """Any: whatever its cursors make of rows."""
        self._connection = connection
        self._transformer = Transformer(connection)  # it finds out once how each type is read
        self._names: dict[tuple[str, tuple[int, ...] | None], bytes] = {}

    def rows(self, query: str, values: Sequence[Any]) -> list[Values]:
        """`query` has `%s` for each value, as a cursor takes it; raises `psycopg.Error`."""
        transformer = self._transformer
        sent = transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        name = self._name(query, transformer.types)
        result = self._connection.pgconn.exec_prepared(name, sent, transformer.formats)  # type: ignore[arg-type]  # its type knows no NULL
        self._check(result, ExecStatus.TUPLES_OK)
        transformer.set_pgresult(result)
        return transformer.load_rows(0, result.ntuples, tuple)

    def _name(self, query: str, types: tuple[int, ...] | None) -> bytes:
        """Numbers are sent as the smallest type that holds them: each has a plan of its own."""
        known = self._names.get((query, types))
        if known is None:
            known = f"asked_{len(self._names)}".encode()
            text = _numbered(query).encode()
            self._check(self._connection.pgconn.prepare(known, text, types), ExecStatus.COMMAND_OK)
            self._names[query, types] = known
        return known

    def _check(self, result: PGresult, expected: ExecStatus) -> None:
        if result.status == expected:
            return
        if self._connection.closed:  # by the server, or on the way: libpq's word has no SQLSTATE
            raise errors.OperationalError(result.get_error_message())
        raise errors.error_from_result(result, self._connection.info.encoding)


def _numbered(query: str) -> str:
    """With PostgreSQL's own placeholders: $1, $2 and so on."""
    numbers = count(1)
    return _PLACEHOLDER.sub(lambda found: f"${next(numbers)}" if found[1] == "s" else "%", query)
