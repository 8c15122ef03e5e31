"""Load a newer edition of the market's rules."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from apps.core.errors import ServiceError
from apps.market import services
from apps.market.rulebook import rule_sets
from apps.market.rulebook.files.rule_set import FILES, rows_by_file

_LONGEST_SOURCE: Final = 200


class Command(BaseCommand):
    help = (
        "Load the rules of the market: a folder of CSV files, or one of them, which then replaces"
        " its like in the edition in force. All of it or, if anything is wrong, nothing."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="FOLDER|FILE", help=", ".join(FILES))
        parser.add_argument("--source", default="", help="its source; by default its path")
        parser.add_argument("--dry-run", action="store_true", help="check and report, load nothing")

    def handle(self, *, path: Path, source: str, dry_run: bool, **_: Any) -> None:
        files, now = _files(path), timezone.now()
        try:
            with transaction.atomic():
                named = (source or str(path))[:_LONGEST_SOURCE]
                version = services.load_rule_set(files=files, source=named, now=now)
                rule_set = rule_sets.current_rule_set()
                transaction.set_rollback(dry_run)
        except ServiceError as error:
            raise CommandError(f"{error}\nNothing was loaded.") from error
        for name, rows in rows_by_file(rule_set).items():
            self.stdout.write(f"{name}: {len(rows)} rows")
        for unknown in rule_sets.unknowns(rule_set, today=timezone.localdate(now)):
            self.stdout.write(f"not known: {unknown}")
        self.stdout.write(_verdict(rule_set.sha256, changed=version is not None, dry_run=dry_run))


def _files(path: Path) -> Mapping[str, str]:
    """Return texts by name; of a folder all CSV files."""
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    if not files:
        raise CommandError(f"{path}: no CSV file in this folder")
    try:
        return {file.name: file.read_text(encoding="utf-8-sig") for file in files}
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {error}") from error


def _verdict(sha256: str, *, changed: bool, dry_run: bool) -> str:
    if not changed:
        return f"nothing changed: edition {sha256[:12]} is in force"
    if dry_run:
        return f"dry run: edition {sha256[:12]} was not loaded"
    return f"edition {sha256[:12]} is in force"
