"""The tables of a report, on results small enough to be reckoned by hand."""

import pytest

from apps.backtests.analysis.report import evidence_tables, formats, tables
from apps.engine.results.breakdowns import trade_breakdowns
from apps.engine.studies import ParameterPath
from apps.engine.units import Unit
from tests.backtests.small_results import curve, trade, trades
from tests.market.bars import at

THREE = trades(
    trade("2024-01-01 09:15", "2024-01-01 10:00", 120.0, charges=20.0),  # a Monday
    trade("2024-01-02 09:15", "2024-01-02 10:00", -50.0, side=-1, symbol=1),
    trade("2024-01-08 09:15", "2024-01-09 10:00", -300.0),
)


def test_months_stand_in_the_row_of_their_year() -> None:
    rows = curve(("2023-12-29 15:15", 1100), ("2024-01-31 15:15", 990), ("2024-02-29 23:59", 1089))
    groups = trade_breakdowns(THREE, rows, symbols=["NSE:A", "NSE:B"], capital=1000.0)
    last, first = tables.monthly_returns(groups["byMonth"], groups["byYear"])
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
        ("Total trades", "3"),
        ("Net profit", "\N{MINUS SIGN}₹1,234.50"),
        ("Win rate", "50.00%"),
        ("Profit factor", "\N{EN DASH}"),
    ]
    assert rows["Equity"] == [tables.MetricRow("CAGR", "1.50%", "Growth a year, compounded.")]
    assert rows["Benchmark"] == []
    assert formats.format_metric(12, Unit.DAYS) == "12 days"
    assert formats.format_metric(1.25, Unit.HOURS) == "1.2 hours"


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "₹0.00"),
        (-0.001, "₹0.00"),
        (999.5, "₹999.50"),
        (1234567.5, "₹12,34,567.50"),
        (-100000, "\N{MINUS SIGN}₹1,00,000.00"),
        (123456789012, "₹1,23,45,67,89,012.00"),
    ],
)
def test_rupees_are_grouped_as_in_india(amount: float, text: str) -> None:
    assert formats.format_rupees(amount) == text


def test_times_are_in_india_and_midnights_are_dates() -> None:
    assert formats.format_time(at("2024-02-05 09:15")) == "05 Feb 2024, 09:15"
    assert formats.format_time(at("2024-02-05 00:00")) == "05 Feb 2024"
    assert [formats.humanize(word) for word in ("stop_loss", "exchangeFee", "ipft")] == [
        "Stop loss",
        "Exchange fee",
        "IPFT",
    ]


def test_the_path_of_a_parameter_is_written_as_words() -> None:
    assert [
        ParameterPath(path).words
        for path in (
            "entryConditions.conditions[0].indicator1.period",
            "exitConditions.stopLoss.percentage",
        )
    ] == ["Entry condition 1 indicator 1 period", "Exit conditions stop loss percentage"]


def test_figures_of_evidence_have_their_units() -> None:
    """The probability is a share of 1 in evidence, and a percentage in the metrics."""
    single, gaps, rules = evidence_tables.figure_tables(
        {
            "probabilisticSharpeRatio": 0.987,
            "largestCapital": 7_854_979.67,
            "gaps": {"stops": 2, "lostBeyondStops": 12.5},
            "rulesSince": [{"regime": "2024-10-01", "changed": ["charges", "sessions"]}],
        }
    )
    assert [row[1] for row in single.rows] == ["0.987", "\u20b978,54,979.67"]
    assert [row[1] for row in gaps.rows] == ["2", "\u20b912.50"]
    assert rules.rows == [["2024-10-01", "charges, sessions"]]
