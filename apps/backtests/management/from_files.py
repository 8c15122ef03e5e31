"""The input of a simulation from a file of candles, without server or database."""

from dataclasses import replace

from apps.backtests.running.histories import symbol_history, unadjusted_split_notes
from apps.core.times import day_in_india
from apps.engine import History, InsufficientBars, OtherSymbol
from apps.engine.candles import TIMEFRAMES, Candles, Sessions, resample
from apps.engine.language import Strategy
from apps.market.rulebook import MarketRules, bundled_market_rules
from apps.market.services import CandleImport, InstrumentBars


def rules_of_candles(strategy: Strategy, candles: Candles) -> MarketRules:
    """Return the bundled rules for the days of the candles."""
    first, last = (day_in_india(int(candles.time[n])) for n in (0, -1))
    return bundled_market_rules(strategy, first=first, last=last)


def history_of_file(
    rules: MarketRules, loaded: CandleImport, part: InstrumentBars, *, start: int | None = None
) -> History:
    """Return the history of the file's symbol in the strategy's timeframes.

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
    read = [
        OtherSymbol(
            part.symbol,
            {name: _resample(loaded.timeframe, part, name, sessions) for name in timeframes},
            sessions,
        )
        for symbol, timeframes in rules.strategy.read_symbols.items()
        if symbol == part.symbol
    ]
    return replace(history, higher_timeframes=longer, other_symbols=read, notes=notes)


def _resample(source: str, part: InstrumentBars, timeframe: str, sessions: Sessions) -> Candles:
    """Return the bars in this timeframe, without an incomplete last bar."""
    known_until = int(part.candles.time[-1]) + TIMEFRAMES[source]
    candles = resample(part.candles, source, timeframe, sessions, until=known_until)
    if not len(candles):
        raise InsufficientBars(part.symbol, held=0, needed=History.LEAST_BARS)
    return candles
