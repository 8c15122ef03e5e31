"""Restore a backup into an empty database."""

from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.ops.database.backups import BackupFailed, restore


class Command(BaseCommand):
    help = (
        "Restore a file of `backup` into an empty database. The restored copy trades nothing and"
        " sends nothing until `end_quiet_start`."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--quiet-start",
            action=BooleanOptionalAction,
            default=True,
            help=(
                "let nothing trade or send before `end_quiet_start`; use --no-quiet-start only if"
                " the backed-up service is gone for good"
            ),
        )

    def handle(self, *args: Any, file: Path, quiet_start: bool, **options: Any) -> None:
        try:
            taken_at = restore(file, quiet=quiet_start)
        except BackupFailed as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from error
        self.stdout.write(f"Restored as of {taken_at:%Y-%m-%d %H:%M:%S} UTC.")
        if quiet_start:
            self.stdout.write(
                "It trades nothing and sends nothing until: manage.py end_quiet_start --reason TEXT"
            )
