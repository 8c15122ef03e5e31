"""What the engine needs of each symbol: its bars with their warm-up, its hours, its contract."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Final

import numpy as np

from apps.backtests.kinds import Kind
from apps.engine.candles import Candles, Table, start_of_block
from apps.engine.errors import EngineError
from apps.engine.language.strategy import longer_warmups
from apps.engine.simulation.timeline import History, Note
from apps.engine.symbols import parse
from apps.market import store
from apps.market.contracts import MarketRules
from apps.market.corporate_actions import find_split_candidates
from apps.market.dates import midnight
from apps.market.store import AdjustedCandles

MOST_BARS: Final = 10_000_000
"""Of one backtest, over all its symbols: a worker holds them in memory."""
MOST_BARS_SEARCHED: Final = 2_000_000
"""Where many sets of parameters are tried: each thread holds columns of its own beside them."""
_SHOWN: Final = 5
"""Splits that a note names."""


class TooManyBars(EngineError):
    """More history than a worker should hold at once."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"The range holds more than {most:,} bars over all symbols; shorten it,"
            " or name fewer symbols or a longer timeframe."
        )


def most_bars(kind: Kind) -> int:
    """Of one backtest of this kind."""
    searches = kind in (Kind.WALK_FORWARD, Kind.OPTIMIZATION)
    return MOST_BARS_SEARCHED if searches else MOST_BARS


def histories_of(
    rules: MarketRules,
    *,
    start: int,
    end: int,
    most_bars: int,
    on_progress: Callable[[float], None],
) -> list[History]:
    """In the listed order of symbols, which is the order in which they trade (engine rule 2).

    `on_progress` is told the fraction that is read after each; what it raises ends the reading.
    Raises TooManyBars.
    """
    symbols, timeframe = rules.strategy.basicInfo.symbols, rules.strategy.basicInfo.timeframe
    histories, bars = [], 0
    table = Table(most_bars) if len(symbols) > 1 else None
    for symbol in symbols:
        priced = store.read_adjusted(symbol, timeframe, start=start, end=end)
        longer = {
            name: longer_candles(symbol, timeframe, name, start=start, end=end)
            for name in longer_warmups(rules.strategy)
        }
        bars += sum(map(len, (priced.candles, *longer.values())))
        if bars > most_bars:
            raise TooManyBars(most_bars)
        candles = table.laid(priced.candles) if table else priced.candles
        history = history_of(rules, symbol, candles, start=start)
        notes = (*_notes(symbol, priced, timeframe), *history.notes)
        histories.append(replace(history, notes=notes, longer=longer))
        on_progress(len(histories) / len(symbols))
    return histories


def longer_candles(symbol: str, own: str, longer: str, *, start: int, end: int) -> Candles:
    """Those that a simulation of the timeframe `own` can see from `start` to `end` (rule 11)."""
    begins = start_of_block(start, own)
    return store.read_adjusted(symbol, longer, start=begins, end=end).candles


def _notes(symbol: str, priced: AdjustedCandles, timeframe: str) -> tuple[Note, ...]:
    """Which splits and bonuses the prices are adjusted for, and which seem to be missing."""
    missing = splits_missed(symbol, priced.candles, timeframe)
    if not priced.actions:
        return missing
    told = ", ".join(f"{each.kind} {each.terms} of {each.ex_date}" for each in priced.actions)
    return (Note("adjusted_prices", f"Prices of {symbol} are adjusted for: {told}."), *missing)


def splits_missed(symbol: str, candles: Candles, timeframe: str) -> tuple[Note, ...]:
    """A note if the prices of a share fall, from a day to the next, as in a split."""
    if timeframe == "1w" or parse(symbol).type != "equity":
        return ()
    found = find_split_candidates(candles)
    if not found:
        return ()
    told = ", ".join(
        f"{each.ratio.numerator}:{each.ratio.denominator} on {np.datetime64(each.day, 'D')}"
        for each in found[:_SHOWN]
    )
    message = f"Prices of {symbol} look split and are not adjusted for it: {told}."
    return (Note("looks_unadjusted", message),)


def history_of(rules: MarketRules, symbol: str, candles: Candles, *, start: int) -> History:
    """The bars with the symbol's hours and its contract."""

    def price_on(day: date) -> float:
        """The close of the first bar of the range from that day on, else the last there is."""
        since = max(start, midnight(day))
        at = min(int(np.searchsorted(candles.time, since)), len(candles) - 1)
        return float(candles.close[at]) if len(candles) else 0.0

    contract = rules.contract(symbol, price_on)
    return History(symbol, candles, rules.sessions(symbol), contract, rules.notes(symbol))
