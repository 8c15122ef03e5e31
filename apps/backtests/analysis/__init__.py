"""Charts, comparisons, evidence, explanations, reports, reproductions, what-if variants: questions
about stored results. Other apps import only these names.
"""

from apps.backtests.analysis.comparison.serializers import BacktestComparisonSerializer
from apps.backtests.analysis.comparison.services import compare_backtests
from apps.backtests.analysis.evidence.services import dated_evidence, fetch_evidence
from apps.backtests.analysis.explanation.serializers import ExplanationSerializer
from apps.backtests.analysis.explanation.services import EXPLAINABLE_KINDS, explain_backtest
from apps.backtests.analysis.report.formats import (
    NO_VALUE,
    format_duration,
    format_metric,
    format_number,
    format_rupees,
    humanize,
)
from apps.backtests.analysis.report.services import read_result_page

__all__ = [
    "EXPLAINABLE_KINDS",
    "NO_VALUE",
    "BacktestComparisonSerializer",
    "ExplanationSerializer",
    "compare_backtests",
    "dated_evidence",
    "explain_backtest",
    "fetch_evidence",
    "format_duration",
    "format_metric",
    "format_number",
    "format_rupees",
    "humanize",
    "read_result_page",
]
