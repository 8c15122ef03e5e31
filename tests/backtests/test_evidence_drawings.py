"""The drawings of evidence, from known figures."""

import re
from typing import Any

import pytest

from apps.backtests.analysis.report.drawings import WIDTH, Drawing
from apps.backtests.analysis.report.evidence_drawings import (
    ROW_HEIGHT,
    Bar,
    DrawnRow,
    histogram_drawing,
    row_drawing,
    section_drawings,
)

BOX = re.compile(r"M([-\d.]+) ([-\d.]+)h([-\d.]+)v([-\d.]+)h")
COSTS: dict[str, Any] = {
    "grossProfitAtSignalPrices": 1_00_000.0,
    "slippage": 10_000.0,
    "chargesByKind": {"gst": 0.0, "brokerage": 20_000.0, "transactionTax": 30_000.0},
    "netProfit": 40_000.0,
    "netProfitAtCosts": [{"factor": 1, "netProfit": 40_000.0}, {"factor": 2, "netProfit": -2e4}],
}
SPREAD = {"p1": -50.0, "p5": -40.0, "p25": -20.0, "p50": 0.0, "p75": 20.0, "p95": 40.0, "p99": 50.0}


def drawn(name: str, figures: dict[str, Any]) -> list[Drawing]:
    return section_drawings(name, {"costs": {"figures": COSTS}, name: {"figures": figures}})


def boxes(drawing: Drawing, css: str = "") -> list[tuple[float, ...]]:
    """Return the left edge, upper edge, width and height of each bar."""
    matches = [BOX.match(shape.path) for shape in drawing.shapes if css in shape.css]
    return [tuple(map(float, match.groups())) for match in matches if match]


def texts(drawing: Drawing) -> list[tuple[str, str]]:
    """Return the name and the value of each row."""
    written = [text.text for text in drawing.texts]
    return list(zip(written[::2], written[1::2], strict=True))


def test_costs_are_a_waterfall_from_gross_to_net() -> None:
    (drawing,) = drawn("costs", COSTS)
    assert texts(drawing) == [
        ("Before costs", "₹1,00,000"),
        ("Slippage", "\N{MINUS SIGN}₹10,000"),
        ("STT / CTT", "\N{MINUS SIGN}₹30,000"),
        ("Brokerage", "\N{MINUS SIGN}₹20,000"),
        ("Net profit", "₹40,000"),
        ("Net profit at twice the costs", "\N{MINUS SIGN}₹20,000"),
    ]
    gross, slippage, tax, brokerage, net, _ = boxes(drawing)
    for upper, lower in ((gross, slippage), (slippage, tax), (tax, brokerage), (brokerage, net)):
        right_of_lower = lower[0] + lower[2]
        before = upper[0] + upper[2] if upper is gross else upper[0]
        assert right_of_lower == pytest.approx(before, abs=0.2)
    assert gross[2] == pytest.approx(WIDTH * 100 / 120, abs=0.2)
    assert drawing.height == 6 * ROW_HEIGHT


def test_bars_of_losses_lie_left_of_zero() -> None:
    rows = [
        DrawnRow("Up", "30", [Bar(0, 30, "gain")]),
        DrawnRow("Down", "-10", [Bar(0, -10, "loss")]),
    ]
    drawing = row_drawing("Both", rows)
    ((left, _, width, _),) = boxes(drawing, "loss")
    assert (left, width) == (0, WIDTH / 4)
    assert boxes(drawing, "gain") == [(WIDTH / 4, 19, WIDTH * 3 / 4, 9)]
    assert [shape.title for shape in drawing.shapes if shape.title] == ["Up: 30", "Down: -10"]


def test_a_histogram_has_an_area_for_each_share() -> None:
    drawing = histogram_drawing("Paths", SPREAD, own=30.0, name="This result")
    assert drawing is not None
    areas = [width * height for _, _, width, height in boxes(drawing)]
    assert [area / sum(areas) for area in areas] == pytest.approx(
        [share / 98 for share in (4, 20, 25, 25, 20, 4)], abs=0.002
    )
    assert [text.text for text in drawing.texts] == ["This result ₹30"]
    (mark,) = [shape.path for shape in drawing.shapes if shape.css == "mark"]
    left, _, width, _ = boxes(drawing)[4]
    assert left < float(mark[1:].split()[0]) < left + width
    assert histogram_drawing("Paths", dict.fromkeys(SPREAD, 1.0), own=1.0, name="") is None


def test_the_order_of_prices_is_a_band_with_the_result_in_it() -> None:
    net = {"worst": -1000.0, "rule": 0.0, "resolved": 500.0, "best": 1000.0}
    (drawing,) = drawn("fills", {"netProfit": net})
    assert texts(drawing)[0] == ("Any order of prices", "\N{MINUS SIGN}₹1,000 to ₹1,000")
    assert boxes(drawing)[0][2] == WIDTH
    (mark,) = [shape.path for shape in drawing.shapes if shape.css == "mark"]
    assert mark.startswith(f"M{WIDTH / 2:.1f} ")
    assert drawn("fills", {"netProfit": dict.fromkeys(net, 5.0)}) == []


def test_probabilities_show_their_limit_and_which_side_passes() -> None:
    study = {"probability": 0.5, "passesUpTo": 0.2}
    figures = {"deflatedSharpeRatio": 0.97, "passesFrom": 0.95, "overfitting": study}
    (drawing,) = drawn("multipleTesting", figures)
    assert texts(drawing) == [
        ("Better than luck", "97.0%, passes at least 95%"),
        ("Study overfitted", "50.0%, passes at most 20%"),
    ]
    assert [shape.css for shape in drawing.shapes if shape.title] == ["gain", "loss"]
    assert (
        drawn("multipleTesting", {**figures, "deflatedSharpeRatio": None, "overfitting": None})
        == []
    )


def test_parameters_are_in_the_order_of_their_harm() -> None:
    changes = [
        {"path": "exitConditions.stopLoss.percentage", "netProfit": 50.0},
        {"path": "entryConditions.conditions[0].indicator1.period", "netProfit": -10.0},
        {"path": "entryConditions.conditions[0].indicator1.period", "netProfit": None},
        {"path": "riskParameters.maxOpenPositions", "netProfit": 40.0},
    ]
    (drawing,) = drawn("sensitivity", {"netProfit": 40.0, "changes": changes})
    assert texts(drawing) == [
        ("Entry condition 1 indicator 1 period", "\N{MINUS SIGN}₹10 to ₹40"),
        ("Exit conditions stop loss percentage", "₹40 to ₹50"),
    ]
    assert len(boxes(drawing, "loss")) == 1
    assert drawn("sensitivity", {"netProfit": 40.0, "changes": []}) == []


def test_conditions_of_the_market_are_drawn_if_there_are_two() -> None:
    row = {"regime": "rising", "trades": 1, "netProfit": 5.0}
    none: dict[str, Any] = {"trend": [], "volatility": [], "gap": [row], "expiry": [row]}
    assert drawn("regimes", none) == []
    trend = [row, {**row, "regime": "unknown"}, {**row, "regime": "falling", "trades": 2}]
    (drawing,) = drawn("regimes", {**none, "trend": trend})
    assert texts(drawing) == [
        ("Trend: rising", "₹5 in 1 trade"),
        ("Trend: falling", "₹5 in 2 trades"),
    ]


def test_luck_and_timing_show_the_result_among_others() -> None:
    without = [{"trades": 1, "netProfit": 10.0}, {"trades": 5, "netProfit": -20.0}]
    paths = {"count": 2_000, "netProfit": SPREAD}
    among, best = drawn("significance", {"paths": paths, "withoutBestTrades": without})
    assert among.texts[0].text == "This result ₹40,000"
    assert texts(best)[1:] == [
        ("Without the best trade", "₹10"),
        ("Without the 5 best trades", "\N{MINUS SIGN}₹20"),
    ]
    assert len(drawn("significance", {"paths": None, "withoutBestTrades": without})) == 1
    test = {"count": 1_000, "permuted": SPREAD, "grossProfit": 45.0, "pValue": 0.025}
    (timing,) = drawn("timing", {"permutations": test})
    assert timing.label == "Profit of 1,000 random timings before charges; 2.5% did as well"
    assert drawn("timing", {"permutations": None}) == []


def test_order_sizes_and_charges_are_drawn_where_they_are_known() -> None:
    sizes = {f"p{percent}": percent / 50 for percent in (1, 5, 25, 50, 75, 95, 99)}
    figures = {"volume": {"percentOfBar": sizes}, "failsFromVolumeShare": 0.05}
    (drawing,) = drawn("tradability", figures)
    assert texts(drawing) == [("Share of the candle's volume", "median 1%, limit 5%")]
    assert drawn("tradability", {"volume": {"percentOfBar": None}}) == []
    charges = {"date": "2026-11-24", "paid": {"total": 10.0}, "asOf": {"total": 12.0}}
    assert drawn("chargesAsOf", {**charges, "difference": 0.0}) == []
    (drawing,) = drawn("chargesAsOf", {**charges, "difference": 2.0})
    assert texts(drawing)[1] == ("With the rates of 2026-11-24", "₹12")
    assert drawn("lookAhead", {}) == []
