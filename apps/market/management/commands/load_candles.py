"""Load candle files into the store."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone as clock
from tqdm import tqdm

from apps.core.errors import ServiceError
from apps.engine.candles import TIMEFRAMES, InvalidSymbol, parse_symbol
from apps.market import services
from apps.market.candles.price_kinds import PriceKind
from apps.market.candles.reading import SAMPLE_NOTICE
from apps.market.candles.writing import CandleKind, RealHistoryExists, WriteCounts
from apps.market.importers import CandleImport, ImportOptions, StampSide, read_candle_files
from apps.market.importers.judging import judged
from apps.market.importers.loader import CandleLoader
from apps.market.importers.report import lines_of
from apps.market.importers.sample import samples
from apps.market.rulebook.calendars import calendars_of
from apps.symbols.services import symbol_finder


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
            "--dry-run", action="store_true", help="check and report, store nothing"
        )
        parser.add_argument(
            "--prices",
            type=PriceKind,
            choices=list(PriceKind),
            metavar="{raw,adjusted}",
            help="as traded, or adjusted by their source, where a split or bonus does not tell it",
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
        if options["sample"] == bool(options["files"]):
            raise CommandError("give FILEs to load, or --sample")
        if options["sample"] and options["dry_run"]:
            raise CommandError("--sample has no dry run: it is the same every time")
        choices = {name: options[name] for name in ("symbol", "timeframe", "stamps", "strict")}
        import_options = ImportOptions(
            **choices,
            ignored_columns=options["ignore_column"],
            find_symbol=symbol_finder(),
            calendars=calendars_of,
        )
        try:
            with transaction.atomic():
                if options["sample"]:
                    self._sample()
                elif options["dry_run"]:
                    self._report(options["files"], import_options, options["prices"])
                else:
                    replace = options["replace"]
                    self._load(options["files"], import_options, options["prices"], replace=replace)
        except ServiceError as error:
            raise CommandError(f"{error}\nNothing was loaded.") from error

    def _report(
        self, files: Sequence[Path], import_options: ImportOptions, prices: PriceKind | None
    ) -> None:
        for loaded in _read(files, import_options, prices):
            self._tell(loaded)
        self.stdout.write("dry run: nothing stored")

    def _load(
        self,
        files: Sequence[Path],
        import_options: ImportOptions,
        prices: PriceKind | None,
        *,
        replace: bool,
    ) -> None:
        loading = CandleLoader(replace=replace, now=clock.now())
        for loaded in _read(files, import_options, prices):
            self._tell(loaded)
            loading.add(loaded)
        loading.store()
        twice = f", {loading.twice} in two files, the later's taken" if loading.twice else ""
        self.stdout.write(_counts_text(loading.counts) + twice)

    def _tell(self, loaded: CandleImport) -> None:
        self.stdout.write("\n  ".join([loaded.file, *lines_of(loaded)]))

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
        return str(parse_symbol(text))
    except InvalidSymbol as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.reason}") from None


def _read(
    files: Sequence[Path], import_options: ImportOptions, prices: PriceKind | None
) -> Iterator[CandleImport]:
    for path in tqdm(files, unit="file", file=sys.stderr, disable=None, leave=False):
        for loaded in read_candle_files(path, import_options):
            yield judged(loaded, given=prices)


def _counts_text(counts: WriteCounts) -> str:
    parts = [
        f"{counts.added} added",
        f"{counts.repeated} held already",
        f"{counts.replaced} replaced",
    ]
    if counts.dropped:
        parts.append(f"{counts.dropped} held before dropped")
    return ", ".join(parts)
