"""The history of each symbol for a simulation: bars with their warm-up, sessions and contract."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

import numpy as np

from apps.backtests.models import BacktestKind
from apps.engine.candles import Candles, CandleTable, start_of_block
from apps.engine.errors import EngineError
from apps.engine.language.strategy import higher_timeframe_warmups
from apps.engine.simulation.timeline import History, Note
from apps.engine.symbols import parse_symbol
from apps.market import store
from apps.market.contracts import MarketRules
from apps.market.corporate_actions import find_split_candidates
from apps.market.dates import midnight
from apps.market.store import AdjustedCandles

# The bars of one plain backtest over all its symbols; with more than the second number it goes
# through them part by part.
MAX_BARS: Final = 50_000_000
MAX_BARS_IN_MEMORY: Final = 2_000_000
# The same of a Monte Carlo, and of what is made of a result, which hold all bars at once.
MAX_BARS_HELD: Final = 10_000_000
# The same where many parameter sets are tried: each thread has further columns of its own.
MAX_BARS_SEARCHED: Final = 2_000_000
# The splits that a note names.
_MAX_SPLITS_NAMED: Final = 5


class TooManyBars(EngineError):
    """The range has more history than a worker should read, or hold in memory."""

    def __init__(self, max_bars: int) -> None:
        super().__init__(
            f"The range holds more than {max_bars:,} bars over all symbols; shorten it,"
            " or name fewer symbols or a longer timeframe."
        )


def max_bars_of(kind: BacktestKind) -> int:
    """Return the maximum number of bars of a backtest of this kind."""
    searches = kind in (BacktestKind.WALK_FORWARD, BacktestKind.OPTIMIZATION)
    return MAX_BARS_SEARCHED if searches else MAX_BARS_HELD


@dataclass(frozen=True, slots=True)
class HistoryReader:
    """Reads the history of one symbol from `start` to `end` (epoch seconds), as it is stored when
    it is first read: bars that come in behind it afterwards are left out.
    """

    rules: MarketRules
    symbol: str
    start: int
    end: int
    # By timeframe the start of the last bar that was there at first; 0 where none was.
    _last: dict[str, int] = field(default_factory=dict, compare=False)

    def read(self) -> History:
        """Return the history with its contract and all notes."""
        timeframe = self.rules.strategy.basicInfo.timeframe
        adjusted, longer = self._read(self.start, self.end)
        timeframes = {timeframe: adjusted.candles, **longer}
        for name, candles in timeframes.items():
            self._last.setdefault(name, int(candles.time[-1]) if len(candles) else 0)
        history = symbol_history(self.rules, self.symbol, adjusted.candles, start=self.start)
        notes = (*_adjustment_notes(self.symbol, adjusted, timeframe), *history.notes)
        return replace(history, notes=notes, higher_timeframes=longer)

    def read_part(self, start: int, end: int) -> History:
        """Return the candles of a part, adjusted as the whole is."""
        adjusted, longer = self._read(start, end)
        sessions = self.rules.sessions(self.symbol)
        return History(self.symbol, adjusted.candles, sessions, higher_timeframes=longer)

    def _read(self, start: int, end: int) -> tuple[AdjustedCandles, Mapping[str, Candles]]:
        strategy = self.rules.strategy
        timeframe = strategy.basicInfo.timeframe
        adjusted = store.read_adjusted(
            self.symbol, timeframe, start=start, end=end, adjusted_to=self.end,
            calendar=self.rules.sessions(self.symbol),
        )  # fmt: skip
        longer = {
            name: longer_candles(
                self.symbol, timeframe, name, start=start, end=end, adjusted_to=self.end
            )
            for name in higher_timeframe_warmups(strategy)
        }
        known = self._known(timeframe, adjusted.candles)
        return replace(adjusted, candles=known), {
            name: self._known(name, candles) for name, candles in longer.items()
        }

    def _known(self, timeframe: str, candles: Candles) -> Candles:
        """Return the candles as far as they were there when they were first read."""
        last = self._last.get(timeframe)
        if last is None:
            return candles
        return candles.slice(0, int(np.searchsorted(candles.time, last, side="right")))


def readers_of(rules: MarketRules, *, start: int, end: int) -> list[HistoryReader]:
    """Return a reader of each symbol, in the order in which they trade (engine rule 2)."""
    return [HistoryReader(rules, symbol, start, end) for symbol in rules.strategy.basicInfo.symbols]


def count_bars_read(history: History) -> int:
    """Count the candles of all timeframes."""
    return sum(map(len, (history.candles, *history.higher_timeframes.values())))


def load_histories(
    rules: MarketRules,
    *,
    start: int,
    end: int,
    max_bars: int,
    on_progress: Callable[[float], None],
) -> list[History]:
    """Return the histories in the order of the symbols, in which they trade (engine rule 2).

    `on_progress` receives the fraction that is read after each symbol; what it raises ends the
    reading. Raises TooManyBars.
    """
    readers = readers_of(rules, start=start, end=end)
    histories, bars = [], 0
    table = CandleTable.build(max_bars) if len(readers) > 1 else None
    for reader in readers:
        history = reader.read()
        bars += count_bars_read(history)
        if bars > max_bars:
            raise TooManyBars(max_bars)
        if table:
            history = replace(history, candles=table.add(history.candles))
        histories.append(history)
        on_progress(len(histories) / len(readers))
    return histories


def longer_candles(
    symbol: str, own: str, longer: str, *, start: int, end: int, adjusted_to: int | None = None
) -> Candles:
    """Return the longer candles that a simulation in the timeframe `own` can see (rule 11)."""
    block_start = start_of_block(start, own)
    return store.read_adjusted(
        symbol, longer, start=block_start, end=end, adjusted_to=adjusted_to
    ).candles


def _adjustment_notes(symbol: str, adjusted: AdjustedCandles, timeframe: str) -> tuple[Note, ...]:
    """Note the corporate actions that prices are adjusted for, and likely missing splits."""
    missing = unadjusted_split_notes(symbol, adjusted.candles, timeframe)
    if not adjusted.actions:
        return missing
    actions = ", ".join(
        f"{action.kind} {action.terms} of {action.ex_date}" for action in adjusted.actions
    )
    return (Note("adjusted_prices", f"Prices of {symbol} are adjusted for: {actions}."), *missing)


def unadjusted_split_notes(symbol: str, candles: Candles, timeframe: str) -> tuple[Note, ...]:
    """Return a note if the prices of a share fall from one day to the next as in a split."""
    if timeframe == "1w" or parse_symbol(symbol).type != "equity":
        return ()
    splits = find_split_candidates(candles)
    if not splits:
        return ()
    ratios = ", ".join(
        f"{split.ratio.numerator}:{split.ratio.denominator} on {np.datetime64(split.day, 'D')}"
        for split in splits[:_MAX_SPLITS_NAMED]
    )
    message = f"Prices of {symbol} look split and are not adjusted for it: {ratios}."
    return (Note("looks_unadjusted", message),)


def symbol_history(rules: MarketRules, symbol: str, candles: Candles, *, start: int) -> History:
    """Return the bars with the sessions and the contract of the symbol."""

    def price_on(day: date) -> float:
        """Return the close of the first bar of the range from that day on, else of the last bar."""
        since = max(start, midnight(day))
        at = min(int(np.searchsorted(candles.time, since)), len(candles) - 1)
        return float(candles.close[at]) if len(candles) else 0.0

    contract = rules.contract(symbol, price_on)
    return History(symbol, candles, rules.sessions(symbol), contract, rules.notes(symbol))
