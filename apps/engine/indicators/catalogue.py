"""The catalogue of indicators: one table for the validator, the engine and its readers.

It has all functions of TA-Lib except candle patterns, which are separate conditions, and MAVP,
whose period is another series; and indicators of intraday sessions beside them.
"""

from apps.engine.indicators.indicator import Indicator
from apps.engine.indicators.motion import MOTION
from apps.engine.indicators.price_indicators import PRICE_INDICATORS

CATALOGUE: dict[str, Indicator] = {row.type: row for row in (*PRICE_INDICATORS, *MOTION)}
"""Every indicator by its type."""
