"""Delete the rows committed by a test: a few rows in a few of many tables."""

from functools import cache
from typing import Final

from django.db import connection, transaction

OF_MIGRATIONS: Final = {"django_content_type", "auth_permission"}
"""What migrating fills, and no test changes."""
AUDIT: Final = "core_auditrecord"
"""The database lets nobody delete from it."""
QUEUE: Final = ("procrastinate_jobs", "procrastinate_workers")
"""Its tables belong to no model that Django manages, and others hang on them."""


def delete_rows() -> None:
    """Foreign keys are checked at the end, so tables are emptied in any order."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_question())
        for (table,) in cursor.fetchall():
            if table in QUEUE:
                cursor.execute(f"TRUNCATE {table} CASCADE")
                continue
            if table == AUDIT:
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER no_delete")
            cursor.execute(f"DELETE FROM {table}")
            if table == AUDIT:
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER no_delete")


@cache
def _question() -> str:
    """Return the query for tables with rows."""
    tables = set(connection.introspection.django_table_names()) - OF_MIGRATIONS
    return " UNION ALL ".join(
        f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})"
        for table in (*sorted(tables), *QUEUE)
    )
