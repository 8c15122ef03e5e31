"""Restore a backup into an empty database."""

from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.ops.backups import archive
from apps.ops.backups.archive import BackupFailed
from apps.ops.backups.restore import Restored, restore


class Command(BaseCommand):
    help = (
        "Restore what `backup` wrote into an empty database, and verify it. The restored copy"
        " trades nothing and sends nothing until `end_quiet_start`."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--quiet-start",
            action=BooleanOptionalAction,
            default=True,
            help="let nothing trade or send before `end_quiet_start`; --no-quiet-start is for the"
            " case that the service which was backed up is gone for good",
        )
        parser.add_argument(
            "--without-key",
            action="store_true",
            help="restore although this machine does not have the key of the backup's secrets",
        )

    def handle(
        self, *args: Any, file: Path, quiet_start: bool, without_key: bool, **options: Any
    ) -> None:
        try:
            with archive.opened(file) as backup:
                restored = restore(backup, quiet=quiet_start, without_key=without_key)
        except BackupFailed as error:
            raise CommandError(str(error)) from error
        self.report(restored, quiet=quiet_start)

    def report(self, restored: Restored, *, quiet: bool) -> None:
        manifest = restored.manifest
        rows = sum(manifest.rows.values())
        self.stdout.write(
            f"Restored and verified: {rows:,} rows in {len(manifest.rows)} tables, as of"
            f" {manifest.taken_at:%c} UTC, by version {manifest.service_version}."
        )
        for column, count in restored.unreadable.items():
            if count:
                self.stdout.write(f"Not readable without their SECRET_KEY: {count} of {column}.")
        if quiet:
            self.stdout.write(
                "It trades nothing and sends nothing until: manage.py end_quiet_start --reason TEXT"
            )
