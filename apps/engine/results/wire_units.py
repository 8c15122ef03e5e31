"""The units of numeric fields, by their names on the wire; and their rounding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.engine.results.table import METRICS
from apps.engine.units import Unit, rounded

_PRICES: Final = (
    "price",
    "entryPrice",
    "exitPrice",
    "fillPrice",
    "lastPrice",
    "open",
    "high",
    "low",
    "close",
    "candles",
    "stopLoss",
    "trailingStop",
    "takeProfit",
    "strike",
    "tickSize",
)
_RUPEES: Final = (
    "grossProfit",
    "profit",
    "charges",
    "chargesByKind",
    "averageProfit",
    "unrealisedProfit",
    "balance",
    "reserved",
    "available",
    "equity",
    "capital",
    "loss",
    "dailyLoss",
    "limit",
    "realisedProfit",
    "tradeProfit",
    "profitToday",
)
_PERCENT: Final = (
    "returnPercentage",
    "drawdown",
    "maxAdverseExcursion",
    "maxFavorableExcursion",
    "riskOfRuin",
    "ruinThreshold",
    "percentOfBar",
)

FIELD_UNITS: Final[Mapping[str, Unit]] = {
    **{name: metric.unit for name, metric in METRICS.items()},
    **dict.fromkeys(_PRICES, Unit.PRICE),
    **dict.fromkeys(_RUPEES, Unit.RUPEES),
    **dict.fromkeys(_PERCENT, Unit.PERCENT),
    "quantity": Unit.QUANTITY,
    "volume": Unit.QUANTITY,
    "amount": Unit.CHARGE,
    "parameters": Unit.SETTING,
    "percent": Unit.SETTING,
    "threshold": Unit.SETTING,
}
"""Any other number is a ratio, or of the unit of the field that it stands in."""


def round_for_wire(value: Any, unit: Unit = Unit.RATIO) -> Any:
    """Return a copy of JSON with numbers rounded to the decimals of their fields' units.

    Any: JSON.
    """
    if isinstance(value, float):
        return rounded(value, unit)
    if isinstance(value, dict):
        return {
            name: round_for_wire(inner, FIELD_UNITS.get(name, unit))
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [round_for_wire(item, unit) for item in value]
    return value
