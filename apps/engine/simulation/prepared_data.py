"""The bars of a simulation, prepared once for any number of strategies that differ in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles
from apps.engine.kernel.records import MarketRows, Plan, Ranks
from apps.engine.language.strategy import Strategy
from apps.engine.signals.columns import ColumnCache
from apps.engine.signals.ranking import NO_RANKING, Ranking, apply_ranking, places_of
from apps.engine.signals.required_inputs import RankInputs, RequiredInputs, required_inputs
from apps.engine.signals.signals import SignalMask, ranked_values
from apps.engine.simulation.market import JoinedMarket, combine_signals, join
from apps.engine.simulation.plan import Contract, ranges_asked, ranking_bars
from apps.engine.simulation.timeline import (
    History,
    SymbolSeries,
    SymbolSignals,
    signals_of_series,
)


class PreparedData(NamedTuple):
    """Prepared bars.

    `joined` is without ranges: they and the signals are a strategy's own. `caches` hold the columns
    of each symbol, `ranges_cache` the ranges and places of all symbols together. `ranking` says for
    each bar of each symbol whether its row ranks; it is empty without a ranking.
    """

    histories: Sequence[History]
    all_series: Sequence[SymbolSeries]
    joined: JoinedMarket
    caches: Sequence[ColumnCache]
    ranges_cache: ColumnCache
    start: int
    end: int
    ranking: Sequence[NDArray[np.bool_]] = ()

    @property
    def market(self) -> MarketRows:
        return self.joined.market

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(history.symbol for history in self.histories)

    @property
    def contracts(self) -> list[Contract]:
        """The contracts as known before the end of the range."""
        return [history.contract.until(self.end) for history in self.histories]

    @property
    def candles(self) -> list[Candles]:
        """The bars in the range, of each symbol."""
        return [symbol_series.candles for symbol_series in self.all_series]

    def with_signals(
        self, inputs: RequiredInputs, plan: Plan, into: SignalMask | None = None
    ) -> tuple[MarketRows, SignalMask]:
        """Return the market with the required ranges, and its signals u1[symbols, rows], written to
        `into` if given.

        Raises InsufficientBars if too few bars are warm.
        """
        if len(self.all_series) == 1 and inputs.rank is None:
            own = None if into is None else into[0]
            only = signals_of_series(
                inputs, plan, self.all_series[0], cache=self.caches[0], into=own
            )
            return combine_signals(self.joined, [only])
        symbol_signals: Iterable[SymbolSignals] = (
            signals_of_series(inputs, plan, symbol_series, cache=cache)
            for symbol_series, cache in zip(self.all_series, self.caches, strict=True)
        )
        joined = self.joined
        if inputs.rank is not None:
            symbol_signals = list(symbol_signals)
            joined = self.ranked(inputs.rank, symbol_signals)
        if not any(inputs.atr_periods):
            return combine_signals(joined, symbol_signals, into)
        key = inputs.atr_periods, ranges_asked(plan).tobytes()
        (ranges_cache,) = self.ranges_cache.get(key) or (None,)
        market, signals = combine_signals(joined, symbol_signals, into, ranges_cache)
        self.ranges_cache.add(key, (market.atr,))
        return market, signals

    def ranked(self, rank: RankInputs, symbol_signals: Sequence[SymbolSignals]) -> JoinedMarket:
        """Apply the ranking to the signals of each symbol; return the market with the places."""
        ranks = self._ranks(rank, symbol_signals)
        for own, section in zip(symbol_signals, self.joined.sections, strict=True):
            apply_ranking(rank, ranks[section], own.signals)
        return self.joined._replace(market=self.market._replace(ranks=ranks))

    def ranking_of(self, strategy: Strategy) -> Ranking | None:
        """Return the places and values of all symbols; None without a ranking."""
        inputs = required_inputs(strategy)
        if inputs.rank is None:
            return None
        times = [candles.time for candles in self.candles]
        values = [
            ranked_values(
                inputs, series.bars, len(series.used) - len(series.candles), len(series.used)
            )
            for series in self.all_series
        ]
        places = places_of(times, values, self.ranking, highest=inputs.rank.highest)
        return Ranking(self.symbols, times, values, places, inputs.rank.top)

    def _ranks(self, rank: RankInputs, symbol_signals: Sequence[SymbolSignals]) -> Ranks:
        """Return the place of each bar of the market."""
        key = rank.by, rank.highest
        arrays = self.ranges_cache.get(key)
        if arrays is None:
            packed = np.full(len(self.market.bars.open), NO_RANKING, np.int16)
            by_symbol = places_of(
                [candles.time for candles in self.candles],
                [own.values for own in symbol_signals],
                self.ranking,
                highest=rank.highest,
            )
            for own, section in zip(by_symbol, self.joined.sections, strict=True):
                packed[section] = own
            arrays = (packed,)
            self.ranges_cache.add(key, arrays)
        return arrays[0]


def prepare_data(
    strategy: Strategy,
    histories: Sequence[History],
    *,
    start: int,
    end: int,
    report: Callable[[float], None],
    cache_bytes: int = 0,
) -> PreparedData:
    """Prepare the bars with start <= time < end.

    `cache_bytes` limits the cached columns of all symbols. Raises InsufficientBars,
    MissingCalendar.
    """
    all_series = []
    for history in histories:
        all_series.append(SymbolSeries.of(strategy, history, start, end))
        report(0.0)
    share = cache_bytes // (len(all_series) + (len(all_series) > 1))
    caches = [ColumnCache(share) for _ in all_series]
    return PreparedData(
        histories,
        all_series,
        join(all_series),
        caches,
        ColumnCache(share),
        start,
        end,
        _ranking(strategy, histories[0], all_series),
    )


def _ranking(
    strategy: Strategy, first: History, all_series: Sequence[SymbolSeries]
) -> list[NDArray[np.bool_]]:
    rank = strategy.entryConditions.rank
    if rank is None:
        return []
    return [
        ranking_bars(rank.every, first.symbol, first.sessions, symbol_series.candles.days)
        for symbol_series in all_series
    ]
