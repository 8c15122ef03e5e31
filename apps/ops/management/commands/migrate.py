"""Django's migrate, which refuses a database that is too old or still in use by release 1.0.0."""

from typing import Any, Final

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

# The last of the migrations that rename tables, columns and jobs of release 1.0.0.
RENAMES: Final = ("ops", "0004_current_names")
# A process of 1.0.0 reports every few seconds; after this time it counts as ended.
RUNNING: Final = """
    SELECT role, pid, machine FROM ops_serviceprocess
    WHERE beat_at > now() - interval '30 seconds' ORDER BY machine, role, pid
"""


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        require_whole_release()
        require_stopped_processes()
        super().handle(*args, **options)


def require_whole_release() -> None:
    """Refuse a database older than the release of the first migrations.

    Django would report that there is nothing to apply.
    """
    applied = set(MigrationRecorder(connection).applied_migrations())
    for migration in MigrationLoader(None).disk_migrations.values():
        missing = [replaced for replaced in migration.replaces if replaced not in applied]
        if missing and len(missing) < len(migration.replaces):
            app, name = missing[0]
            raise CommandError(
                f"the database is of a version before 1.0.0 ({app}.{name} was never applied):"
                " start release 1.0.0 on it once, then this one"
            )


def require_stopped_processes() -> None:
    """Refuse while processes of release 1.0.0 run: their statements and jobs have the old names."""
    applied = MigrationRecorder(connection).applied_migrations()
    if RENAMES in applied or "ops_serviceprocess" not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        cursor.execute(RUNNING)
        running = [f"{role} {pid} on {machine}" for role, pid, machine in cursor.fetchall()]
    if running:
        raise CommandError(
            f"release 1.0.0 still runs ({', '.join(running)}): stop it on every machine, then"
            " migrate; processes that were killed count for 30 seconds"
        )
