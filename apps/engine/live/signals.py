"""Signals of live runs: the decision of a strategy at the close of a row, and the market
it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, TIMEFRAMES, Candles, frozen, ist_day
from apps.engine.candles.sessions import Sessions
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import CandleSource
from apps.engine.kernel.records import (
    NO_LEVELS,
    NO_MARGINS,
    NO_VOLUME,
    Array,
    Bars,
    MarketRows,
    Plan,
    Ranks,
)
from apps.engine.language.strategy import Strategy
from apps.engine.live.rows import BarSnapshot, ContractTerms
from apps.engine.signals.alerts import AlertTimes
from apps.engine.signals.columns import ColumnCache, SymbolBars
from apps.engine.signals.ranking import Ranking, apply_ranking, places_of
from apps.engine.signals.required_inputs import RankInputs, required_inputs
from apps.engine.signals.signals import NO_RANGES, ranked_values
from apps.engine.simulation.circuits import circuit_flags, may_be_locked, with_circuits
from apps.engine.simulation.plan import (
    Contract,
    ranking_bars,
    square_off_flags,
    squares_off,
)
from apps.engine.simulation.timeline import short_margins_of, signals_at_bars

# Of indicators' columns that runs share while one row of one symbol is evaluated.
COLUMN_BYTES: Final = 64 * 1024 * 1024

_NO_FLAGS = np.empty(0, np.uint8)  # of a row without bars
_NO_FLAG = np.zeros(1, np.uint8)
_PRICES: Final = range(len(Bars._fields))


class BarWindow(Protocol):
    """The bars that indicators at a row are computed over (rule 11)."""

    def bars(self, symbol: int, /) -> Candles:
        """Return the bars of a symbol, with the row's at the end."""

    def aligned(
        self, symbol: int, sources: Sequence[CandleSource], calendar: Sessions, /, *, closes: int
    ) -> Mapping[CandleSource, AlignedCandles]:
        """Return the candles of longer timeframes and of other symbols that are finished by the
        moment `closes`, aligned to the symbol's bars.
        """

    def days(self, symbol: int, /) -> Candles:
        """Return the daily candles of earlier days."""


class SignalInput(NamedTuple):
    """The input of a step for one signal key: the row's bars, and signal bits u1[1, symbols]."""

    market: MarketRows
    signals: Array

    @property
    def short_margins(self) -> Array:
        """f8[symbols], 0 for a symbol without a bar; empty where nothing is locked (rule 6)."""
        market = self.market
        if not len(market.short_margins):
            return NO_MARGINS
        cells = market.cell[0]
        return np.where(cells >= 0, market.short_margins[cells], 0.0)


class SignalEvaluator:
    """Evaluates the last row of the window; results that several runs share are computed once."""

    def __init__(
        self,
        window: BarWindow,
        symbols: Sequence[str],
        row: BarSnapshot,
        underlying_of: Callable[[int, str], Candles],
    ) -> None:
        """`underlying_of` reads the candles of a timeframe for the underlying of a slot's option
        that were over when the row began.
        """
        self._window, self._symbols, self._closes = window, symbols, row.closes
        self._late = row.late
        self._underlying_of = underlying_of
        self._with_bar = [s for s in range(len(symbols)) if row.has(s)]
        self._bars = {s: window.bars(s) for s in self._with_bar}
        self._columns = {s: ColumnCache(COLUMN_BYTES) for s in self._with_bar}
        self._aligned: dict[tuple[int, CandleSource, Sessions], AlignedCandles] = {}
        self._flags: dict[tuple[object, ...], Array] = {}
        self._underlyings: dict[int, Candles] = {}
        self._time = frozen(np.array([row.time]))
        self._day = ist_day(self._time)
        self._cell = np.full((1, len(symbols)), -1, np.int32)
        self._cell[0, self._with_bar] = np.arange(len(self._with_bar))
        self._prices = Bars(*(frozen(row.bars[self._with_bar, column]) for column in _PRICES))

    def evaluate(
        self,
        strategy: Strategy,
        plan: Plan,
        terms: ContractTerms,
        alerts: Sequence[AlertTimes],
    ) -> SignalInput:
        """Return the signals and the market for all runs with these conditions, these alerts and
        `signal_settings`. `alerts` are those of each symbol, at least up to the end of the row and
        as far back as conditions read (`RequiredInputs.lookback` bars).

        Raises MissingCalendar, and the engine's errors.
        """
        signals = np.zeros((len(self._symbols), 1), np.uint8)
        ranges, flags, inputs = [NO_RANGES], [_NO_FLAGS], required_inputs(strategy)
        levels = [NO_LEVELS]
        values = list[NDArray[np.float64]]()
        for s in self._with_bar:
            bars, calendar = self._symbol_bars(s, strategy, terms), terms.calendars[s]
            bars = bars._replace(alerts=alerts[s])
            last = len(bars.candles) - 1
            evaluated = signals_at_bars(inputs, plan, bars, last, cache=self._columns[s])
            signals[s] = evaluated.signals
            ranges.append(evaluated.ranges)
            levels.append(evaluated.levels)
            values.append(evaluated.values)
            flags.append(self._flags_of(s, strategy, calendar, terms.contracts[s]))
        if any(map(len, flags)):  # of the others nothing is asked
            flags = [of_symbol if len(of_symbol) else _NO_FLAG for of_symbol in flags[1:]]
        market = MarketRows(
            self._time, self._day, self._cell, self._prices,
            np.concatenate(ranges), np.concatenate(flags), self._short_margins(strategy, terms),
            self._volume(plan), np.concatenate(levels),
        )  # fmt: skip
        if inputs.rank is not None and values:
            places = self._places(inputs.rank, values, terms)
            for s, own in zip(self._with_bar, places, strict=True):
                apply_ranking(inputs.rank, own, signals[s])
            market = market._replace(ranks=np.concatenate(places))
        return SignalInput(market, signals)

    def _symbol_bars(self, s: int, strategy: Strategy, terms: ContractTerms) -> SymbolBars:
        calendar = terms.calendars[s]
        return SymbolBars(self._bars[s], self._aligned_of(s, strategy, calendar), calendar)

    def ranking(self, strategy: Strategy, terms: ContractTerms) -> Ranking | None:
        """Return the values and places of the symbols with a bar in the row; None without a
        ranking. Raises MissingCalendar.
        """
        inputs = required_inputs(strategy)
        if inputs.rank is None:
            return None
        values = []
        for s in self._with_bar:
            bars = self._symbol_bars(s, strategy, terms)
            end = len(bars.candles)
            values.append(ranked_values(inputs, bars, end - 1, end, cache=self._columns[s]))
        symbols = [self._symbols[s] for s in self._with_bar]
        places = self._places(inputs.rank, values, terms)
        times = [self._time] * len(symbols)
        return Ranking(symbols, times, values, places, inputs.rank.top)

    def _places(
        self, rank: RankInputs, values: Sequence[NDArray[np.float64]], terms: ContractTerms
    ) -> list[Ranks]:
        """Return the places of the symbols with a bar; late ones have none."""
        first = self._symbols[0]
        ranks = ranking_bars(rank.every, first, terms.calendars[0], self._day)
        in_time = [ranks & (s not in self._late) for s in self._with_bar]
        return places_of([self._time] * len(values), values, in_time, highest=rank.highest)

    def _volume(self, plan: Plan) -> Array:
        """Return the volumes of the row's bars; empty if no entry is limited by volume."""
        if not plan.max_volume_share:
            return NO_VOLUME
        return np.array([self._bars[s].volume[-1] for s in self._with_bar])

    def _short_margins(self, strategy: Strategy, terms: ContractTerms) -> Array:
        """Return the rupees locked by a unit of each option sold in the row; empty if no option may
        be sold.
        """
        margins = []
        for s in self._with_bar:
            contract, count = terms.contracts[s], len(self._bars[s])
            bar = self._bars[s].slice(count - 1, count)
            underlying = None
            if contract.short_margin and strategy.entryConditions.positionType != "long":
                underlying = self._underlying(s, strategy.basicInfo.timeframe)
            margins.append(short_margins_of(strategy, contract, bar, underlying))
        if not any(map(len, margins)):
            return NO_MARGINS
        return np.concatenate([own if len(own) else np.zeros(1) for own in margins])

    def _underlying(self, s: int, timeframe: str) -> Candles:
        if s not in self._underlyings:
            self._underlyings[s] = self._underlying_of(s, timeframe)
        return self._underlyings[s]

    def _aligned_of(
        self, s: int, strategy: Strategy, calendar: Sessions
    ) -> Mapping[CandleSource, AlignedCandles]:
        sources = strategy.aligned_sources
        missing = [source for source in sources if (s, source, calendar) not in self._aligned]
        aligned = self._window.aligned(s, missing, calendar, closes=self._closes)
        self._aligned |= {(s, source, calendar): aligned[source] for source in missing}
        return {source: self._aligned[s, source, calendar] for source in sources}

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
