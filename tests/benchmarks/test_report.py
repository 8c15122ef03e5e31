"""The size of the report of a year of real minutes, and the time to render and show it."""

import time
from io import StringIO
from pathlib import Path
from statistics import median

import pytest
from django.core.management import call_command

from apps.accounts.models import User
from apps.backtests.analysis.report import page
from apps.backtests.models import Backtest
from apps.backtests.running.submissions import read_date_range
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.benchmarks.side_by_side import MEASURED, Row
from tests.browser import program, tab

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(600),
    pytest.mark.django_db,
    pytest.mark.skipif(program() is None, reason="no Chromium on this machine"),
]

FILE = "INFY_1m_2024-25.parquet"
ROUNDS = 9
FIRST_PAINT = """performance.getEntriesByType("paint")
  .find(({ name }) => name === "first-contentful-paint").startTime"""
PAINTED = "new Promise((resolve) => setTimeout(resolve, 1000))"


def completed(owner: User) -> Backtest:
    """Return a backtest of a year of minutes with about 4,000 trades."""
    basic = {"strategyType": "momentum", "timeframe": "1m", "symbols": ["NSE:INFY"]}
    crossing = {
        "type": "indicator_indicator",
        "operator": "crosses_above",
        "indicator1": {"type": "EMA", "period": 9},
        "indicator2": {"type": "EMA", "period": 20},
    }
    entry = {"positionType": "both", "conditions": [crossing]}
    exits = {
        "stopLoss": {"type": "percentage", "percentage": 0.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
    }
    risk = {"maxPositionSize": 500_000, "maxDailyLoss": 20_000, "maxOpenPositions": 1}
    steps = make.steps(
        basicInfo=basic, entryConditions=entry, exitConditions=exits, riskParameters=risk
    )
    year = read_date_range("2024-04-22", "2025-04-21", now=make.NOW)
    backtest = submit(owner, make.algorithm(owner, **steps).pk, date_range=year)
    run_queued()
    return Backtest.objects.select_related("algorithm").get(pk=backtest.pk)


def first_paints(address: str) -> tuple[list[float], list[float]]:
    """Return milliseconds to the first paint in a new browser, and in one that has shown
    the page.
    """
    fresh: list[float] = []
    warm: list[float] = []
    for _ in range(ROUNDS):
        with tab(1366, 900) as shown:
            for paints in (fresh, warm):
                shown.goto(address)
                shown.evaluate(PAINTED)
                paints.append(shown.evaluate(FIRST_PAINT))
    return fresh, warm


def test_a_year_of_minutes(market_data: Path, tmp_path: Path) -> None:
    call_command("load_candles", str(market_data / FILE), stdout=StringIO())
    backtest = completed(make.user())
    spans = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        html = page.standalone_page(page.render(backtest, now=make.NOW))
        spans.append((time.perf_counter() - begun) * 1000)
    (tmp_path / "report.html").write_bytes(html)
    fresh, warm = first_paints((tmp_path / "report.html").as_uri())
    trades = (backtest.performance or {})["totalTrades"]
    name = f"report of 91,844 real minutes and {trades:,} trades: made, and first painted"
    row = Row(
        name,
        f"{median(spans):.0f} ms, {len(html) / 1000:,.0f} kB",
        f"{median(fresh):.0f} ms in a new browser, {median(warm):.0f} ms in an open one",
    )
    print(f"\n{row.name}: {row.first}; {row.other} (new: {min(fresh):.0f} to {max(fresh):.0f} ms)")
    MEASURED.append(row)
    assert len(html) <= 700_000
