"""Everything that a report shows of one completed backtest, as its template names it."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from apps.backtests import results
from apps.backtests.models import Backtest
from apps.backtests.report import candles, figures, tables
from apps.backtests.report.candles import Drawn
from apps.engine.figures import breakdowns
from apps.engine.kernel.records import Array
from apps.market.dates import INDIA

Content = dict[str, Any]
"""Any: values of many shapes, for a template."""

_STEPS: Final = (
    "basicInfo", "positionSizing", "entryConditions", "exitConditions", "riskParameters",
    "executionSettings",
)  # fmt: skip


def content_of(backtest: Backtest) -> tuple[Content, dict[str, Any]]:
    """What the template is filled with, and the charts by name (any: JSON)."""
    result_trades, curve = results.load_result(backtest)
    trades = result_trades.records
    capital = float(backtest.initial_capital)
    drawn = candles.drawn(
        backtest.symbols,
        backtest.timeframe,
        trades=trades,
        curve=curve,
        start=backtest.start,
        end=backtest.end,
    )
    charts = {
        "equity": figures.equity_figure(curve, capital),
        "price": figures.price_figures(drawn, trades),
    }
    content = {
        "backtest": backtest,
        "title": backtest.name or backtest.algorithm.name,
        "figures": backtest.performance or {},
        "receipt": backtest.receipt or {},
        "coverage": [_with_dates(row) for row in (backtest.receipt or {}).get("coverage", [])],
        "coverage_words": _coverage_words((backtest.receipt or {}).get("coverage", [])),
        "drawn": drawn,
        "left_out": _left_out(backtest.symbols, drawn, trades),
        "years": tables.by_month(
            breakdowns.by_period(trades, curve, capital, breakdowns.MONTHS),
            breakdowns.by_period(trades, curve, capital, breakdowns.YEARS),
        ),
        "groups": _groups(trades, backtest.symbols),
        "largest": {
            "Largest wins": tables.largest_wins(result_trades, backtest.symbols),
            "Largest losses": tables.largest_losses(result_trades, backtest.symbols),
        },
        "all_figures": tables.all_figures(backtest.performance or {}),
        "steps": _steps(backtest),
        "findings": _readable(backtest.study_results) if backtest.study_results else "",
    }
    return content, charts


def _with_dates(row: dict[str, Any]) -> dict[str, Any]:
    """A coverage with the dates in India of its first and last bar. Any: JSON."""
    times = {"first": row["firstBar"], "last": row["lastBar"]}
    dates = {
        name: time and datetime.fromisoformat(time).astimezone(INDIA).date()
        for name, time in times.items()
    }
    return {**row, **dates}


def _coverage_words(coverages: Sequence[dict[str, Any]]) -> str:
    """The coverage of the symbol of which the least is held. Any: JSON."""
    with_sessions = [row for row in coverages if row["percentage"] is not None]
    if not with_sessions:
        return "no session of the range is in the calendar"
    least = min(with_sessions, key=lambda row: float(row["percentage"]))
    of_each = "" if len(coverages) == 1 else f" of {least['symbol']}, the least of all symbols,"
    return (
        f"{least['heldSessions']:,} of the {least['sessions']:,} sessions of the range{of_each} are"
        f" held ({least['percentage']:g} %)"
    )


def _groups(trades: Array, symbols: Sequence[str]) -> dict[str, list[tables.Share]]:
    found = {
        "By symbol": breakdowns.by_symbol(trades, symbols),
        "By side": breakdowns.by_side(trades),
        "By exit": breakdowns.by_exit_reason(trades),
        "By weekday of the entry": breakdowns.by_weekday(trades),
    }
    return {title: tables.shares(groups) for title, groups in found.items()}


def _left_out(symbols: Sequence[str], drawn: Sequence[Drawn], trades: Array) -> list[str]:
    """What the charts do not show, in sentences."""
    found = []
    if len(symbols) > len(drawn):
        found.append(f"Of {len(symbols)} symbols the {len(drawn)} with the most trades are drawn.")
    if len(trades) > figures.MOST_TRADES:
        found.append(
            f"Of {len(trades):,} trades the {figures.MOST_TRADES:,} with the largest results"
            " can be drawn."
        )
    return found


def _steps(backtest: Backtest) -> list[tuple[str, str]]:
    """The steps as they were run, each as readable JSON."""
    return [
        (name, _readable(backtest.configuration[name]))
        for name in _STEPS
        if name in backtest.configuration
    ]


def _readable(value: object) -> str:
    """JSON over several lines."""
    return json.dumps(value, indent=2, ensure_ascii=False)
