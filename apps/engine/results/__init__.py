"""Results: the table of metrics, their formulas, breakdowns and units, and results on the wire.

Other apps import only these names.
"""

from apps.engine.kernel.reasons import (
    CHARGE_KINDS,
    EXIT_REASONS,
    OPTIONAL_REJECTIONS,
    REDUCTIONS,
    REJECTIONS,
    WAITS,
)
from apps.engine.kernel.records import CURVE, TRADE, Array
from apps.engine.results.benchmark import buy_and_hold
from apps.engine.results.breakdowns import (
    DAYS,
    MONTHS,
    MOST_PERIODS,
    WEEKS,
    YEARS,
    Bin,
    BreakdownRow,
    Breakdowns,
    PeriodRow,
    by_hour,
    return_histogram,
    trade_breakdowns,
)
from apps.engine.results.comparison import LEAST_COMMON_DAYS, PATHS, PairedReturns, compare_returns
from apps.engine.results.drawdowns import worst_drawdowns
from apps.engine.results.equity import SESSIONS_A_YEAR, WEEKS_A_YEAR, daily_returns, day_ends
from apps.engine.results.excursions import Excursions
from apps.engine.results.fill_quality import FillQuality, unknown_fill_quality, volume_shares
from apps.engine.results.result_data import ResultData
from apps.engine.results.sharpe import rolling_sharpe_ratio
from apps.engine.results.table import BENCHMARK, EQUITY, LEAST_DAYS, METRICS, TRADES, least_dates
from apps.engine.results.trade_figures import net_profits, trade_returns
from apps.engine.results.wire_performance import BacktestPerformance, ChargesByKind
from apps.engine.results.wire_receipt import Digest, ReceiptNote, SimulationReceipt
from apps.engine.results.wire_records import (
    EquityPoint,
    curve_blocks,
    curve_points,
    trade_dicts,
    wire_dates,
    wire_times,
)
from apps.engine.results.wire_units import FIELD_UNITS, round_for_wire
from apps.engine.units import Unit, all_rounded, group_digits, rounded

__all__ = [
    "BENCHMARK",
    "CHARGE_KINDS",
    "CURVE",
    "DAYS",
    "EQUITY",
    "EXIT_REASONS",
    "FIELD_UNITS",
    "LEAST_COMMON_DAYS",
    "LEAST_DAYS",
    "METRICS",
    "MONTHS",
    "MOST_PERIODS",
    "OPTIONAL_REJECTIONS",
    "PATHS",
    "REDUCTIONS",
    "REJECTIONS",
    "SESSIONS_A_YEAR",
    "TRADE",
    "TRADES",
    "WAITS",
    "WEEKS",
    "WEEKS_A_YEAR",
    "YEARS",
    "Array",
    "BacktestPerformance",
    "Bin",
    "BreakdownRow",
    "Breakdowns",
    "ChargesByKind",
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
    "by_hour",
    "compare_returns",
    "curve_blocks",
    "curve_points",
    "daily_returns",
    "day_ends",
    "group_digits",
    "least_dates",
    "net_profits",
    "return_histogram",
    "rolling_sharpe_ratio",
    "round_for_wire",
    "rounded",
    "trade_breakdowns",
    "trade_dicts",
    "trade_returns",
    "unknown_fill_quality",
    "volume_shares",
    "wire_dates",
    "wire_times",
    "worst_drawdowns",
]
