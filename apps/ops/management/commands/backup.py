"""Back up the database into one file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.core import database
from apps.ops.database.backups import BackupFailed, back_up


class Command(BaseCommand):
    help = (
        "Write a backup of the database and of SECRET_KEY into a folder, as one file with the time"
        " in its name. The service may run at the same time. Anyone with the file can read all"
        " secrets: protect it like the database."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        try:
            path = back_up(folder.resolve(), now=database.read_clock())
        except BackupFailed as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"the backup could not be written: {error.strerror}") from error
        self.stdout.write(f"{path}: {path.stat().st_size:,} bytes")
