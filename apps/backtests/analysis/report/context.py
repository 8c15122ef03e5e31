"""The template context of a result."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from apps.backtests.analysis.evidence import services as evidence
from apps.backtests.analysis.report import charts, tables
from apps.backtests.analysis.report.charts import DrawnSymbol
from apps.backtests.analysis.report.evidence_tables import shown_evidence
from apps.backtests.analysis.report.study_drawings import study_drawing
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.running import results
from apps.backtests.running.results import noted_receipt
from apps.backtests.running.sample_notices import notice_on_result
from apps.core.times import INDIA
from apps.engine.candles import TIMEFRAMES
from apps.engine.results import Array, ResultData

# Rows of the table of drawdowns.
MAX_DRAWDOWNS: Final = 10
# Trades that the page lists by itself; its script lists all of them.
_FIRST_TRADES: Final = 25
_STEPS: Final = (
    "basicInfo",
    "positionSizing",
    "entryConditions",
    "exitConditions",
    "riskParameters",
    "executionSettings",
)


def report_context(backtest: Backtest, *, now: datetime) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the context of the template, and the trades and candles for its script."""
    trades, curve = results.load_result(backtest)
    records, capital = trades.records, float(backtest.initial_capital)
    result = ResultData(records, curve, capital)
    drawn, benchmark = charts.load_prices(
        backtest.symbols,
        backtest.timeframe,
        trades=records,
        curve=curve,
        start=backtest.start,
        end=backtest.end,
    )
    script_data = {
        "trades": charts.trade_columns(trades) | {"symbols": backtest.symbols},
        "candles": [charts.candle_columns(symbol) for symbol in drawn],
    }
    coverage = (backtest.receipt or {}).get("coverage", [])
    groups = result.breakdowns(backtest.symbols)
    context = {
        "backtest": backtest,
        "title": backtest.name or backtest.algorithm.name,
        "performance": backtest.performance or {},
        "receipt": noted_receipt(backtest) or {},
        "sample_notice": notice_on_result(backtest),
        "coverage": [_with_dates(row) for row in coverage],
        "coverage_summary": _coverage_summary(coverage),
        "study": backtest.study_results or {},
        "study_drawing": study_drawing(backtest),
        "evidence": _evidence(backtest, now),
        "badge": _badge(backtest),
        "equity": charts.equity_drawing(curve, benchmark, capital=capital),
        "drawn": drawn,
        "seconds": TIMEFRAMES[backtest.timeframe],
        "trades": trades.select(slice(_FIRST_TRADES)).to_wire(backtest.symbols),
        "omissions": _omissions(backtest.symbols, drawn, records),
        "years": tables.monthly_returns(groups["byMonth"], groups["byYear"]),
        "drawdowns": (result.worst_drawdowns(MAX_DRAWDOWNS) if len(curve) else []),
        "returns": charts.returns_drawing(result.return_histogram()),
        "groups": {
            "By symbol": groups["bySymbol"],
            "By side": groups["bySide"],
            "By exit reason": groups["byExitReason"],
            "By hour of the entry": result.by_hour(),
            "By weekday of the entry": groups["byWeekday"],
        },
        "all_metrics": tables.all_metrics(backtest.performance or {}),
        "steps": _steps(backtest),
    }
    return context, script_data


def _evidence(backtest: Backtest, now: datetime) -> dict[str, Any]:
    """Return the evidence in its present state.

    None is requested: a page opened by a link must not change for later readers.
    """
    row = evidence.stored(backtest)
    if row is None:
        return {}
    document = evidence.dated_evidence(row, as_of=None, now=now).document
    return {
        "is_asked_for": True,
        "error": row.error,
        "shown": None if document is None else shown_evidence(document),
    }


def _badge(backtest: Backtest) -> str:
    """Return the badge beside every figure of a study: the days it was measured on."""
    match BacktestKind(backtest.kind):
        case BacktestKind.OPTIMIZATION:
            tried = (backtest.study_results or {}).get("tried", 0)
            return f"In-sample: the best of {tried:,} parameter sets"
        case BacktestKind.WALK_FORWARD:
            return "Out-of-sample: test days only"
    return ""


def _with_dates(row: dict[str, Any]) -> dict[str, Any]:
    """Add the dates in India of the first, last and last generated bar to a coverage."""
    times = {
        "first": row["firstBar"],
        "last": row["lastBar"],
        "generated": row.get("generatedUntil"),
    }
    dates = {
        name: time and datetime.fromisoformat(time).astimezone(INDIA).date()
        for name, time in times.items()
    }
    return {**row, **dates}


def _coverage_summary(coverages: Sequence[dict[str, Any]]) -> str:
    """Describe the lowest coverage of all symbols."""
    with_sessions = [row for row in coverages if row["percentage"] is not None]
    if not with_sessions:
        return "the calendar has no trading day of the range"
    least = min(with_sessions, key=lambda row: float(row["percentage"]))
    of_symbol = "" if len(coverages) == 1 else f" of {least['symbol']}, the least of all symbols"
    days = f"{least['heldSessions']:,} of {least['sessions']:,} trading days"
    return f"{days} ({least['percentage']:g}%){of_symbol}"


def _omissions(symbols: Sequence[str], drawn: Sequence[DrawnSymbol], trades: Array) -> list[str]:
    """Return sentences about data that the page leaves out."""
    sentences = []
    if len(symbols) > len(drawn):
        sentences.append(
            f"Candles of the {len(drawn)} symbols with the most trades, of {len(symbols)}."
        )
    if len(trades) > charts.MAX_TRADES:
        sentences.append(
            f"The {charts.MAX_TRADES:,} trades with the largest results, of {len(trades):,}."
        )
    return sentences


def _steps(backtest: Backtest) -> list[tuple[str, str]]:
    """Return the steps of the backtest, each as indented JSON."""
    return [
        (name, _indented_json(backtest.configuration[name]))
        for name in _STEPS
        if name in backtest.configuration
    ]


def _indented_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
