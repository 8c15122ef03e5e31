"""A strategy at one bar of a symbol: its conditions, its signals, and the levels of a position."""

from __future__ import annotations

from dataclasses import dataclass

from apps.engine.kernel.records import Array
from apps.engine.language.conditions import Side
from apps.engine.language.strategy import Strategy
from apps.engine.signals.ranking import RankedSymbol, Ranking
from apps.engine.simulation import explain, trade_levels
from apps.engine.simulation.explain import SideFound
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.timeline import SymbolSeries
from apps.engine.simulation.trade_levels import Levels


@dataclass(frozen=True, slots=True)
class StrategyAtBar:
    """A strategy at the candle with index `bar` among the bars of `series.used`, warm-up included.

    `sides` are the entry conditions of each traded side, `ranking` has the places of all symbols.
    """

    strategy: Strategy
    contract: Contract
    series: SymbolSeries
    bar: int
    sides: list[SideFound]
    ranking: Ranking | None = None

    @classmethod
    def of(
        cls,
        strategy: Strategy,
        contract: Contract,
        series: SymbolSeries,
        bar: int,
        ranking: Ranking | None = None,
    ) -> StrategyAtBar:
        """Read the conditions of entries at the bar."""
        sides = explain.sides_at(strategy, series, bar)
        return cls(strategy, contract, series, bar, sides, ranking)

    @property
    def time(self) -> int:
        """The start of the candle."""
        return int(self.series.used.time[self.bar])

    @property
    def ranked(self) -> list[RankedSymbol] | None:
        """The symbols of the row by their places; None without a ranking."""
        return None if self.ranking is None else self.ranking.row(self.time)

    @property
    def is_picked(self) -> bool:
        """Whether the ranking lets an entry signal count."""
        if self.ranking is None:
            return True
        return self.ranking.picks(self.ranking.symbols.index(self.series.symbol), self.time)

    @property
    def signals(self) -> list[Side]:
        """The sides that are signalled. Of one side that an opposite signal closes: both, where
        that is true too.
        """
        return explain.signals_at(self.sides, self.strategy, self.series, self.bar)

    @property
    def ranges_known(self) -> bool:
        """Whether all average true ranges of the strategy are known."""
        return explain.ranges_known(self.strategy, self.series, self.bar)

    @property
    def orders_reached(self) -> frozenset[Side]:
        """The sides with an order that the next bar reaches (rule 12)."""
        return trade_levels.orders_reached(self.strategy, self.contract, self.series.used, self.bar)

    @property
    def beyond_levels(self) -> frozenset[Side]:
        """The sides whose fill in the next bar is at or beyond their levels (rule 3)."""
        return trade_levels.sides_beyond_levels(self.strategy, self.contract, self.series, self.bar)

    def exits(self, side: Side) -> SideFound:
        """Return the exit conditions for a position of a side; nothing confirms them."""
        return explain.exits_at(side, self.strategy, self.series, self.bar)

    def closes_on_opposite(self, side: Side) -> bool | None:
        """Return whether an opposite signal closes a position; None where none ever does."""
        return explain.opposite_at(side, self.strategy, self.series, self.bar)

    def levels(self, trade: Array) -> Levels | None:
        """Return the levels of a trade, a TRADE record, that was held in the bar.

        None where the position may have been added to, and where the candle of its entry is not
        there.
        """
        return trade_levels.levels_of(trade, self.strategy, self.contract, self.series, self.bar)
