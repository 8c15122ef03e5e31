"""Backtests on the wire, with their examples and the schemas of stored results."""

from apps.backtests.serializers.backtests import (
    BACKTEST_SORTS,
    BacktestChangeSerializer,
    BacktestQuery,
    BacktestRequestSerializer,
    BacktestSerializer,
    BacktestSymbolField,
    EngineNotesField,
    EquityQuery,
    EquitySerializer,
    RangeEndField,
    ReceiptField,
    ResultArrow,
    ResultTable,
    StudyConfigField,
    TradeSerializer,
    TradesQuery,
    WholeBacktestSerializer,
)
from apps.backtests.serializers.result_schemas import study_schemas

__all__ = [
    "BACKTEST_SORTS",
    "BacktestChangeSerializer",
    "BacktestQuery",
    "BacktestRequestSerializer",
    "BacktestSerializer",
    "BacktestSymbolField",
    "EngineNotesField",
    "EquityQuery",
    "EquitySerializer",
    "RangeEndField",
    "ReceiptField",
    "ResultArrow",
    "ResultTable",
    "StudyConfigField",
    "TradeSerializer",
    "TradesQuery",
    "WholeBacktestSerializer",
    "study_schemas",
]
