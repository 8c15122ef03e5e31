"""Move months of the audit log into files."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError
from django.utils import timezone

from apps.ops import audit_files
from apps.ops.management.commands.export_audit import month


class Command(BaseCommand):
    help = (
        "Write months of the audit log into a folder, as JSON lines with gzip, and remove them from"
        " the database. Keep the files: nothing reads them back."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument(
            "--before", type=month, required=True, help="the first month that stays, as 2026-11"
        )

    def handle(self, *args: Any, folder: Path, before: Any, **options: Any) -> None:
        try:
            for archived in audit_files.archive_months(folder, before=before, now=timezone.now()):
                self.stdout.write(f"{archived.path}: {archived.records:,} records")
        except audit_files.ArchiveFailed as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            raise CommandError(f"the audit log is in use, try again: {error}") from error
        except OSError as error:
            raise CommandError(f"the file could not be written: {error.strerror}") from error
