"""The language of strategies: its steps, operands and indicators, their errors and their words.

Other apps import only these names.
"""

from apps.engine.errors import ABSENT, FieldError, IncompleteStrategy, InvalidStrategy
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.higher_timeframe import HigherTimeframe, higher_timeframe_of
from apps.engine.indicators.indicator import (
    HIGHER_TIMEFRAMES,
    LARGEST_OFFSET,
    SOURCES,
    Indicator,
    IndicatorOutput,
    IndicatorParameter,
    Inversion,
)
from apps.engine.indicators.patterns import BOTH, PATTERNS
from apps.engine.language.conditions import Side, TimeWindow, singles_by_path
from apps.engine.language.exits import PercentageStop
from apps.engine.language.fields import LARGEST, seconds_of_day
from apps.engine.language.steps import (
    BasicInfo,
    FixedAmount,
    FixedQuantity,
    PercentageOfEquity,
    RiskBased,
)
from apps.engine.language.strategy import (
    STAND_INS,
    STEP_NAMES,
    Reading,
    Strategy,
    higher_timeframe_warmups,
    parse,
    read_strategy,
    strategy_warnings,
    volume_operands,
    warmup_bars,
    with_stand_ins,
)
from apps.engine.language.summary import Change, StepSummary, step_changes, summarize

__all__ = [
    "ABSENT",
    "BOTH",
    "CATALOGUE",
    "HIGHER_TIMEFRAMES",
    "LARGEST",
    "LARGEST_OFFSET",
    "PATTERNS",
    "SOURCES",
    "STAND_INS",
    "STEP_NAMES",
    "BasicInfo",
    "Change",
    "FieldError",
    "FixedAmount",
    "FixedQuantity",
    "HigherTimeframe",
    "IncompleteStrategy",
    "Indicator",
    "IndicatorOutput",
    "IndicatorParameter",
    "InvalidStrategy",
    "Inversion",
    "PercentageOfEquity",
    "PercentageStop",
    "Reading",
    "RiskBased",
    "Side",
    "StepSummary",
    "Strategy",
    "TimeWindow",
    "higher_timeframe_of",
    "higher_timeframe_warmups",
    "parse",
    "read_strategy",
    "seconds_of_day",
    "singles_by_path",
    "step_changes",
    "strategy_warnings",
    "summarize",
    "volume_operands",
    "warmup_bars",
    "with_stand_ins",
]
