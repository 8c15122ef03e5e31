"""The figures of a result, each one function with its definition, from trades and curve alone.

`trades` are TRADE records in the order of their exits; a trade's profit is net of charges. `curve`
are CURVE records: equity at the close of each row. A ratio whose denominator is empty is None,
never NaN or infinite; before the first trade every figure is 0.

Sources: the interface document's table of performance fields, rule 15 of README.md, and for the
drawdown the usual definition (empyrical, backtesting.py): from the running peak of equity at
closes, open positions marked.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import ist_day
from apps.engine.records import Array

Floats = NDArray[np.float64]
Performance = dict[str, "float | int | dict[str, int] | dict[str, float] | None"]

SESSIONS_A_YEAR = 252
DAYS_A_YEAR = 365.25
SAME = 1e-9
"""Returns that differ by less, as a share of the largest, are equal but for their last bits."""

DUST = 1e-12
"""What binary fractions leave of nothing, as a share of what it was taken from."""

LEAST_DAYS = 30
"""Calendar days under which nothing is annualised (rule 15)."""


def performance(
    trades: Array,
    curve: Array,
    *,
    capital: float,
    rejected: Mapping[str, int],
    paid: Mapping[str, float],
) -> Performance:
    """Every figure under its name on the wire; amounts in rupees, rates in percent. `rejected`
    counts by reason, `paid` are charges by kind.
    """
    profit = net_profits(trades)
    won, lost, net = profit[profit > 0], -profit[profit < 0], net_profit(trades)
    equity = np.concatenate([[capital], curve["equity"]])
    figures: Performance = {
        "totalTrades": len(won) + len(lost),
        "winningTrades": len(won),
        "losingTrades": len(lost),
        "breakevenTrades": len(profit) - len(won) - len(lost),
        "totalProfit": total(won),
        "totalLoss": total(lost),
        "netProfit": net,
        "grossProfit": total(trades["gross"]),
        "charges": total(trades["charges"]),
        "roi": net / capital * 100,
        "winRate": win_rate(won, lost),
        "profitFactor": ratio(total(won), total(lost)),
        "averageWin": ratio(total(won), len(won)),
        "averageLoss": ratio(total(lost), len(lost)),
        "riskRewardRatio": risk_reward(won, lost),
        "expectancy": expectancy(won, lost),
        "bestTrade": float(profit.max(initial=-np.inf)) if len(profit) else 0.0,
        "worstTrade": float(profit.min(initial=np.inf)) if len(profit) else 0.0,
        "winStreak": longest_run(profit > 0),
        "lossStreak": longest_run(profit < 0),
        "averageBars": ratio(total(trades["bars"]), len(trades)),
        "exposure": exposure(trades, curve["time"]),
        "sharpeRatio": sharpe_ratio(trade_returns(trades)),
        "sharpeRatioAnnualized": annual_sharpe_ratio(curve, capital),
        "cagr": annual_growth(curve, capital),
        "maxDrawdown": max_drawdown(equity),
        "maxDrawdownAmount": max_drawdown_amount(equity),
        "initialCapital": capital,
        "finalEquity": float(equity[-1]),
    }
    if not len(trades):
        figures = {name: 0 if value is None else value for name, value in figures.items()}
    return {**figures, "chargesByKind": dict(paid), "rejectedSignals": dict(rejected)}


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


def annual_sharpe_ratio(curve: Array, capital: float) -> float | None:
    """Of daily returns of equity, x sqrt(252); a day ends with its last row in Asia/Kolkata."""
    if days_covered(curve) < LEAST_DAYS:
        return None
    day = ist_day(curve["time"])
    last = np.flatnonzero(np.diff(day, append=day[-1] + 1))
    closes = np.concatenate([[capital], curve["equity"][last]])
    if (closes[:-1] <= 0).any():
        return None
    sharpe = sharpe_ratio(closes[1:] / closes[:-1] - 1)
    return None if sharpe is None else sharpe * SESSIONS_A_YEAR**0.5


def annual_growth(curve: Array, capital: float) -> float | None:
    """Percent a year that makes the capital the final equity; -100 when nothing is left."""
    days = days_covered(curve)
    if days < LEAST_DAYS:
        return None
    growth = max(float(curve["equity"][-1]) / capital, 0.0)
    return (float(growth ** (DAYS_A_YEAR / days)) - 1) * 100


def days_covered(curve: Array) -> int:
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
