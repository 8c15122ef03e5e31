"""The tables of a report, on results small enough to be reckoned by hand."""

import numpy as np
import plotly.graph_objects as go
import pytest

from apps.backtests.report import formats, tables
from apps.backtests.report.charts import (
    DrawnSymbol,
    equity_chart,
    legible_timeframe,
    price_charts,
)
from apps.backtests.results import Trades
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import CURVE, TRADE, Array
from apps.engine.metrics import breakdowns
from apps.engine.metrics.excursions import Excursions
from apps.engine.units import Unit
from tests.backtests.waves import waves
from tests.market.bars import at


def trade(entry: str, exit_: str, gross: float, **more: float) -> dict[str, float]:
    return {
        "entry_time": at(entry), "exit_time": at(exit_), "gross": gross, "side": 1, "value": 1000.0,
        "reason": EXIT_REASONS.index("signal"), **more,
    }  # fmt: skip


def trades(*rows: dict[str, float]) -> Array:
    records = np.zeros(len(rows), TRADE)
    for record, row in zip(records, rows, strict=True):
        for name, value in row.items():
            record[name] = value
    return records


def curve(*points: tuple[str, float]) -> Array:
    return np.array([(at(time), equity) for time, equity in points], CURVE)


THREE = trades(
    trade("2024-01-01 09:15", "2024-01-01 10:00", 120.0, charges=20.0),  # a Monday
    trade("2024-01-02 09:15", "2024-01-02 10:00", -50.0, side=-1, symbol=1),
    trade("2024-01-08 09:15", "2024-01-09 10:00", -300.0),
)


def test_bars_are_measured_by_the_largest_profit_or_loss() -> None:
    groups = breakdowns.by_symbol(THREE, ["NSE:A", "NSE:B", "NSE:C"])
    rows = tables.group_bars(groups)
    assert [(row.group.name, row.percent, row.width) for row in rows] == [
        ("NSE:A", -100.0, 100.0), ("NSE:B", -25.0, 25.0),
    ]  # fmt: skip
    assert tables.group_bars([]) == []


def test_months_stand_in_the_row_of_their_year() -> None:
    rows = curve(("2023-12-29 15:15", 1100), ("2024-01-31 15:15", 990), ("2024-02-29 23:59", 1089))
    last, first = tables.monthly_returns(
        breakdowns.by_period(THREE, rows, 1000.0, breakdowns.MONTHS),
        breakdowns.by_period(THREE, rows, 1000.0, breakdowns.YEARS),
    )
    assert (last.year, last.months[:11]) == ("2023", [None] * 11)
    assert last.months[11] == pytest.approx(10)
    assert last.total == pytest.approx(10)
    assert first.months == [pytest.approx(-10), pytest.approx(10), *[None] * 10]
    assert first.total == pytest.approx(-1)


def test_every_metric_has_its_unit_and_its_meaning() -> None:
    rows = tables.all_metrics(
        {"netProfit": -1234.5, "winRate": 50.0, "totalTrades": 3, "profitFactor": None, "cagr": 1.5}
    )
    assert [(row.name, row.value) for row in rows["Trades"]] == [
        ("Total trades", "3"), ("Net profit", "\N{MINUS SIGN}₹1,234.50"), ("Win rate", "50.00%"),
        ("Profit factor", "\N{EN DASH}"),
    ]  # fmt: skip
    assert rows["Equity"] == [tables.MetricRow("CAGR", "1.50%", "Growth a year, compounded.")]
    assert rows["Benchmark"] == []
    assert formats.format_metric(12, Unit.DAYS) == "12 days"
    assert formats.format_metric(1.25, Unit.HOURS) == "1.2 hours"


def test_the_largest_trades_are_listed_largest_first_and_never_on_the_wrong_side() -> None:
    symbols = ["NSE:A", "NSE:B"]
    prices = Excursions(np.array([0.01, 0.02, 0.03]), np.array([0.04, 0.05, 0.06]))
    (win,) = tables.largest_wins(Trades(THREE, prices), symbols)
    assert (win.profit, win.mae, win.mfe) == (100.0, 1.0, 4.0)
    losses = tables.largest_losses(Trades(THREE, None), symbols)
    assert [(row.profit, row.symbol, row.side, row.mae) for row in losses] == [
        (-300.0, "NSE:A", "long", None), (-50.0, "NSE:B", "short", None),
    ]  # fmt: skip


def test_a_curve_is_drawn_in_india_from_its_first_to_its_last_row() -> None:
    rows = curve(("2024-01-01 09:15", 100), ("2024-01-01 09:20", 110), ("2024-01-02 09:15", 99))
    line, under = equity_chart(rows, 100.0)["data"]
    assert line["x"] == ["2024-01-01 09:15", "2024-01-01 09:20", "2024-01-02 09:15"]
    assert (line["y"], under["y"]) == ([100, 110, 99], [0, 0, -10])


def test_charts_are_plotlys_by_its_own_schema() -> None:
    candles = waves("2024-01-01", 2)
    drawn = [DrawnSymbol(0, "NSE:A", "15m", False, candles)]
    charts = [
        equity_chart(curve(("2024-01-01 09:15", 100)), 100.0),
        *price_charts(drawn, THREE).values(),
    ]
    for chart in charts:
        go.Figure(
            {"data": chart["data"], "layout": chart["layout"]}
        )  # refuses what it does not know


def test_a_trade_stands_on_its_candle_and_inside_a_longer_one() -> None:
    candles = waves("2024-01-01", 2)  # 25 a day, the next day's follow at 25
    at_own, at_longer = (
        price_charts([DrawnSymbol(0, "NSE:A", "1h", is_longer, candles)], THREE)["NSE:A"]["trades"]
        for is_longer in (False, True)
    )
    assert at_own["profit"] == [-300.0, 100.0]
    assert (at_own["entryX"][1], at_own["exitX"][1]) == (0, 3)
    assert (at_longer["entryX"][1], at_longer["exitX"][1]) == (-0.4, 2.6)


@pytest.mark.parametrize(
    ("max_candles", "timeframe"),
    [(2250, "1m"), (2249, "5m"), (90, "30m"), (41, "4h"), (11, "1d"), (2, "1w"), (0, "1w")],
)  # fmt: skip
def test_candles_are_as_long_as_it_takes_to_be_few(max_candles: int, timeframe: str) -> None:
    """Six sessions of 375 minutes, Monday to Saturday: 2,250, 450, 150, 78, 42, 12, 6 and 1."""
    time = np.concatenate(
        [at(f"2024-01-0{day} 09:15") + np.arange(375) * 60 for day in range(1, 7)]
    )
    assert legible_timeframe(time, "1m", max_candles=max_candles) == timeframe


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "₹0.00"), (-0.001, "₹0.00"), (999.5, "₹999.50"), (1234567.5, "₹12,34,567.50"),
     (-100000, "\N{MINUS SIGN}₹1,00,000.00"), (123456789012, "₹1,23,45,67,89,012.00")],
)  # fmt: skip
def test_rupees_are_grouped_as_in_india(amount: float, text: str) -> None:
    assert formats.format_rupees(amount) == text


def test_times_are_those_of_india_and_midnights_are_dates() -> None:
    assert formats.format_time(at("2024-02-05 09:15")) == "05 Feb 2024, 09:15"
    assert formats.format_time(at("2024-02-05 00:00")) == "05 Feb 2024"
    assert [formats.humanize(word) for word in ("stop_loss", "exchangeFee", "ipft")] == [
        "Stop loss", "Exchange fee", "IPFT",
    ]  # fmt: skip
