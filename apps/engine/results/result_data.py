"""The data behind the figures of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles, ist_day
from apps.engine.kernel.records import Array
from apps.engine.lazy import lazy
from apps.engine.results.benchmark import beta, buy_and_hold
from apps.engine.results.breakdowns import (
    Bin,
    BreakdownRow,
    Breakdowns,
    by_hour,
    return_histogram,
    trade_breakdowns,
)
from apps.engine.results.drawdowns import (
    DrawdownEpisode,
    DrawdownEpisodes,
    drawdown_episodes,
    drawdowns,
    largest_falls,
    worst_drawdowns,
)
from apps.engine.results.equity import (
    Curve,
    daily_returns,
    day_ends,
    days_covered,
    periods_a_year,
    years_held,
)
from apps.engine.results.excursions import Excursions, excursions_of
from apps.engine.results.sharpe import (
    SharpeEstimate,
    sharpe_estimate,
    sharpe_ratio,
)
from apps.engine.results.trade_bars import SymbolTrades, late_square_offs, trades_by_symbol
from apps.engine.results.trade_figures import (
    exposed_percent,
    holding_hours,
    net_profits,
    total,
    turnover,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ResultData:
    """A result's trades and curve, and intermediate results of several metrics, computed on first
    use.

    `trades` are TRADE records in the order of their exits; a trade's profit is net of charges.
    `curve` are CURVE records: equity at the close of each row. `candles` are the simulated bars, in
    the order of the symbols; without them the prices around the trades are unknown. A day is a date
    in Asia/Kolkata with a row; `day_ends` are the last points of each, if known. `by_limit`:
    entries are limit orders. `flags` u1[bars] are those of all candles, one symbol after the other,
    if positions are squared off. A curve of only days has all figures but the METRICS marked as
    needing more.
    """

    trades: Array
    curve: Curve
    capital: float
    candles: Sequence[Candles] = ()
    day_ends: NDArray[np.int64] | None = None
    by_limit: bool = False
    flags: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))

    @lazy
    def profit(self) -> Floats:
        """The rupees of each trade."""
        return net_profits(self.trades)

    @lazy
    def won(self) -> Floats:
        return self.profit[self.profit > 0]

    @lazy
    def lost(self) -> Floats:
        """The losses, as amounts above 0."""
        return -self.profit[self.profit < 0]

    @lazy
    def net(self) -> float:
        return total(self.won) - total(self.lost)

    @lazy
    def is_long(self) -> NDArray[np.bool_]:
        return np.asarray(self.trades["side"] > 0)

    @lazy
    def hours(self) -> Floats:
        """The hours that each trade was held."""
        return holding_hours(self.trades)

    @lazy
    def hours_won(self) -> Floats:
        return self.hours[self.profit > 0]

    @lazy
    def hours_lost(self) -> Floats:
        return self.hours[self.profit < 0]

    @lazy
    def returns(self) -> Floats:
        """The return of each trade, as a fraction of its entry's value."""
        returns: Floats = self.profit / self.trades["value"]
        return returns

    @lazy
    def turnover(self) -> float:
        """The rupees bought and sold."""
        return turnover(self.trades)

    @lazy
    def by_symbol(self) -> list[SymbolTrades]:
        """The trades with the bars of their entries and exits; empty without candles."""
        return trades_by_symbol(self.trades, self.candles) if self.candles else []

    @lazy
    def late(self) -> Mapping[int, int]:
        """See `late_square_offs`."""
        return late_square_offs(self.by_symbol, self.candles, self.flags)

    @lazy
    def exposure(self) -> float:
        """The percent of rows with a position."""
        time, late = self.curve["time"], self.late
        if len(self.by_symbol) == 1 and np.array_equal(time, self.candles[0].time):  # rows are bars
            first, end = self.by_symbol[0].entry, self.by_symbol[0].exit + 1
        else:
            first = np.searchsorted(time, self.trades["entry_time"])
            end = np.searchsorted(time, self.trades["exit_time"]) + 1
        end[list(late)] = np.searchsorted(time, list(late.values()))
        return exposed_percent(first, end, len(time))

    @lazy
    def largest_falls(self) -> tuple[float, float]:
        """The largest falls below the running peak of all rows: a fraction of it, and rupees."""
        return largest_falls(self.curve["equity"], self.capital)

    @lazy
    def ends(self) -> NDArray[np.int64]:
        """The start of the last row of each day, epoch seconds."""
        return np.asarray(self.curve["time"][self._day_ends])

    @lazy
    def closes(self) -> Floats:
        """The capital, then equity at the end of each day."""
        return np.concatenate([[self.capital], self.curve["equity"][self._day_ends]])

    @lazy
    def daily(self) -> Floats:
        """The return of each day; empty if equity was not always above 0."""
        return daily_returns(self.curve["equity"], self._day_ends, self.capital)

    @lazy
    def sharpe(self) -> float | None:
        """The ratio of daily returns, not annualised."""
        return sharpe_ratio(self.daily)

    @lazy
    def sharpe_estimate(self) -> SharpeEstimate | None:
        return sharpe_estimate(self.sharpe, self.daily)

    @lazy
    def days(self) -> int:
        """The calendar days from the first day to the last, or to the end of the last week."""
        return days_covered(ist_day(self.ends))

    @lazy
    def periods_a_year(self) -> int:
        """The number of `daily` returns in a year."""
        return periods_a_year(ist_day(self.ends))

    @lazy
    def years(self) -> float:
        """The years that the held sessions amount to."""
        return years_held(ist_day(self.ends))

    @lazy
    def dates(self) -> NDArray[np.int32]:
        """The day number of each of `closes`; the capital is dated on the first day."""
        days = ist_day(self.ends)
        return np.concatenate([days[:1], days])

    @lazy
    def under(self) -> Floats:
        """The distance of each of `closes` below their running peak, a fraction of it."""
        return drawdowns(self.closes)

    @lazy
    def drawdown_episodes(self) -> DrawdownEpisodes:
        return drawdown_episodes(self.under)

    @lazy
    def drawdown_days(self) -> NDArray[np.int32]:
        """The calendar days of each episode."""
        episodes = self.drawdown_episodes
        return self.dates[episodes.end] - self.dates[episodes.begin]

    @lazy
    def excursions(self) -> Excursions | None:
        if not self.candles:
            return None
        return excursions_of(self.trades, self.by_symbol, by_limit=self.by_limit)

    @lazy
    def benchmark(self) -> Floats | None:
        """The value of 1 after buying and holding the symbols, at the end of each day."""
        if not self.candles:
            return None
        held = buy_and_hold(self.candles, int(self.curve["time"][0]), self.ends)
        return np.concatenate([[1.0], held])

    @lazy
    def return_pairs(self) -> tuple[Floats, Floats] | None:
        """The daily returns and the benchmark's; None if either is unknown."""
        if self.benchmark is None or not len(self.daily):
            return None
        return self.daily, self.benchmark[1:] / self.benchmark[:-1] - 1

    @lazy
    def beta(self) -> float | None:
        return None if self.return_pairs is None else beta(*self.return_pairs)

    def worst_drawdowns(self, count: int) -> list[DrawdownEpisode]:
        return worst_drawdowns(self.closes, self.dates, count)

    def return_histogram(self) -> list[Bin]:
        return return_histogram(self.trades)

    def by_hour(self) -> list[BreakdownRow]:
        """Return the trades by the hour of the entry."""
        return by_hour(self.trades)

    def breakdowns(self, symbols: Sequence[str]) -> Breakdowns:
        """Return the trades by common features and periods; the symbols are in the order of the
        simulation.
        """
        return trade_breakdowns(self.trades, self.curve, symbols=symbols, capital=self.capital)

    @lazy
    def _day_ends(self) -> NDArray[np.int64]:
        return day_ends(self.curve["time"]) if self.day_ends is None else self.day_ends
