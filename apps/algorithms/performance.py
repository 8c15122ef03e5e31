"""What an algorithm has achieved: the shape of the record, said once, under its wire names.

`maxDrawdown` is a percentage, `maxDrawdownAmount` rupees. A ratio whose denominator is empty is
None; before the first trade all are 0.
"""

from collections.abc import Mapping
from typing import Final

Record = dict[str, float | None]

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


def new() -> Record:
    return dict(BEFORE_THE_FIRST_TRADE)


def in_order(record: Mapping[str, float | None]) -> Record:
    """As said above, whatever order the database keeps it in."""
    return {name: record[name] for name in BEFORE_THE_FIRST_TRADE}
