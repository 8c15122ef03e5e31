"""Results: the table of metrics, their formulas, breakdowns and units, and results on the wire.

Other apps import only these names.
"""

from apps.engine.kernel.reasons import (
    CHARGE_KINDS,
    EXIT_REASON_HELP,
    EXIT_REASONS,
    OPTIONAL_REJECTIONS,
    REDUCTIONS,
    REJECTIONS,
    WAITS,
)
from apps.engine.kernel.records import CURVE, TRADE, Array
from apps.engine.results.benchmark import buy_and_hold
from apps.engine.results.breakdowns import (
    Bin,
    BreakdownRow,
    Breakdowns,
    PeriodRow,
)
from apps.engine.results.comparison import LEAST_COMMON_DAYS, PairedReturns
from apps.engine.results.excursions import Excursions
from apps.engine.results.fill_quality import FillQuality
from apps.engine.results.result_data import ResultData
from apps.engine.results.table import LEAST_DAYS, METRIC_GROUPS, METRICS, least_dates
from apps.engine.results.trade_figures import net_profits, trade_returns
from apps.engine.results.wire_performance import BacktestPerformance, ChargesByKind
from apps.engine.results.wire_receipt import Digest, ReceiptNote, SimulationReceipt
from apps.engine.results.wire_records import (
    ClosedTrade,
    EquityPoint,
    curve_blocks,
    curve_points,
    trade_dicts,
    wire_dates,
)
from apps.engine.results.wire_units import FIELD_UNITS, round_for_wire
from apps.engine.units import Unit, all_rounded, group_digits

__all__ = [
    "CHARGE_KINDS",
    "CURVE",
    "EXIT_REASONS",
    "EXIT_REASON_HELP",
    "FIELD_UNITS",
    "LEAST_COMMON_DAYS",
    "LEAST_DAYS",
    "METRICS",
    "METRIC_GROUPS",
    "OPTIONAL_REJECTIONS",
    "REDUCTIONS",
    "REJECTIONS",
    "TRADE",
    "WAITS",
    "Array",
    "BacktestPerformance",
    "Bin",
    "BreakdownRow",
    "Breakdowns",
    "ChargesByKind",
    "ClosedTrade",
    "Digest",
    "EquityPoint",
    "Excursions",
    "FillQuality",
    "PairedReturns",
    "PeriodRow",
    "ReceiptNote",
    "ResultData",
    "SimulationReceipt",
    "Unit",
    "all_rounded",
    "buy_and_hold",
    "curve_blocks",
    "curve_points",
    "group_digits",
    "least_dates",
    "net_profits",
    "round_for_wire",
    "trade_dicts",
    "trade_returns",
    "wire_dates",
]
