"""The catalogue of indicators: one table that the validator, the engine and its readers share.

It has every function of TA-Lib but those of candle patterns, which are conditions of their own, and
MAVP, whose period is another series; and what traders of sessions use beside them.
"""

from apps.engine.indicators.indicator import Indicator
from apps.engine.indicators.motion import MOTION
from apps.engine.indicators.price import PRICE_INDICATORS

CATALOGUE: dict[str, Indicator] = {row.type: row for row in (*PRICE_INDICATORS, *MOTION)}
"""Every indicator by its type."""
