"""Bring candle files into the store."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone as clock
from tqdm import tqdm

from apps.core.errors import ServiceError
from apps.engine.candles import IST, TIMEFRAMES
from apps.engine.symbols import InvalidSymbol, parse
from apps.market import services
from apps.market.importers import Loaded, read_candle_file
from apps.market.importers.checks import JUMP, REPAIRABLE
from apps.market.sample import samples
from apps.market.services import Appended

_INDIA = timezone(timedelta(seconds=IST))
_DAYS_SHOWN = 5


class Command(BaseCommand):
    help = "Load candle files (CSV, also .gz, or Parquet): all of them or, if one is refused, none."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
        parser.add_argument("--symbol", type=_symbol, help="EXCHANGE:SYMBOL, else told by the file")
        parser.add_argument("--timeframe", choices=list(TIMEFRAMES), help="else told by the file")
        parser.add_argument(
            "--dry-run", action="store_true", help="check and report, store nothing"
        )
        parser.add_argument(
            "--strict", action="store_true", help="refuse bars outside the session's hours"
        )
        parser.add_argument(
            "--sample", action="store_true", help="load generated bars to try things out on"
        )

    # Any: the options as Django passes them.
    def handle(self, **options: Any) -> None:
        if options["sample"] == bool(options["files"]):
            raise CommandError("give FILEs to load, or --sample")
        if options["sample"] and options["dry_run"]:
            raise CommandError("--sample has no dry run: it is the same every time")
        try:
            with transaction.atomic():
                self._sample() if options["sample"] else self._files(**options)
        except ServiceError as error:
            raise CommandError(f"{error}\nNothing was loaded.") from error

    def _files(
        self,
        *,
        files: Sequence[Path],
        symbol: str | None,
        timeframe: str | None,
        strict: bool,
        dry_run: bool,
        **_: object,
    ) -> None:
        now = clock.now()
        for path in _with_progress(files):
            loaded = read_candle_file(path, symbol=symbol, timeframe=timeframe, strict=strict)
            done = None if dry_run else _store(loaded, now=now)
            lines = [*_report(loaded), _verdict(done)]
            self.stdout.write("\n  ".join([path.name, *lines]))

    def _sample(self) -> None:
        now, total = clock.now(), Appended()
        for sample in samples():
            try:
                total += services.append(
                    symbol=sample.symbol,
                    timeframe=sample.timeframe,
                    candles=sample.candles,
                    synthetic=True,
                    now=now,
                )
            except services.RealHistoryHeld as held:
                self.stdout.write(str(held))
            else:
                bars = len(sample.candles)
                self.stdout.write(f"{sample.symbol} {sample.timeframe}: {bars} generated bars")
        self.stdout.write(f"generated sample, not market data: {_verdict(total)}")


def _symbol(text: str) -> str:
    try:
        return str(parse(text))
    except InvalidSymbol as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.reason}") from None


def _with_progress(files: Sequence[Path]) -> Iterator[Path]:
    yield from tqdm(files, unit="file", file=sys.stderr, disable=None, leave=False)


def _store(loaded: Loaded, *, now: datetime) -> Appended:
    return services.append(
        symbol=loaded.symbol, timeframe=loaded.timeframe, candles=loaded.candles, now=now
    )


def _report(loaded: Loaded) -> list[str]:
    report = loaded.report
    named = f" as {loaded.called!r}" if loaded.called else ""
    lines = [
        f"{loaded.symbol} {loaded.timeframe} (symbol {loaded.told_by}{named})",
        f"kept: {report.kept} bars of {report.rows} rows, {report.days} days,"
        f" {_moment(report.first)} to {_moment(report.last)} IST",
    ]
    counted = {
        "repeated rows, dropped": report.repeated,
        "rows without a trade, dropped": report.untraded,
        f"repaired (high or low moved, at most {report.largest_repair:.3%} of the price;"
        f" {REPAIRABLE:.1%} is refused)": report.repaired,
        "rows out of order, sorted": report.out_of_order,
        "moved to the beginning of their day or week": report.moved,
        "without volume": report.without_volume,
        "outside the session's hours, kept": report.off_session,
        f"open {JUMP:.0%} or more away from the last close, the first at"
        f" {_moment(report.first_jump)} IST; splits and bonuses are not adjusted for": report.jumps,
    }
    dated = {
        "days with fewer bars than their session has": report.short_days,
        "days on which the calendar has no session, kept": report.unlisted_days,
    }
    lines += [f"{what}: {count}" for what, count in counted.items() if count]
    return lines + [f"{what}: {_dates(days)}" for what, days in dated.items() if days]


def _dates(days: Sequence[date]) -> str:
    """How many, and the first few of them."""
    shown = ", ".join(map(str, days[:_DAYS_SHOWN]))
    return f"{len(days)} ({shown}{', …' if len(days) > _DAYS_SHOWN else ''})"


def _verdict(done: Appended | None) -> str:
    if done is None:
        return "dry run: nothing stored"
    parts = [f"{done.added} added", f"{done.repeated} held already", f"{done.replaced} replaced"]
    if done.sample_dropped:
        parts.append(f"{done.sample_dropped} bars of the generated sample dropped")
    return ", ".join(parts)


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, tz=_INDIA).strftime("%Y-%m-%d %H:%M")
