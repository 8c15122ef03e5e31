"""The template context of a report."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from apps.backtests import results
from apps.backtests.models import Backtest
from apps.backtests.report import charts, tables
from apps.backtests.report.charts import DrawnSymbol
from apps.engine.kernel.records import Array
from apps.engine.metrics import breakdowns
from apps.market.dates import INDIA

_STEPS: Final = (
    "basicInfo", "positionSizing", "entryConditions", "exitConditions", "riskParameters",
    "executionSettings",
)  # fmt: skip


def report_context(backtest: Backtest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the context of the template, and the charts by name."""
    result_trades, curve = results.load_result(backtest)
    trades = result_trades.records
    capital = float(backtest.initial_capital)
    drawn = charts.load_drawn_symbols(
        backtest.symbols,
        backtest.timeframe,
        trades=trades,
        curve=curve,
        start=backtest.start,
        end=backtest.end,
    )
    charts_by_name = {
        "equity": charts.equity_chart(curve, capital),
        "price": charts.price_charts(drawn, trades),
    }
    context = {
        "backtest": backtest,
        "title": backtest.name or backtest.algorithm.name,
        "performance": backtest.performance or {},
        "receipt": backtest.receipt or {},
        "coverage": [_with_dates(row) for row in (backtest.receipt or {}).get("coverage", [])],
        "coverage_summary": _coverage_summary((backtest.receipt or {}).get("coverage", [])),
        "drawn": drawn,
        "omissions": _omissions(backtest.symbols, drawn, trades),
        "years": tables.monthly_returns(
            breakdowns.by_period(trades, curve, capital, breakdowns.MONTHS),
            breakdowns.by_period(trades, curve, capital, breakdowns.YEARS),
        ),
        "groups": _groups(trades, backtest.symbols),
        "largest": {
            "Largest wins": tables.largest_wins(result_trades, backtest.symbols),
            "Largest losses": tables.largest_losses(result_trades, backtest.symbols),
        },
        "all_metrics": tables.all_metrics(backtest.performance or {}),
        "steps": _steps(backtest),
        "study_results": _indented_json(backtest.study_results) if backtest.study_results else "",
    }
    return context, charts_by_name


def _with_dates(row: dict[str, Any]) -> dict[str, Any]:
    """Add the dates in India of the first and last bar to a coverage."""
    times = {"first": row["firstBar"], "last": row["lastBar"]}
    dates = {
        name: time and datetime.fromisoformat(time).astimezone(INDIA).date()
        for name, time in times.items()
    }
    return {**row, **dates}


def _coverage_summary(coverages: Sequence[dict[str, Any]]) -> str:
    """Describe the lowest coverage of all symbols."""
    with_sessions = [row for row in coverages if row["percentage"] is not None]
    if not with_sessions:
        return "no session of the range is in the calendar"
    least = min(with_sessions, key=lambda row: float(row["percentage"]))
    of_each = "" if len(coverages) == 1 else f" of {least['symbol']}, the least of all symbols,"
    return (
        f"{least['heldSessions']:,} of the {least['sessions']:,} sessions of the range{of_each} are"
        f" held ({least['percentage']:g} %)"
    )


def _groups(trades: Array, symbols: Sequence[str]) -> dict[str, list[tables.GroupBar]]:
    groups = {
        "By symbol": breakdowns.by_symbol(trades, symbols),
        "By side": breakdowns.by_side(trades),
        "By exit": breakdowns.by_exit_reason(trades),
        "By weekday of the entry": breakdowns.by_weekday(trades),
    }
    return {title: tables.group_bars(rows) for title, rows in groups.items()}


def _omissions(symbols: Sequence[str], drawn: Sequence[DrawnSymbol], trades: Array) -> list[str]:
    """Return sentences on what the charts do not show."""
    sentences = []
    if len(symbols) > len(drawn):
        sentences.append(
            f"Of {len(symbols)} symbols the {len(drawn)} with the most trades are drawn."
        )
    if len(trades) > charts.MAX_DRAWN_TRADES:
        sentences.append(
            f"Of {len(trades):,} trades the {charts.MAX_DRAWN_TRADES:,} with the largest results"
            " can be drawn."
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
