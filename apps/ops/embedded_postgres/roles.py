"""The two roles of the embedded database: one owns the tables, the other uses them.

The service reads and writes rows; it changes no table and no trigger, and only adds to the audit
record. Another server may have the same two roles: `grant` looks for the service's role. A server
without it is used by the role that DATABASE_URL names.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.ops.embedded_postgres.cluster import OWNER, SERVICE

APPEND_ONLY: Final = "core_auditrecord"
ANALYZED: Final = "symbols_instrument"  # after a list of instruments was loaded


@contextmanager
def as_owner() -> Iterator[None]:
    """Connect to the embedded database as the owner of its tables, to another one as always."""
    parameters = connection.settings_dict
    if not settings.EMBEDDED_DATABASE or parameters["USER"] == OWNER:
        yield
        return
    connection.close()
    parameters["USER"] = OWNER
    try:
        yield
    finally:
        connection.close()
        parameters["USER"] = SERVICE


def grant() -> None:
    """Grant the service's role, if the server has it, what it needs on the existing tables.

    Nothing is granted as that role itself: DATABASE_URL may name it.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM pg_roles WHERE rolname = %s AND rolname <> current_user", [SERVICE]
        )
        if cursor.rowcount == 0:
            return
        cursor.execute(
            f"""
            REVOKE CREATE ON SCHEMA public FROM PUBLIC;
            GRANT USAGE ON SCHEMA public TO {SERVICE};
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {SERVICE};
            GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {SERVICE}
            """
        )
        cursor.execute("SELECT relid::text FROM pg_partition_tree(to_regclass(%s))", [APPEND_ONLY])
        for (table,) in cursor.fetchall():
            cursor.execute(f"REVOKE UPDATE, DELETE ON {table} FROM {SERVICE}")
        # Before 17 only an owner may analyse a table; autovacuum does it too, a little later.
        cursor.execute("SELECT current_setting('server_version_num')::int >= 170000")
        if cursor.fetchone()[0] and _exists(cursor, ANALYZED):
            cursor.execute(f"GRANT MAINTAIN ON {ANALYZED} TO {SERVICE}")


def _exists(cursor: CursorWrapper, table: str) -> bool:
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table])
    return bool(cursor.fetchone()[0])
