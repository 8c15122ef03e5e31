"""The performance of an algorithm: its metrics, under their wire names, and their formulas.

`maxDrawdown` is a percentage, `maxDrawdownAmount` is in rupees. A ratio with an empty denominator
is None; before the first trade all are 0.
"""

from collections.abc import Mapping
from typing import Final

PerformanceValues = dict[str, float | None]

BEFORE_THE_FIRST_TRADE: Final[Mapping[str, float]] = {
    "totalTrades": 0,
    "winningTrades": 0,
    "losingTrades": 0,
    "totalProfit": 0,
    "totalLoss": 0,
    "winRate": 0,
    "profitFactor": 0,
    "sharpeRatio": 0,
    "maxDrawdown": 0,
    "averageWin": 0,
    "averageLoss": 0,
    "netProfit": 0,
    "roi": 0,
    "maxDrawdownAmount": 0,
    "expectancy": 0,
    "riskRewardRatio": 0,
}


def new() -> PerformanceValues:
    return dict(BEFORE_THE_FIRST_TRADE)


def in_order(record: Mapping[str, float | None]) -> PerformanceValues:
    """Return the metrics in the order above; the database keeps them in another order."""
    return {name: record[name] for name in BEFORE_THE_FIRST_TRADE}


def compute_performance(
    *,
    trades: int,
    won: int,
    lost: int,
    profit: float,
    loss: float,
    capital: float,
    mean: float,
    deviation: float | None,
    drawdown: float,
    drawdown_amount: float,
) -> PerformanceValues:
    """Return the metrics by the formulas of the interface.

    `mean` and `deviation` (None below two trades) are of the trades' returns; `drawdown` is in
    percent of the peak, amounts are in rupees.
    """
    drawdowns: PerformanceValues = {
        "maxDrawdown": drawdown,
        "maxDrawdownAmount": drawdown_amount,
    }
    if not trades:
        return in_order(new() | drawdowns)
    net, win, average_loss = profit - loss, _ratio(profit, won), _ratio(loss, lost)
    rate = _ratio(won, won + lost)
    return in_order(
        drawdowns
        | {
            "totalTrades": won + lost,
            "winningTrades": won,
            "losingTrades": lost,
            "totalProfit": profit,
            "totalLoss": loss,
            "winRate": None if rate is None else rate * 100,
            "profitFactor": _ratio(profit, loss),
            "sharpeRatio": _ratio(mean, deviation),
            "averageWin": win,
            "averageLoss": average_loss,
            "netProfit": net,
            "roi": net / capital * 100,
            "expectancy": _ratio(net, won + lost),
            "riskRewardRatio": _ratio(win, average_loss) if win is not None else None,
        }
    )


def _ratio(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None
