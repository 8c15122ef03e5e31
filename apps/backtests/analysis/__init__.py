"""Charts, comparisons, evidence, explanations, reports, reproductions, what-if variants: questions
about stored results. Other apps import only these names.
"""

from apps.backtests.analysis.comparison.serializers import BacktestComparisonSerializer
from apps.backtests.analysis.comparison.services import compare_backtests
from apps.backtests.analysis.evidence.services import dated_evidence, fetch_evidence
from apps.backtests.analysis.explanation.serializers import ExplanationSerializer
from apps.backtests.analysis.explanation.services import EXPLAINABLE_KINDS, explain_backtest
from apps.backtests.analysis.report.charts import account_drawing, curves_drawing
from apps.backtests.analysis.report.formats import (
    NO_VALUE,
    format_duration,
    format_metric,
    format_number,
    format_rupees,
    humanize,
)
from apps.backtests.analysis.report.services import (
    links_of,
    read_result_page,
    recall_link,
    share_report,
    sign_link,
)
from apps.backtests.analysis.reproduction.services import read_reproduction, reproduce
from apps.backtests.analysis.what_if.serializers import WhatIfSerializer
from apps.backtests.analysis.what_if.services import simulate_changes

__all__ = [
    "EXPLAINABLE_KINDS",
    "NO_VALUE",
    "BacktestComparisonSerializer",
    "ExplanationSerializer",
    "WhatIfSerializer",
    "account_drawing",
    "compare_backtests",
    "curves_drawing",
    "dated_evidence",
    "explain_backtest",
    "fetch_evidence",
    "format_duration",
    "format_metric",
    "format_number",
    "format_rupees",
    "humanize",
    "links_of",
    "read_reproduction",
    "read_result_page",
    "recall_link",
    "reproduce",
    "share_report",
    "sign_link",
    "simulate_changes",
]
