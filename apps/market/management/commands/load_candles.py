"""Load candle files into the store."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone as clock
from tqdm import tqdm

from apps.core import audit
from apps.core.errors import ServiceError
from apps.core.times import indian_time
from apps.engine.candles import TIMEFRAMES, InvalidSymbol, Symbol
from apps.market import services
from apps.market.candles.price_kinds import PriceKind
from apps.market.candles.samples import SAMPLE_NOTICE
from apps.market.candles.undo import undo_load
from apps.market.candles.writing import (
    CandleKind,
    RealHistoryExists,
    SampleInTheWay,
    WriteCounts,
)
from apps.market.importers import CandleImport, ImportOptions, StampSide, read_candle_files
from apps.market.importers.generated_sample import samples
from apps.market.importers.judging import judged
from apps.market.importers.loader import CandleLoader
from apps.market.importers.report import lines_of
from apps.market.rulebook.calendars import calendars_of
from apps.symbols.services import symbol_finder

REFUSED: Final = 2
"""The exit code where a generated sample is in the way."""
# What the modes without files take of the options that say how candles are read.
_READING_OPTIONS: Final = (
    *("symbol", "timeframe", "stamps", "replace", "replace_sample", "prices", "ignore_column"),
    *("strict", "dry_run"),
)
_OPTIONS_WITHOUT_FILES: Final[Mapping[str, Sequence[str]]] = {
    "sample": (),
    "undo": ("symbol", "timeframe", "dry_run"),
}
# Series of an undone load that are named.
_MOST_SHOWN: Final = 20


class Command(BaseCommand):
    help = (
        "Load candle files (CSV, JSON or Parquet, also packed as gzip or zip; bhavcopies too):"
        " all of them or, if one is refused, none."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
        parser.add_argument(
            "--symbol", type=_symbol, help="EXCHANGE:SYMBOL; by default from the file"
        )
        parser.add_argument(
            "--timeframe", choices=list(TIMEFRAMES), help="by default from the file"
        )
        parser.add_argument(
            "--stamps",
            type=StampSide,
            choices=list(StampSide),
            metavar="{start,end}",
            help="the side of a bar that its time marks; by default from the session's hours",
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="first drop the stored candles of the same symbols in the same timeframe",
        )
        parser.add_argument(
            "--replace-sample",
            action="store_true",
            help="replace a generated sample of the same symbols in the same timeframe; without it"
            f" the command asks on a terminal, and refuses elsewhere (exit code {REFUSED})",
        )
        parser.add_argument(
            "--undo",
            action="store_true",
            help=(
                "put back the bars that the last load replaced, in all its symbols or in --symbol"
                " and --timeframe; possible once, as long as nothing else has changed them"
            ),
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="check and report, store nothing"
        )
        parser.add_argument(
            "--prices",
            type=PriceKind,
            choices=list(PriceKind),
            metavar="{raw,adjusted}",
            help=(
                "whether prices are as traded or adjusted by their source, if no split or bonus"
                " shows it"
            ),
        )
        parser.add_argument(
            "--ignore-column",
            action="append",
            default=[],
            metavar="NAME",
            help="a column that looks like a volume, an instrument or an adjusted price and may be"
            " ignored; give it once for each",
        )
        parser.add_argument(
            "--strict",
            action="store_true",
            help="refuse bars outside the session's hours, and any faulty row",
        )
        parser.add_argument(
            "--sample", action="store_true", help="load generated bars to try things out on"
        )

    def handle(self, **options: Any) -> None:
        if [bool(options["files"]), options["sample"], options["undo"]].count(True) != 1:
            raise CommandError("give FILEs to load, or --sample, or --undo")
        for mode, takes in _OPTIONS_WITHOUT_FILES.items():
            _refuse_unread(mode, takes, options)
        try:
            if options["undo"]:
                self._undo(**options)
            elif options["sample"]:
                self._sample()
            else:
                self._load_or_ask(**options)
        except SampleInTheWay as error:
            message = f"{error.reason} To replace it, add --replace-sample.\nNothing was loaded."
            raise CommandError(message, returncode=REFUSED) from error
        except ServiceError as error:
            action = "undone" if options["undo"] else "loaded"
            raise CommandError(f"{error}\nNothing was {action}.") from error

    def _load_or_ask(self, **options: Any) -> None:
        """Load files; if a sample is in the way, ask before anything is replaced."""
        try:
            self._load(**options)
        except SampleInTheWay as error:
            if options["dry_run"] or not _agrees(error.reason):
                raise
            self._load(**{**options, "replace_sample": True}, is_repeated=True)

    @transaction.atomic
    def _load(
        self,
        *,
        files: Sequence[Path],
        prices: PriceKind | None,
        dry_run: bool,
        is_repeated: bool = False,
        **options: Any,
    ) -> None:
        """Load files; a dry run is rolled back. A repeated load prints nothing."""
        choices = {name: options[name] for name in ("symbol", "timeframe", "stamps", "strict")}
        import_options = ImportOptions(
            **choices,
            ignored_columns=options["ignore_column"],
            find_symbol=symbol_finder(),
            calendars=calendars_of,
        )
        loader = CandleLoader(
            replace=options["replace"],
            replace_sample=options["replace_sample"],
            now=clock.now(),
        )
        for loaded in _read(files, import_options, prices):
            if not is_repeated:
                self.stdout.write("\n  ".join([loaded.file, *lines_of(loaded)]))
            loader.add(loaded)
        loader.finish()
        twice = f", {loader.twice} in two files, the later's taken" if loader.twice else ""
        self.stdout.write(_counts_text(loader.counts) + twice)
        if dry_run:
            transaction.set_rollback(True)
            self.stdout.write("dry run: nothing stored")

    @transaction.atomic
    def _undo(self, *, symbol: str, timeframe: str, dry_run: bool, **options: Any) -> None:
        undone = undo_load(
            symbol=symbol, timeframe=timeframe, actor=audit.command_line(), now=clock.now()
        )
        self.stdout.write(f"undone: the load of {indian_time(undone.loaded_at)}")
        for key, (before, after) in list(undone.series.items())[:_MOST_SHOWN]:
            self.stdout.write(f"  {' '.join(key)}: {before} bars, {after} after the undo")
        if len(undone.series) > _MOST_SHOWN:
            self.stdout.write(f"  and {len(undone.series) - _MOST_SHOWN} series more")
        for warning in undone.warnings:
            self.stdout.write(f"  {warning}")
        if dry_run:
            transaction.set_rollback(True)
            self.stdout.write("dry run: nothing undone")

    @transaction.atomic
    def _sample(self) -> None:
        now, total = clock.now(), WriteCounts()
        for sample in samples():
            try:
                total += services.append(
                    symbol=sample.symbol,
                    timeframe=sample.timeframe,
                    candles=sample.candles,
                    kind=CandleKind(synthetic=True),
                    now=now,
                )
            except RealHistoryExists as error:
                self.stdout.write(str(error))
            else:
                bars = len(sample.candles)
                self.stdout.write(f"{sample.symbol} {sample.timeframe}: {bars} generated bars")
        self.stdout.write(f"{SAMPLE_NOTICE}\n{_counts_text(total)}")


def _symbol(text: str) -> str:
    try:
        return str(Symbol.parse(text))
    except InvalidSymbol as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.reason}") from None


def _read(
    files: Sequence[Path], import_options: ImportOptions, prices: PriceKind | None
) -> Iterator[CandleImport]:
    for path in tqdm(files, unit="file", file=sys.stderr, disable=None, leave=False):
        for loaded in read_candle_files(path, import_options):
            yield judged(loaded, given=prices)


def _agrees(reason: str) -> bool:
    """Ask on a terminal whether to replace the sample; elsewhere the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{reason} Replace it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _counts_text(counts: WriteCounts) -> str:
    parts = [
        f"{counts.added} added",
        f"{counts.repeated} held already",
        f"{counts.replaced} replaced",
    ]
    if counts.dropped:
        parts.append(f"{counts.dropped} older candles removed")
    return ", ".join(parts)


def _refuse_unread(mode: str, takes: Sequence[str], options: Mapping[str, Any]) -> None:
    """Raise CommandError for an option that this mode would leave unread."""
    unread = [name for name in _READING_OPTIONS if options[name] and name not in takes]
    if options[mode] and unread:
        flag = unread[0].replace("_", "-")
        raise CommandError(f"--{mode} does not read --{flag}: leave it out")
