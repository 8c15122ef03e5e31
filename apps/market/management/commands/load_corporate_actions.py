"""Load splits, bonuses and dividends, or search for days on which a share may have split."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone as clock

from apps.core.errors import ServiceError
from apps.market.candles import corporate_actions
from apps.market.importers.action_files import ActionFile, read_actions

_COLUMNS: Final = ("symbol", "ex_date", "kind", "ratio", "source")
_NAMES: Final = {"rights": "rights", "demerger": "demergers"}


class Command(BaseCommand):
    help = (
        "Load files of splits, bonuses, rights and demergers (symbol, ex_date, kind, ratio, source,"
        " issue_price, factor; or the exchange's list with its subjects), by which prices are"
        " adjusted when they are read, and of dividends (kind dividend, amount), which change no"
        " price. With --suggest,"
        " print such a file instead, of days on which the stored bars of the SYMBOLs look like one."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
        parser.add_argument("--dry-run", action="store_true", help="check, store nothing")
        parser.add_argument(
            "--suggest", nargs="+", metavar="SYMBOL", help="look these up; store nothing"
        )

    def handle(self, **options: Any) -> None:
        if bool(options["files"]) == bool(options["suggest"]):
            raise CommandError("give FILEs to load, or --suggest SYMBOL")
        if options["suggest"]:
            self._suggest(options["suggest"])
            return
        try:
            files = [read_actions(path) for path in options["files"]]
            self._load(files, dry_run=options["dry_run"])
        except ServiceError as error:
            raise CommandError(f"{error}\nNothing was loaded.") from error

    def _load(self, files: list[ActionFile], *, dry_run: bool) -> None:
        rows = [row for file in files for row in file.rows]
        dividends = [row for file in files for row in file.dividends]
        skipped = sum((Counter(file.skipped) for file in files), Counter[str]())
        kinds = Counter(row.kind for row in rows)
        counts = [f"{kinds['split'] + kinds['bonus']} splits and bonuses"]
        counts += [f"{kinds[kind]} {name}" for kind, name in _NAMES.items() if kinds[kind]]
        counts += [f"{len(dividends)} dividends"] if dividends else []
        self.stdout.write("\n  + ".join(counts))
        for subject, count in skipped.most_common():
            self.stdout.write(f"  + {count} that change no price of a share ({subject})")
        for line in (line for file in files for line in file.unread):
            self.stderr.write(f"warning: {line} names an event and cannot be read")
        for row in rows:
            if row.kind == "demerger" and row.price_factor is None:
                self.stderr.write(
                    f"warning: {row.symbol} demerger of {row.ex_date} has no price factor: load a"
                    " file of symbol, ex_date, kind, ratio, factor, source; the factor is what is"
                    " left of the price, such as 0.915"
                )
        if dry_run:
            self.stdout.write("dry run: nothing stored")
            return
        done = corporate_actions.store_actions(rows=rows, dividends=dividends, now=clock.now())
        self.stdout.write(
            f"{done.added} added, {done.changed} changed, {done.unchanged} held already"
        )
        for warning in done.warnings:
            self.stderr.write(f"warning: {warning}")

    def _suggest(self, symbols: list[str]) -> None:
        writer = csv.writer(self.stdout, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for symbol in symbols:
            for split in corporate_actions.unknown_splits(symbol):
                day = str(np.datetime64(split.day, "D"))
                ratio = f"{split.ratio.numerator}:{split.ratio.denominator}"
                source = f"suggested: close {split.close:g}, next open {split.open:g}; look it up"
                writer.writerow([symbol, day, "split", ratio, source])
