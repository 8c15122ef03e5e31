"""The input of a simulation from files of candles, without server or database."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from django.core.management.base import CommandError

from apps.backtests.running.histories import symbol_history, unadjusted_split_notes
from apps.core.times import day_in_india
from apps.engine import History, InsufficientBars, OtherSymbol
from apps.engine.candles import TIMEFRAMES, Candles, Sessions, resample
from apps.engine.language import Strategy
from apps.market.rulebook import MarketRules, bundled_market_rules, bundled_sessions
from apps.market.services import CandleImport, ImportOptions, InstrumentBars, read_one_series

FileOfSymbol: TypeAlias = tuple[CandleImport, InstrumentBars]


def read_other_files(
    strategy: Strategy, symbol: str, paths: Mapping[str, Path]
) -> Mapping[str, FileOfSymbol]:
    """Read the files of the symbols that conditions read beside `symbol`.

    Raises CommandError unless there is one for each of them, or if conditions read alerts, which
    only a service has; and BadCandleFile.
    """
    if strategy.alert_names:
        raise CommandError(
            f"The strategy reads alerts ({', '.join(strategy.alert_names)}), and files hold none:"
            " backtest it on the service that received them."
        )
    read = [name for name in strategy.read_symbols if name != symbol]
    if missing := [name for name in read if name not in paths]:
        raise CommandError(
            f"The strategy also reads {', '.join(missing)}: add"
            f" {' '.join(f'--other {name}=FILE' for name in missing)}."
        )
    if unread := sorted(set(paths) - set(read)):
        raise CommandError(f"The strategy does not read {', '.join(unread)}.")
    return {name: read_one_series(paths[name], ImportOptions(symbol=name)) for name in read}


def rules_of_candles(strategy: Strategy, candles: Candles) -> MarketRules:
    """Return the bundled rules for the days of the candles."""
    first, last = (day_in_india(int(candles.time[n])) for n in (0, -1))
    return bundled_market_rules(strategy, first=first, last=last)


def history_of_file(
    rules: MarketRules,
    loaded: CandleImport,
    part: InstrumentBars,
    *,
    start: int | None = None,
    read_files: Mapping[str, FileOfSymbol] = {},
) -> History:
    """Return the history of the file's symbol in the strategy's timeframes; `read_files` are those
    of the symbols that conditions read.

    Trading begins at `start`, in epoch seconds, by default at the first bar. Raises
    InsufficientBars.
    """
    timeframe, sessions = rules.strategy.basicInfo.timeframe, rules.sessions(part.symbol)
    candles = _resample(loaded.timeframe, part, timeframe, sessions)
    longer = {
        name: _resample(loaded.timeframe, part, name, sessions)
        for name in rules.strategy.higher_timeframe_warmups
    }
    first = int(candles.time[0]) if start is None else start
    history = symbol_history(rules, part.symbol, candles, start=first)
    notes = (*unadjusted_split_notes(part.symbol, candles, timeframe), *history.notes)
    files = {part.symbol: (loaded, part), **read_files}
    calendars = {**bundled_sessions(read_files), part.symbol: sessions}
    read = [
        _other_symbol(*files[symbol], timeframes, calendars[symbol])
        for symbol, timeframes in rules.strategy.read_symbols.items()
    ]
    return replace(history, higher_timeframes=longer, other_symbols=read, notes=notes)


def _other_symbol(
    loaded: CandleImport, part: InstrumentBars, timeframes: Iterable[str], sessions: Sessions
) -> OtherSymbol:
    candles = {name: _resample(loaded.timeframe, part, name, sessions) for name in timeframes}
    first = next(iter(candles))
    return OtherSymbol(
        part.symbol,
        candles,
        sessions,
        notes=unadjusted_split_notes(part.symbol, candles[first], first),
    )


def _resample(source: str, part: InstrumentBars, timeframe: str, sessions: Sessions) -> Candles:
    """Return the bars in this timeframe, without an incomplete last bar."""
    known_until = int(part.candles.time[-1]) + TIMEFRAMES[source]
    candles = resample(part.candles, source, timeframe, sessions, until=known_until)
    if not len(candles):
        raise InsufficientBars(part.symbol, held=0, needed=History.LEAST_BARS)
    return candles
