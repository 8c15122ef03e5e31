"""Back up the database into one file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.ops.backups import archive, dump, schedule
from apps.ops.backups.archive import BackupFailed, Manifest, Writer


class Command(BaseCommand):
    help = (
        "Write a backup of the database into a folder, as one file whose name carries the time, or"
        " to standard output. The service may run meanwhile. The backup holds e-mail addresses and"
        " password hashes: keep it as you keep the database."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", metavar="DIR|-", help="a folder, or - for standard output")
        parser.add_argument(
            "--with-secret",
            action="store_true",
            help="put SECRET_KEY into the backup too: whoever has the file can read all secrets",
        )

    def handle(self, *args: Any, target: str, with_secret: bool, **options: Any) -> None:
        def write(writer: Writer) -> Manifest:
            return dump.write_backup(writer, with_secret=with_secret)

        try:
            if target == "-":
                archive.write_stream(sys.stdout.buffer, write)
                return
            folder = Path(target).resolve()
            record = schedule.back_up(folder, with_secret=with_secret)
        except BackupFailed as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"the backup could not be written: {error.strerror}") from error
        if record.error:
            raise CommandError(record.error)
        self.stdout.write(
            f"{folder / record.name}: {record.size:,} bytes, as of {record.taken_at:%c} UTC"
        )
