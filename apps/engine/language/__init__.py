"""The language of strategies: its steps, operands and indicators, their errors and their words.

Other apps import only these names.
"""

from apps.engine.errors import FieldError, InvalidStrategy
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import CatalogueIndicator
from apps.engine.indicators.patterns import PATTERNS, CataloguePattern
from apps.engine.indicators.series import CandleSource
from apps.engine.language.strategy import (
    Reading,
    Strategy,
    parse,
    read_strategy,
)
from apps.engine.language.summary import Change, StepSummary, describe, summarize

__all__ = [
    "CATALOGUE",
    "PATTERNS",
    "AlignedCandles",
    "CandleSource",
    "CatalogueIndicator",
    "CataloguePattern",
    "Change",
    "FieldError",
    "InvalidStrategy",
    "Reading",
    "StepSummary",
    "Strategy",
    "describe",
    "parse",
    "read_strategy",
    "summarize",
]
