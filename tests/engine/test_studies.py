"""Configurations of studies: read strictly, with errors by path."""

from typing import Any

import pytest

from apps.engine.studies.configs import (
    InvalidStudy,
    MonteCarloConfig,
    OptimizationConfig,
    WalkForwardConfig,
)

STOP = {"path": "exitConditions.stopLoss.percentage", "from": 0.5, "to": 2, "step": 0.5}


def errors(kind: Any, **sent: object) -> list[str]:
    with pytest.raises(InvalidStudy) as refusal:
        kind.read(sent)
    return [error.field for error in refusal.value.errors]


def test_defaults() -> None:
    made = WalkForwardConfig.read({"parameters": [STOP]})
    assert (made.windows, made.trainRatio, made.anchored) == (5, 0.7, False)
    assert made.objective == "sharpeRatioAnnualized"
    assert MonteCarloConfig.read({}).method == "bootstrap"


@pytest.mark.parametrize(
    ("kind", "sent", "field"),
    [
        (WalkForwardConfig, {}, "parameters"),
        (WalkForwardConfig, {"parameters": []}, "parameters"),
        (WalkForwardConfig, {"parameters": [STOP, STOP]}, "parameters"),
        (WalkForwardConfig, {"parameters": [{**STOP, "to": 0.1}]}, "parameters[0].to"),
        (WalkForwardConfig, {"parameters": [{**STOP, "step": 0}]}, "parameters[0].step"),
        (WalkForwardConfig, {"parameters": [{**STOP, "step": 1e-8}]}, "parameters[0].step"),
        (WalkForwardConfig, {"parameters": [{**STOP, "form": 1}]}, "parameters[0].form"),
        (WalkForwardConfig, {"parameters": [{"path": "a.b", "to": 1}]}, "parameters[0].from"),
        (WalkForwardConfig, {"parameters": [STOP], "windows": 1}, "windows"),
        (WalkForwardConfig, {"parameters": [STOP], "trainRatio": 0.95}, "trainRatio"),
        (WalkForwardConfig, {"parameters": [STOP], "objective": "luck"}, "objective"),
        (WalkForwardConfig, {"parameters": [STOP], "objective": "rejectedSignals"}, "objective"),
        (OptimizationConfig, {"parameters": [STOP], "method": "genetic"}, "method"),
        (OptimizationConfig, {"parameters": [STOP], "maxRuns": "9"}, "maxRuns"),
        (MonteCarloConfig, {"method": "jackknife"}, "method"),
        (MonteCarloConfig, {"runs": True}, "runs"),
        (MonteCarloConfig, {"seed": -1}, "seed"),
        (MonteCarloConfig, {"ruinThreshold": 0}, "ruinThreshold"),
    ],
)
def test_errors_are_named(kind: Any, sent: dict[str, Any], field: str) -> None:
    assert errors(kind, **sent)[0] == field


def test_a_grid_over_the_most_runs_is_an_error_and_a_random_search_is_not() -> None:
    sent = {"parameters": [STOP], "maxRuns": 3}
    assert [error.field for error in OptimizationConfig.read(sent).size_errors()] == ["maxRuns"]
    assert OptimizationConfig.read({**sent, "method": "random"}).size_errors() == ()
    assert OptimizationConfig.read({**sent, "maxRuns": 4}).size_errors() == ()


def test_a_walk_forward_tries_a_bounded_number_of_sets() -> None:
    many = [{"path": f"a.b{i}", "from": 1, "to": 501, "step": 1} for i in range(2)]
    errors = WalkForwardConfig.read({"parameters": many}).size_errors()
    assert [error.field for error in errors] == ["parameters"]
