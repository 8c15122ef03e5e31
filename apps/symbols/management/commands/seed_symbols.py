"""Import instruments from the masters of brokers and exchanges, or the bundled sample."""

import argparse
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone as clock
from tqdm import tqdm

from apps.core.errors import ServiceError
from apps.core.times import INDIA
from apps.symbols import services
from apps.symbols.importers import master_import
from apps.symbols.importers.master import read_master
from apps.symbols.importers.master_file import NumberedRecord
from apps.symbols.importers.master_import import SuspiciousMaster
from apps.symbols.importers.report import master_lines
from apps.symbols.models import Source

_AUTO = "auto"


class Command(BaseCommand):
    help = (
        "Bring in instrument masters (CSV or JSON, also .gz and .zip): all of them or, if one is"
        " refused, none. Without FILEs the bundled sample; running it again changes nothing."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
        parser.add_argument(
            "--format",
            choices=[_AUTO, *Source.values],
            default=_AUTO,
            help="the publisher of the list",
        )
        parser.add_argument(
            "--as-of", type=_day, metavar="YYYY-MM-DD", help="the day it describes, if not today"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="check and report, store nothing"
        )
        parser.add_argument(
            "--force", action="store_true", help="bring it in even if it looks damaged"
        )

    def handle(self, **options: Any) -> None:
        if not options["files"]:
            self._sample()
            return
        try:
            with _without_collection(), transaction.atomic():
                for path in options["files"]:
                    self._file(path, **options)
                transaction.set_rollback(options["dry_run"])
        except SuspiciousMaster as error:
            hint = "If that is right, repeat it with --force."
            raise CommandError(f"{error}\nNothing was changed. {hint}") from error
        except (ServiceError, OSError) as error:
            raise CommandError(f"{error}\nNothing was changed.") from error
        if options["dry_run"]:
            self.stdout.write("dry run: nothing was changed")

    def _sample(self) -> None:
        seeded = services.seed_sample()
        self.stdout.write(
            f"symbols: {seeded.added} added, {seeded.changed} changed, "
            f"{seeded.unchanged} unchanged (bundled sample)"
        )

    def _file(
        self, path: Path, *, format: str, as_of: date | None, force: bool, **_: object
    ) -> None:
        now = clock.now()
        master = read_master(
            path,
            today=now.astimezone(INDIA).date(),
            source=None if format == _AUTO else Source(format),
            as_of=as_of,
            progress=_with_progress,
        )
        for line in master_lines(master_import.import_master(master=master, now=now, force=force)):
            self.stdout.write(line)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Switch garbage collection off: all rows live until the end, and searching them takes a third
    of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date like 2026-11-21") from None
    if day > clock.now().astimezone(INDIA).date():
        raise argparse.ArgumentTypeError(f"{text} is in the future")
    return day


def _with_progress(records: Iterable[NumberedRecord]) -> Iterator[NumberedRecord]:
    yield from tqdm(records, unit=" rows", file=sys.stderr, disable=None, leave=False)
