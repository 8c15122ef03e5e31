"""The catalogue of indicators: one table that the validator, the engine and its readers share.

It has every function of TA-Lib but those of candle patterns, which are conditions of their own, and
MAVP, whose period is another series; and what traders of sessions use beside them.
"""

from apps.engine.indicators import Indicator
from apps.engine.motion_indicators import MOTION
from apps.engine.price_indicators import PRICES

CATALOGUE: dict[str, Indicator] = {row.type: row for row in (*PRICES, *MOTION)}
"""Every indicator by its type."""
