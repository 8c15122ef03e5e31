"""Signal evaluation: the signals of runs at the close of a row, and their view of the market."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from apps.engine import (
    UNDERLYING_DAYS,
    Contract,
    circuit_flags,
    may_be_locked,
    short_margins_of,
    signals_at_bars,
    with_circuits,
)
from apps.engine.candles import DAY, TIMEFRAMES, Candles, Sessions, frozen, ist_day, parse_symbol
from apps.engine.kernel.records import NO_MARGINS, NO_VOLUME, Bars, MarketRows
from apps.engine.language import HigherTimeframe, Strategy, higher_timeframe_warmups
from apps.engine.results import Array
from apps.engine.signals.columns import ColumnCache
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import NO_RANGES
from apps.engine.simulation.plan import square_off_flags, squares_off
from apps.market.candles import read_bars
from apps.market.rulebook import underlying_of
from apps.trading.live.contract_terms import ContractTerms
from apps.trading.live.indicator_window import IndicatorWindow
from apps.trading.live.step import RunContext, SignalInput
from apps.trading.runs.bar_rows import BarSnapshot

# Of indicators' columns that runs share while one row of one symbol is evaluated.
COLUMN_BYTES: Final = 64 * 1024 * 1024

_NO_FLAGS = np.empty(0, np.uint8)  # of a row without bars
_NO_FLAG = np.zeros(1, np.uint8)
_PRICES: Final = range(len(Bars._fields))


class SignalEvaluator:
    """Evaluates the last row of the window; results that several runs share are computed once."""

    def __init__(self, window: IndicatorWindow, symbols: Sequence[str], row: BarSnapshot) -> None:
        self._window, self._symbols, self._closes = window, symbols, row.closes
        self._with_bar = [s for s in range(len(symbols)) if row.has(s)]
        self._bars = {s: window.bars(s) for s in self._with_bar}
        self._columns = {s: ColumnCache(COLUMN_BYTES) for s in self._with_bar}
        self._longer: dict[tuple[int, str, Sessions], HigherTimeframe] = {}
        self._flags: dict[tuple[object, ...], Array] = {}
        self._underlyings: dict[int, Candles] = {}
        self._time = frozen(np.array([row.time]))
        self._day = ist_day(self._time)
        self._cell = np.full((1, len(symbols)), -1, np.int32)
        self._cell[0, self._with_bar] = np.arange(len(self._with_bar))
        self._prices = Bars(*(frozen(row.bars[self._with_bar, column]) for column in _PRICES))

    def evaluate(self, context: RunContext, terms: ContractTerms) -> SignalInput:
        """Return the input of all runs with the context's signal key.

        Raises MissingCalendar, and the engine's errors.
        """
        signals = np.zeros((len(self._symbols), 1), np.uint8)
        ranges, flags, inputs = [NO_RANGES], [_NO_FLAGS], required_inputs(context.strategy)
        for s in self._with_bar:
            bars, calendar = self._bars[s], terms.calendars[s]
            longer = self._longer_of(s, context.strategy, calendar)
            evaluated = signals_at_bars(
                inputs, context.plan, bars, longer, len(bars) - 1, cache=self._columns[s]
            )
            signals[s] = evaluated.signals
            ranges.append(evaluated.ranges)
            flags.append(self._flags_of(s, context.strategy, calendar, terms.contracts[s]))
        if any(map(len, flags)):  # of the others nothing is asked
            flags = [of_symbol if len(of_symbol) else _NO_FLAG for of_symbol in flags[1:]]
        market = MarketRows(
            self._time, self._day, self._cell, self._prices,
            np.concatenate(ranges), np.concatenate(flags), self._short_margins(context, terms),
            self._volume(context),
        )  # fmt: skip
        return SignalInput(market, signals)

    def _volume(self, context: RunContext) -> Array:
        """Return the volumes of the row's bars; empty if no entry is limited by volume."""
        if not context.plan.max_volume_share:
            return NO_VOLUME
        return np.array([self._bars[s].volume[-1] for s in self._with_bar])

    def _short_margins(self, context: RunContext, terms: ContractTerms) -> Array:
        """Return the rupees locked by a unit of each option sold in the row; empty if no option may
        be sold.
        """
        margins = []
        for s in self._with_bar:
            contract, count = terms.contracts[s], len(self._bars[s])
            bar = self._bars[s].slice(count - 1, count)
            underlying = None
            if contract.short_margin and context.strategy.entryConditions.positionType != "long":
                underlying = self._underlying(s, context.strategy.basicInfo.timeframe)
            margins.append(short_margins_of(context.strategy, contract, bar, underlying))
        if not any(map(len, margins)):
            return NO_MARGINS
        return np.concatenate([own if len(own) else np.zeros(1) for own in margins])

    def _underlying(self, s: int, timeframe: str) -> Candles:
        """Return the last candles of an option's underlying that were complete when the
        row began.
        """
        if s not in self._underlyings:
            symbol, at = underlying_of(parse_symbol(self._symbols[s])), int(self._time[0])
            since = at - UNDERLYING_DAYS * DAY - TIMEFRAMES[timeframe]
            self._underlyings[s] = read_bars(symbol, timeframe, start=since, end=at)
        return self._underlyings[s]

    def _longer_of(
        self, s: int, strategy: Strategy, calendar: Sessions
    ) -> Mapping[str, HigherTimeframe]:
        names = list(higher_timeframe_warmups(strategy))
        missing = [name for name in names if (s, name, calendar) not in self._longer]
        bars = self._window.longer(s, missing, calendar, closes=self._closes)
        self._longer |= {(s, name, calendar): candles for name, candles in bars.items()}
        return {name: self._longer[s, name, calendar] for name in names}

    def _flags_of(
        self, s: int, strategy: Strategy, calendar: Sessions, contract: Contract
    ) -> Array:
        written = strategy.exitConditions.squareOffTime
        key = (s, squares_off(strategy), written, calendar, contract.ends, contract.delivered)
        if key not in self._flags:
            last: Candles = self._bars[s].slice(len(self._bars[s]) - 1, len(self._bars[s]))
            flags = square_off_flags(strategy, self._symbols[s], last, calendar, contract)
            circuits = self._circuits_of(s, strategy.basicInfo.timeframe, last, contract)
            self._flags[key] = with_circuits(flags, circuits)
        return self._flags[key]

    def _circuits_of(self, s: int, timeframe: str, last: Candles, contract: Contract) -> Array:
        """Return whether the last bar of a symbol is at its circuit limit.

        Few bars of history need daily candles.
        """
        bars = self._bars[s]
        if not may_be_locked(contract, timeframe, last):
            return _NO_FLAGS
        days = self._window.days(s) if TIMEFRAMES[timeframe] < DAY else None
        return circuit_flags(contract, timeframe, bars, first=len(bars) - 1, days=days)
