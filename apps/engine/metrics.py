"""The figures of a result, each one function with its definition, from trades and curve alone.

`trades` are TRADE records in the order of their exits; a trade's profit is net of charges. `curve`
are CURVE records: equity at the close of each row. A ratio whose denominator is empty is None,
never NaN or infinite; before the first trade every figure is 0.

Sources: the interface document's table of performance fields, rule 15 of README.md, and for the
drawdown the usual definition (empyrical, backtesting.py): from the running peak of equity at
closes, open positions marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import ist_day, ist_days
from apps.engine.records import Array

Floats = NDArray[np.float64]
Curve = Array | Mapping[str, Array]
"""CURVE records, or their columns by name."""
Figure = float | int | None
Performance = dict[str, "Figure | dict[str, int] | dict[str, float]"]

SESSIONS_A_YEAR = 252
DAYS_A_YEAR = 365.25
SAME = 1e-9
"""Returns that differ by less, as a share of the largest, are equal but for their last bits."""

DUST = 1e-12
"""What binary fractions leave of nothing, as a share of what it was taken from."""

LEAST_DAYS = 30
"""Calendar days under which nothing is annualised (rule 15)."""


@dataclass(frozen=True, eq=False)
class Facts:
    """What the figures are made of; each is worked out once, and only when it is asked for."""

    trades: Array
    curve: Curve
    capital: float

    @cached_property
    def profit(self) -> Floats:
        """Rupees of each trade."""
        return net_profits(self.trades)

    @cached_property
    def won(self) -> Floats:
        return self.profit[self.profit > 0]

    @cached_property
    def lost(self) -> Floats:
        """The losses, as amounts above 0."""
        return -self.profit[self.profit < 0]

    @cached_property
    def net(self) -> float:
        return total(self.won) - total(self.lost)

    @cached_property
    def equity(self) -> Floats:
        """The capital, then the curve."""
        return np.concatenate([[self.capital], self.curve["equity"]])


class Metric(NamedTuple):
    """One figure of a result, and whether less of it is better."""

    of: Callable[[Facts], Figure]
    falls: bool = False


METRICS: Final[Mapping[str, Metric]] = {
    "totalTrades": Metric(lambda f: len(f.won) + len(f.lost)),
    "winningTrades": Metric(lambda f: len(f.won)),
    "losingTrades": Metric(lambda f: len(f.lost), falls=True),
    "breakevenTrades": Metric(lambda f: len(f.profit) - len(f.won) - len(f.lost)),
    "totalProfit": Metric(lambda f: total(f.won)),
    "totalLoss": Metric(lambda f: total(f.lost), falls=True),
    "netProfit": Metric(lambda f: f.net),
    "grossProfit": Metric(lambda f: total(f.trades["gross"])),
    "charges": Metric(lambda f: total(f.trades["charges"]), falls=True),
    "roi": Metric(lambda f: f.net / f.capital * 100),
    "winRate": Metric(lambda f: win_rate(f.won, f.lost)),
    "profitFactor": Metric(lambda f: ratio(total(f.won), total(f.lost))),
    "averageWin": Metric(lambda f: ratio(total(f.won), len(f.won))),
    "averageLoss": Metric(lambda f: ratio(total(f.lost), len(f.lost)), falls=True),
    "riskRewardRatio": Metric(lambda f: risk_reward(f.won, f.lost)),
    "expectancy": Metric(lambda f: expectancy(f.won, f.lost)),
    "bestTrade": Metric(lambda f: float(f.profit.max()) if len(f.profit) else 0.0),
    "worstTrade": Metric(lambda f: float(f.profit.min()) if len(f.profit) else 0.0),
    "winStreak": Metric(lambda f: longest_run(f.profit > 0)),
    "lossStreak": Metric(lambda f: longest_run(f.profit < 0), falls=True),
    "averageBars": Metric(lambda f: ratio(total(f.trades["bars"]), len(f.trades))),
    "exposure": Metric(lambda f: exposure(f.trades, f.curve["time"])),
    "sharpeRatio": Metric(lambda f: sharpe_ratio(f.profit / f.trades["value"])),
    "sharpeRatioAnnualized": Metric(lambda f: annual_sharpe_ratio(f.curve, f.capital)),
    "cagr": Metric(lambda f: annual_growth(f.curve, f.capital)),
    "maxDrawdown": Metric(lambda f: max_drawdown(f.equity), falls=True),
    "maxDrawdownAmount": Metric(lambda f: max_drawdown_amount(f.equity), falls=True),
    "initialCapital": Metric(lambda f: f.capital),
    "finalEquity": Metric(lambda f: float(f.equity[-1])),
}
"""Every figure that is a number, by its name on the wire: amounts in rupees, rates in percent."""


def performance(
    trades: Array,
    curve: Array,
    *,
    capital: float,
    rejected: Mapping[str, int],
    paid: Mapping[str, float],
) -> Performance:
    """Every figure of METRICS; `rejected` counts signals by reason, `paid` are charges by kind."""
    found: Performance = {**figures(Facts(trades, curve, capital), METRICS)}
    return {**found, "chargesByKind": dict(paid), "rejectedSignals": dict(rejected)}


def figures(facts: Facts, names: Iterable[str]) -> dict[str, Figure]:
    """Some of METRICS, by name; 0 for what has no denominator before the first trade."""
    found = {name: METRICS[name].of(facts) for name in names}
    if len(facts.trades):
        return found
    return {name: 0 if value is None else value for name, value in found.items()}


def net_profits(trades: Array) -> Floats:
    """Rupees of each trade, after charges; 0 where only DUST of its value is left."""
    profits: Floats = trades["gross"] - trades["charges"]
    profits[np.abs(profits) <= DUST * trades["value"]] = 0.0
    return profits


def net_profit(trades: Array) -> float:
    """Rupees: totalProfit - totalLoss."""
    profits = net_profits(trades)
    return total(profits[profits > 0]) - total(-profits[profits < 0])


def trade_returns(trades: Array) -> Floats:
    """Profit over average entry x quantity x contract multiplier, a fraction (rule 15)."""
    returns: Floats = net_profits(trades) / trades["value"]
    return returns


def total(amounts: NDArray[np.number]) -> float:
    return float(amounts.sum())


def ratio(part: float, whole: float) -> float | None:
    """None where there is nothing to divide by."""
    return part / whole if whole else None


def win_rate(won: Floats, lost: Floats) -> float | None:
    """winningTrades / totalTrades x 100; trades without profit or loss count on neither side."""
    share = ratio(len(won), len(won) + len(lost))
    return None if share is None else share * 100


def risk_reward(won: Floats, lost: Floats) -> float | None:
    """averageWin / averageLoss; None without winners or without losers."""
    if not len(won) or not len(lost):
        return None
    return float(won.mean() / lost.mean())


def expectancy(won: Floats, lost: Floats) -> float | None:
    """winRate x averageWin - lossRate x averageLoss: rupees a trade."""
    return ratio(total(won) - total(lost), len(won) + len(lost))


def longest_run(truth: NDArray[np.bool_]) -> int:
    """The most trades in a row for which it is true."""
    ends = np.flatnonzero(~np.concatenate([[False], truth, [False]]))
    return int(np.diff(ends).max()) - 1


def exposure(trades: Array, time: NDArray[np.int64]) -> float:
    """Percent of rows in which a position was open for any part (as backtesting.py has it)."""
    edges = np.zeros(len(time) + 1, np.int64)
    np.add.at(edges, np.searchsorted(time, trades["entry_time"]), 1)
    np.add.at(edges, np.searchsorted(time, trades["exit_time"]) + 1, -1)
    return float((np.cumsum(edges[:-1]) > 0).mean() * 100)


def sharpe_ratio(returns: Floats) -> float | None:
    """Mean over sample deviation (n - 1), nothing annualised, no risk-free rate.

    None for fewer than two returns, or when all are equal, the last bits aside.
    """
    if len(returns) < 2 or np.ptp(returns) <= SAME * np.abs(returns).max():
        return None
    return float(returns.mean() / returns.std(ddof=1))


def annual_sharpe_ratio(curve: Curve, capital: float) -> float | None:
    """Of daily returns of equity, x sqrt(252); a day ends with its last row in Asia/Kolkata."""
    if days_covered(curve) < LEAST_DAYS:
        return None
    sharpe = sharpe_ratio(daily_returns(curve["equity"], day_ends(curve["time"]), capital))
    return None if sharpe is None else sharpe * SESSIONS_A_YEAR**0.5


def day_ends(time: NDArray[np.int64]) -> NDArray[np.int64]:
    """The last row of each date in Asia/Kolkata."""
    day = ist_days(time)
    return np.flatnonzero(np.diff(day, append=day[-1:] + 1))


def daily_returns(equity: Floats, ends: NDArray[np.int64], capital: float) -> Floats:
    """Fractions, from the last row of each day to the next; none where equity was not above 0.

    `ends` may be those of a longer timeline: equity that ends early, ruined, ends its last day.
    """
    last = len(equity) - 1
    held = np.concatenate([[capital], equity[ends[ends < last]], equity[last:]])
    if (held[:-1] <= 0).any():
        return np.empty(0)
    returns: Floats = held[1:] / held[:-1] - 1
    return returns


def annual_growth(curve: Curve, capital: float) -> float | None:
    """Percent a year that makes the capital the final equity; -100 when nothing is left."""
    days = days_covered(curve)
    if days < LEAST_DAYS:
        return None
    growth = max(float(curve["equity"][-1]) / capital, 0.0)
    return (float(growth ** (DAYS_A_YEAR / days)) - 1) * 100


def days_covered(curve: Curve) -> int:
    """Calendar days from the first row's date to the last row's, both counted."""
    first, last = ist_day(curve["time"][[0, -1]])
    return int(last - first) + 1


def drawdowns(equity: Floats) -> Floats:
    """How far each point lies under the running peak, as a fraction of the peak."""
    peak = np.maximum.accumulate(equity)
    under: Floats = (peak - equity) / peak
    return under


def max_drawdown(equity: Floats) -> float:
    """Percent of the running peak."""
    return float(drawdowns(equity).max() * 100)


def max_drawdown_amount(equity: Floats) -> float:
    """Rupees under the running peak."""
    return float((np.maximum.accumulate(equity) - equity).max())
