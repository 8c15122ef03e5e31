"""Replay history as a live feed."""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from apps.core import audit, database
from apps.core.errors import InvalidInput, ServiceError
from apps.core.times import INDIA, read_moment
from apps.engine.candles import TIMEFRAMES, Candles, InvalidSymbol, Symbol
from apps.market.candles import concat, read_bars
from apps.market.rulebook import calendars_of
from apps.market.services import (
    FASTEST,
    FeedEnded,
    FeedKind,
    FeedLost,
    FeedPlan,
    ImportOptions,
    KiteFeed,
    ReplayStep,
    SampleInTheWay,
    advance_when_possible,
    begin_feed,
    end_feed,
    follow,
    pace,
    read_candle_files,
    renewing,
    renewing_wait,
    replay_steps,
    replayed_until,
)
from apps.symbols.models import InstrumentAlias, Source
from apps.trading.runs.bar_streams import UnfedAlgorithm, find_unfed_algorithms
from apps.trading.runs.replays import finish_replay

SECONDS_A_LINE: Final = 1.0
GAP: Final = 3
"""The exit code where candles before --from would be traded too."""
_ALWAYS: Final = 2**62


class Command(BaseCommand):
    help = (
        "Replay candles from the store or from files as a live feed: for runs on paper the market's"
        " time moves with it. Ctrl-C stops the replay, and the market's time stands still; a later"
        " call continues from there, and --end returns to the real time."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
        parser.add_argument("--symbols", nargs="+", type=_symbol, default=[], metavar="SYMBOL")
        parser.add_argument("--timeframe", choices=list(TIMEFRAMES), default=None)
        parser.add_argument("--from", dest="start", type=_moment(last=False), help="date or moment")
        parser.add_argument("--to", dest="end_at", type=_moment(last=True), help="date or moment")
        parser.add_argument(
            "--speed",
            type=_speed,
            default=1.0,
            help="market seconds a second, by default 1; or max",
        )
        parser.add_argument(
            "--play-gap",
            action="store_true",
            help=(
                "begin where the market's time stands, and not at --from: without it a gap with"
                f" candles is not played, and the exit code is {GAP}"
            ),
        )
        parser.add_argument(
            "--replace-sample",
            action="store_true",
            help="let the candles of files replace a generated sample",
        )
        parser.add_argument("--kite", action="store_true", help="follow Kite Connect's WebSocket")
        parser.add_argument("--end", action="store_true", help="end the replay")

    def handle(self, **options: Any) -> None:
        if options["end"]:
            ended = finish_replay(actor=audit.SYSTEM, now=database.now())
            self.stdout.write("the replay has ended" if ended else "there is no replay")
            return
        try:
            if options["kite"]:
                self._follow(options["symbols"])
            else:
                self._play(**options)
        except SampleInTheWay as error:
            raise CommandError(f"{error.reason} To replace it, add --replace-sample.") from error
        except FeedEnded as error:
            raise CommandError("the feed was ended elsewhere, or another one has begun") from error
        except (ServiceError, FeedLost) as error:
            raise CommandError(str(error)) from error

    def _follow(self, symbols: Sequence[str]) -> None:
        if not (settings.KITE_API_KEY and settings.KITE_ACCESS_TOKEN):
            raise CommandError("set KITE_API_KEY and KITE_ACCESS_TOKEN")
        feed = KiteFeed(
            api_key=settings.KITE_API_KEY,
            access_token=settings.KITE_ACCESS_TOKEN,
            tokens=_tokens_of(symbols),
        )
        self._warn(find_unfed_algorithms(symbols, "1m"))
        plan = FeedPlan(kind=FeedKind.LIVE, symbols=symbols, timeframe="1m")
        with self._active(plan) as token, suppress(KeyboardInterrupt):
            updates = renewing(feed.closed(stopping=lambda: False), token=token)
            for bars in follow(updates):
                time_of_bars = next(iter(bars.values()))[0]
                self.stdout.write(f"{_shown(time_of_bars)}  {', '.join(bars)}")

    @contextmanager
    def _active(self, plan: FeedPlan) -> Iterator[int]:
        """Make this the active feed; yield the token of its lease."""
        token = begin_feed(plan, now=database.now()).token
        try:
            yield token
        finally:
            with suppress(Error):  # without the database the lease expires
                end_feed(token)

    def _play(self, *, files: Sequence[Path], speed: float, **options: Any) -> None:
        timeframe, series = self._files(files, options) if files else self._stored(options)
        start, end = _range(options, stored=not files)
        start, series = self._with_gap(series, timeframe, start, play=options["play_gap"])
        chosen = {symbol: bars.between(start, end) for symbol, bars in series.items()}
        self._warn(find_unfed_algorithms(chosen, timeframe, stored_from=start))
        moments = replay_steps(chosen, timeframe)
        plan = FeedPlan(
            kind=FeedKind.REPLAY,
            symbols=list(chosen),
            timeframe=timeframe,
            speed=None if speed == FASTEST else speed,
        )
        with self._active(plan) as token:
            reached = self._advance(
                moments,
                timeframe,
                token=token,
                speed=speed,
                stored=not files,
                replace_sample=options["replace_sample"],
            )
        if reached is None:
            raise CommandError("there is no candle to play: look at --symbols, --from and --to")
        self.stdout.write(f"the market's time is {_shown(reached)}, until --end")

    def _advance(
        self,
        moments: Iterator[ReplayStep],
        timeframe: str,
        *,
        token: int,
        speed: float,
        stored: bool,
        replace_sample: bool,
    ) -> int | None:
        """Play the moments; return the last one."""
        printed_at, reached = 0.0, None
        try:
            for moment in pace(moments, speed=speed, wait=renewing_wait(token, sleep=time.sleep)):
                advance_when_possible(
                    moment,
                    timeframe,
                    token=token,
                    stored=stored,
                    replace_sample=replace_sample,
                    wait=time.sleep,
                )
                reached = moment.time
                if time.monotonic() - printed_at >= SECONDS_A_LINE:
                    printed_at = time.monotonic()
                    self.stdout.write(f"{_shown(reached)}  {', '.join(moment.bars)}")
        except KeyboardInterrupt:  # the intended way to end
            pass
        return reached

    def _with_gap(
        self, series: Mapping[str, Candles], timeframe: str, start: int, *, play: bool
    ) -> tuple[int, Mapping[str, Candles]]:
        """Return the start, and the candles including stored ones between the market's time and
        `start`. Raise CommandError if there are any, unless they are to be played: running
        algorithms would trade them.
        """
        replayed = replayed_until()
        if replayed is None or replayed >= start:
            return start, series
        gap = {name: read_bars(name, timeframe, start=replayed, end=start) for name in series}
        counts = [f"{len(bars)} of {symbol}" for symbol, bars in gap.items() if len(bars)]
        if not counts:
            return start, series
        description = (
            f"between {_shown(replayed)}, where the market's time stands, and {_shown(start)}"
            f" are stored {timeframe} candles: {', '.join(counts)}"
        )
        if not play:
            message = (
                f"{description}. Algorithms that run would trade them. Nothing was played: add"
                " --play-gap to play them too, or --end the replay first."
            )
            raise CommandError(message, returncode=GAP)
        self.stdout.write(f"{description}; they are played first")
        later = {name: bars.between(start, _ALWAYS) for name, bars in series.items()}
        return replayed, {name: concat([gap[name], later[name]]) for name in series}

    def _warn(self, unfed: Iterable[UnfedAlgorithm]) -> None:
        for algorithm in unfed:
            self.stderr.write(
                f"{algorithm.name} ({algorithm.algorithm_id}) waits for {algorithm.timeframe} bars"
                f" of {', '.join(algorithm.symbols)}, and this feed does not bring them"
            )

    def _files(
        self, files: Sequence[Path], options: Mapping[str, Any]
    ) -> tuple[str, Mapping[str, Candles]]:
        import_options = ImportOptions(
            symbol=options["symbols"][0] if len(options["symbols"]) == 1 else None,
            timeframe=options["timeframe"],
            calendars=calendars_of,
        )
        loaded = [
            candle_import
            for path in files
            for candle_import in read_candle_files(path, import_options)
        ]
        timeframes = {candle_import.timeframe for candle_import in loaded}
        if len(timeframes) != 1:
            raise CommandError(f"the files are of several timeframes: {sorted(timeframes)}")
        series = {
            part.symbol: part.candles
            for candle_import in loaded
            for part in candle_import.instruments
        }
        symbols = options["symbols"] or series
        return timeframes.pop(), {name: bars for name, bars in series.items() if name in symbols}

    def _stored(self, options: Mapping[str, Any]) -> tuple[str, Mapping[str, Candles]]:
        timeframe: str = options["timeframe"] or "1m"
        if not options["symbols"]:
            raise CommandError("give FILEs to play, or --symbols to play their stored candles")
        start, end = _range(options, stored=True)
        return timeframe, {
            symbol: read_bars(symbol, timeframe, start=start, end=end)
            for symbol in options["symbols"]
        }


def _tokens_of(symbols: Sequence[str]) -> Mapping[int, str]:
    """Return symbols by Kite's tokens.

    Raises CommandError with the symbols missing from its list of instruments.
    """
    known = InstrumentAlias.objects.filter(
        source=Source.KITE, instrument__symbol__in=symbols
    ).exclude(token="")
    symbols_by_token = {
        int(token): name for token, name in known.values_list("token", "instrument__symbol")
    }
    if missing := sorted(set(symbols) - set(symbols_by_token.values())):
        raise CommandError(f"load Kite's list of instruments first: it lacks {missing}")
    if not symbols_by_token:
        raise CommandError("give --symbols to follow")
    return symbols_by_token


def _range(options: Mapping[str, Any], *, stored: bool) -> tuple[int, int]:
    """Return the range: from the end of an earlier replay, or from --from."""
    start = options["start"]
    if start is None:
        start = replayed_until()
    if start is None and stored:
        raise CommandError("give --from: there is no replay to continue")
    return start or 0, options["end_at"] or _ALWAYS


def _symbol(text: str) -> str:
    try:
        return str(Symbol.parse(text))
    except InvalidSymbol as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.reason}") from None


def _moment(*, last: bool) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            return read_moment("moment", text, last=last)
        except InvalidInput as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _speed(text: str) -> float:
    if text == "max":
        return FASTEST
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < FASTEST:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number above 0 nor max")
    return speed


def _shown(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment, tz=INDIA):%Y-%m-%d %H:%M:%S %a}"
