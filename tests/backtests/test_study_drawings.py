"""The drawings at the head of a study's report, from its stored results and chart."""

from typing import Any

import pytest

from apps.backtests.analysis.report.study_drawings import (
    parameters_drawing,
    paths_drawing,
    windows_drawing,
)

CONDITION = "entryConditions.conditions[0]"
FAST, SLOW = f"{CONDITION}.indicator1.period", f"{CONDITION}.indicator2.period"
STOP = "exitConditions.stopLoss.percentage"


def search(**chart: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    findings = {
        "objective": "sharpeRatio",
        "tried": 8,
        "ranking": [{"objective": 1.5, "parameters": {FAST: 5, SLOW: 20, STOP: 0.5}}],
    }
    whole = {
        "parameters": [FAST, SLOW],
        "values": [[5, 6], [20, 30]],
        "further": "best",
        "objectives": [1.5, 1.25, None, -0.5],
        "best": [0, 0],
        "plateau": [[0, 0], [0, 1]],
        **chart,
    }
    return findings, whole


@pytest.mark.parametrize(
    ("further", "sentence"),
    [
        (
            "best",
            "Other parameters as in the best set: Exit conditions stop loss percentage 0.5.",
        ),
        ("all", "Each cell is the median of all sets with its two values"),
    ],
)
def test_a_heat_map_labels_its_cells(further: str, sentence: str) -> None:
    lead = parameters_drawing(*search(further=further))
    assert sentence in lead.caption
    assert "Sharpe ratio per trade of the best of 8 sets, in-sample: 1.50." in lead.sentence
    assert "plateau has 2 of 3 cells" in lead.sentence
    assert lead.drawing is not None
    titles = [shape.title for shape in lead.drawing.shapes if shape.title]
    assert titles == ["5, 20: 1.50", "5, 30: 1.25", "6, 20: not tried", "6, 30: \N{MINUS SIGN}0.50"]
    assert [shape.css for shape in lead.drawing.shapes][:4] == ["gain", "gain", "missing", "loss"]


def test_a_best_set_without_good_neighbours_is_called_isolated() -> None:
    lead = parameters_drawing(*search(plateau=[[0, 0]]))
    assert "It stands alone" in lead.sentence


def test_one_parameter_makes_a_line() -> None:
    findings, chart = search(
        parameters=[FAST], values=[[5, 6, 7]], objectives=[1.5, 1.0, None], best=[0], plateau=[[0]]
    )
    lead = parameters_drawing(findings, chart)
    assert lead.drawing is not None
    titles = [shape.title for shape in lead.drawing.shapes if shape.title]
    assert titles == ["5: 1.50", "6: 1.00"]


def test_windows_are_measured_by_the_calendar_day() -> None:
    span = {"from": "2024-01-01T00:00:00+05:30", "to": "2024-01-10T00:00:00+05:30"}
    window = {
        "inSample": {**span, "objective": 1000.0},
        "outOfSample": {**span, "objective": -50.0},
    }
    missing = {"inSample": {**span, "objective": None}, "outOfSample": {**span, "objective": 9.0}}
    lead = windows_drawing({"objective": "netProfit", "windows": [window, missing]})
    assert lead.sentence == (
        "Net profit a day averages \N{MINUS SIGN}₹5 out-of-sample, and ₹100 in-sample."
        " 0 of 1 test windows are above 0."
    )
    assert lead.drawing is not None
    empty = windows_drawing({"objective": "netProfit", "windows": [missing]})
    assert empty.drawing is None
    assert "needs longer test windows" in empty.sentence


def test_paths_of_an_older_study_have_no_drawing() -> None:
    findings = {
        "runs": 1000,
        "maxDrawdown": {"p50": 1.4, "p95": 2.5},
        "riskOfRuin": 0.0,
        "finalEquity": None,
        "asTraded": {"finalEquity": 1e6, "maxDrawdown": 1.2},
    }
    lead = paths_drawing(findings, None)
    assert lead.drawing is None
    assert "Max drawdown is under 1.40% in half of 1,000 paths" in lead.sentence
