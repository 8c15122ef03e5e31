"""Run Django's migrate as the owner of the tables."""

from typing import Any

from django.core.management.commands import migrate

from apps.ops.embedded_postgres import roles


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with roles.as_owner():
            super().handle(*args, **options)
            roles.grant()
