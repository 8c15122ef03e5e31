"""Results: the table of metrics, their formulas, breakdowns and units, and results on the wire.

Other apps import only these names.
"""

from apps.engine.kernel.reasons import (
    CHARGE_KINDS,
    EXIT_REASON_HELP,
    EXIT_REASONS,
    REJECTIONS,
)
from apps.engine.kernel.records import Array
from apps.engine.results.benchmark import buy_and_hold
from apps.engine.results.breakdowns import (
    Bin,
    Breakdowns,
    PeriodRow,
)
from apps.engine.results.comparison import PairedReturns
from apps.engine.results.equity_curve import EquityCurve
from apps.engine.results.result_data import ResultData
from apps.engine.results.table import METRICS
from apps.engine.results.trades import Trades
from apps.engine.results.wire_performance import BacktestPerformance, complete_performance
from apps.engine.results.wire_receipt import Digest, ReceiptNote, SimulationReceipt
from apps.engine.results.wire_records import (
    ClosedTrade,
    EquityPoint,
    wire_dates,
)
from apps.engine.results.wire_units import FIELD_UNITS, round_for_wire
from apps.engine.units import Unit, format_number, format_rupees

__all__ = [
    "CHARGE_KINDS",
    "EXIT_REASONS",
    "EXIT_REASON_HELP",
    "FIELD_UNITS",
    "METRICS",
    "REJECTIONS",
    "Array",
    "BacktestPerformance",
    "Bin",
    "Breakdowns",
    "ClosedTrade",
    "Digest",
    "EquityCurve",
    "EquityPoint",
    "PairedReturns",
    "PeriodRow",
    "ReceiptNote",
    "ResultData",
    "SimulationReceipt",
    "Trades",
    "Unit",
    "buy_and_hold",
    "complete_performance",
    "format_number",
    "format_rupees",
    "round_for_wire",
    "wire_dates",
]
