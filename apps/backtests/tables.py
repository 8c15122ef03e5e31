"""The columns of the trades and of the curve as CSV."""

from typing import Final

from apps.core.api.renderers import TableRenderer

TRADE_COLUMNS: Final = (
    "symbol", "side", "quantity", "entryTime", "entryDate", "entryPrice", "exitTime", "exitDate",
    "exitPrice", "exitReason", "grossProfit", "charges", "profit", "returnPercentage", "bars",
    "maxAdverseExcursion", "maxFavorableExcursion", "entryDelayBars", "entryDelayMinutes",
    "entryBarVolume", "entryVolumeShare", "exitDelayBars", "exitDelayMinutes", "exitBarVolume",
    "exitVolumeShare",
)  # fmt: skip
POINT_COLUMNS: Final = ("time", "equity", "low", "high", "drawdown")


class ResultTable(TableRenderer):
    columns = {"data": TRADE_COLUMNS, "points": POINT_COLUMNS}
