"""Django's migrate, with a check that refuses a database that is too old."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        require_whole_release()
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
