"""The bars of a simulation, prepared once for any number of strategies that differ in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from apps.engine.candles.candles import Candles
from apps.engine.kernel.records import MarketRows, Plan
from apps.engine.language.strategy import Strategy
from apps.engine.signals.columns import ColumnCache
from apps.engine.signals.required_inputs import RequiredInputs
from apps.engine.signals.signals import SignalMask
from apps.engine.simulation.market import JoinedMarket, combine_signals, join
from apps.engine.simulation.plan import Contract, ranges_asked
from apps.engine.simulation.timeline import History, SymbolSeries, signals_of_series


class PreparedData(NamedTuple):
    """Prepared bars.

    `joined` is without ranges: they and the signals are a strategy's own. `caches` hold the columns
    of each symbol, `ranges_cache` the ranges of all symbols together.
    """

    histories: Sequence[History]
    all_series: Sequence[SymbolSeries]
    joined: JoinedMarket
    caches: Sequence[ColumnCache]
    ranges_cache: ColumnCache
    start: int
    end: int

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
        if len(self.all_series) == 1:
            own = None if into is None else into[0]
            only = signals_of_series(
                inputs, plan, self.all_series[0], cache=self.caches[0], into=own
            )
            return combine_signals(self.joined, [only])
        symbol_signals = (
            signals_of_series(inputs, plan, symbol_series, cache=cache)
            for symbol_series, cache in zip(self.all_series, self.caches, strict=True)
        )
        if not any(inputs.atr_periods):
            return combine_signals(self.joined, symbol_signals, into)
        key = inputs.atr_periods, ranges_asked(plan).tobytes()
        (ranges_cache,) = self.ranges_cache.get(key) or (None,)
        market, signals = combine_signals(self.joined, symbol_signals, into, ranges_cache)
        self.ranges_cache.add(key, (market.atr,))
        return market, signals


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
        histories, all_series, join(all_series), caches, ColumnCache(share), start, end
    )
