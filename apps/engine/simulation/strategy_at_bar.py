"""A strategy at one bar of a symbol: its conditions, its signals, and the levels of a position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.candles.candles import TIMEFRAMES
from apps.engine.language.conditions import Side
from apps.engine.language.strategy import Strategy
from apps.engine.results.wire_records import Timestamp, wire_times
from apps.engine.signals.ranking import RankedSymbol, Ranking
from apps.engine.simulation import explain, trade_levels
from apps.engine.simulation.explain import ExplainedSide, ExplainedStep
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.timeline import SymbolSeries
from apps.engine.simulation.trade_levels import Entry, ExitLevels


class ExplainedCandle(TypedDict):
    """The prices of a candle."""

    time: Timestamp
    open: float
    high: float
    low: float
    close: float
    volume: float


class BarExplanation(TypedDict):
    """The conditions of a strategy at a candle."""

    symbol: str
    timeframe: Annotated[str, Field(json_schema_extra={"enum": list(TIMEFRAMES)})]
    candle: ExplainedCandle
    confirmationCandles: int
    sides: list[ExplainedSide]
    ranking: NotRequired[
        Annotated[
            list[RankedSymbol],
            Field(
                description="The symbols of the candle's row by their places; empty where nothing"
                " is ranked. Only for an algorithm with entryConditions.rank."
            ),
        ]
    ]


class PositionExplanation(ExplainedStep):
    """The levels of a position at a candle, and the conditions of exits."""

    levels: Annotated[
        ExitLevels | None,
        Field(
            description="The levels for the candle's prices. A trailing stop replaces the stop once"
            " it is tighter. The target does not apply in the candle that fills a limit or stop"
            " order. Null if pyramiding may have added to the position, or if the candle of its"
            " entry is not known."
        ),
    ]
    oppositeSignal: Annotated[
        bool | None,
        Field(
            description="Whether there is an opposite signal at the candle's close; null if it"
            " closes nothing."
        ),
    ]


@dataclass(frozen=True, slots=True)
class StrategyAtBar:
    """A strategy at the candle with index `bar` among the bars of `series.used`, warm-up included.

    `sides` are the entry conditions of each traded side, `ranking` has the places of all symbols.
    """

    strategy: Strategy
    contract: Contract
    series: SymbolSeries
    bar: int
    sides: list[ExplainedSide]
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

    def explain(self) -> BarExplanation:
        """Return the candle with the conditions of entries and, if symbols are ranked, its row."""
        used, bar = self.series.used, self.bar
        explanation = BarExplanation(
            symbol=self.series.symbol,
            timeframe=self.strategy.basicInfo.timeframe,
            candle=ExplainedCandle(
                time=wire_times(used.time[[bar]])[0],
                open=float(used.open[bar]),
                high=float(used.high[bar]),
                low=float(used.low[bar]),
                close=float(used.close[bar]),
                volume=float(used.volume[bar]),
            ),
            confirmationCandles=self.strategy.entryConditions.confirmationCandles,
            sides=self.sides,
        )
        if self.ranking is not None:
            explanation["ranking"] = self.ranking.row(self.time)
        return explanation

    def explain_position(self, side: Side, *, entered: int, price: float) -> PositionExplanation:
        """Return the levels and the conditions of exits of a position that was held in the bar,
        entered in the bar of this time at this price.
        """
        entry = Entry(side, entered, price)
        levels = trade_levels.levels_of(entry, self.strategy, self.contract, self.series, self.bar)
        return {
            "levels": None if levels is None else levels.to_wire(),
            "oppositeSignal": explain.opposite_at(side, self.strategy, self.series, self.bar),
            **explain.exits_at(side, self.strategy, self.series, self.bar),
        }
