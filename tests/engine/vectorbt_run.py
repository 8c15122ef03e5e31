"""Simulations and figures of vectorbt, as JSON.

The Python of the peers' environment runs it on a file of daily bars: f8[5, bars], which are time,
open, high, low and close.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pandas as pd
import vectorbt as vbt

warnings.simplefilter("ignore")


def main(path: str) -> None:
    """Run crosses of SMA 5 and 20, filled at the next open: reversing, and long alone with
    stops.
    """
    time, *columns = np.load(path)
    index = pd.to_datetime(time, unit="s")
    opened, high, low, close = (pd.Series(column, index=index) for column in columns)
    fast, slow = vbt.MA.run(close, 5), vbt.MA.run(close, 20)
    entries = fast.ma_crossed_above(slow).shift(1, fill_value=False)
    exits = fast.ma_crossed_below(slow).shift(1, fill_value=False)
    common = {"close": close, "price": opened, "size": 10, "init_cash": 1e6, "freq": "1D"}
    reversing = vbt.Portfolio.from_signals(
        entries=entries, short_entries=exits, upon_opposite_entry="Reverse", **common
    )
    stopped = vbt.Portfolio.from_signals(
        entries=entries,
        exits=False,
        open=opened,
        high=high,
        low=low,
        sl_stop=0.01,
        tp_stop=0.02,
        stop_entry_price="FillPrice",
        stop_exit_price="StopLimit",
        **common,
    )
    market = (close / close.shift(1).fillna(opened.iloc[0])) - 1
    report: dict[str, object] = {"reversing": trades_of(reversing), "stopped": trades_of(stopped)}
    report["figures"] = figures_of(reversing, market)
    json.dump(report, sys.stdout)


def trades_of(portfolio: vbt.Portfolio) -> dict[str, object]:
    trades = portfolio.trades.records
    names = ("entry_idx", "exit_idx", "entry_price", "exit_price", "pnl", "direction")
    columns = {name: trades[name].tolist() for name in names}
    return {**columns, "equity": portfolio.value().tolist()}


def hours(trades: vbt.Trades) -> float:
    """Return the average holding in hours; an open trade's `duration` counts a bar more."""
    return 24.0 * float((trades.exit_idx.values - trades.entry_idx.values).mean())


def figures_of(portfolio: vbt.Portfolio, market: pd.Series) -> dict[str, float]:
    """Return the figures under our names, in its units: fractions, losses below 0, years of 252
    days.
    """
    trades, returns = portfolio.trades, portfolio.returns()
    won, lost, falls = trades.winning, trades.losing, portfolio.drawdowns
    daily = returns.vbt.returns(freq="1D", year_freq="252D")
    return {
        "maxDrawdown": portfolio.max_drawdown(),
        "winRate": trades.win_rate(),
        "profitFactor": trades.profit_factor(),
        "expectancy": trades.expectancy(),
        "systemQuality": trades.sqn(),
        "bestTrade": float(trades.pnl.max()),
        "worstTrade": float(trades.pnl.min()),
        "averageWin": float(won.pnl.mean()),
        "averageLoss": -float(lost.pnl.mean()),
        "longTrades": float(trades.long.count()),
        "shortTrades": float(trades.short.count()),
        "longProfit": float(trades.long.pnl.sum()),
        "shortProfit": float(trades.short.pnl.sum()),
        "averageHoldingHours": hours(trades),
        "averageHoldingHoursWon": hours(won),
        "averageHoldingHoursLost": hours(lost),
        "cagr": daily.annualized(),
        "calmarRatio": daily.calmar_ratio(),
        "averageDrawdown": falls.avg_drawdown(),
        "maxDrawdownDays": float(falls.duration.max()),
        "winStreak": float(trades.winning_streak.max()),
        "lossStreak": float(trades.losing_streak.max()),
        "annualVolatility": daily.annualized_volatility(levy_alpha=2.0),
        "sharpeRatioAnnualized": daily.sharpe_ratio(),
        "sortinoRatio": daily.sortino_ratio(),
        "omegaRatio": daily.omega_ratio(),
        "valueAtRisk95": daily.value_at_risk(cutoff=0.05),
        "valueAtRisk99": daily.value_at_risk(cutoff=0.01),
        "expectedShortfall95": daily.cond_value_at_risk(cutoff=0.05),
        "beta": daily.beta(market),
        "alpha": daily.alpha(market),
        "informationRatio": daily.information_ratio(market),
        "bestDay": float(returns.max()),
        "worstDay": float(returns.min()),
        "skewness": float(returns.skew()),
        "kurtosis": float(returns.kurt()),
        "benchmarkReturn": float((1 + market).prod() - 1),
    }


if __name__ == "__main__":
    main(sys.argv[1])
