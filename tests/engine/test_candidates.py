"""Steps put together from a set's values equal the steps as they are read."""

from itertools import combinations
from random import Random
from typing import Any

import pytest

from apps.engine.language.strategy import read_strategy
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of
from apps.engine.studies.candidates import CandidatePlan, Candidates, Overlap, merged
from apps.engine.studies.grid import Grid
from apps.engine.studies.parameters import Parameter, applied
from tests.engine.configurations import RSI_ABOVE_50, complete

Steps = dict[str, Any]
Lines = list[tuple[str, float, float, float]]

ENTRY = "entryConditions.conditions"
# Several values change one object, some change the same place as others, and some are invalid.
PARAMETERS: Lines = [
    (f"{ENTRY}[0].indicator1.period", 1, 9, 4),
    (f"{ENTRY}[0].indicator1.offset", 0, 4, 2),
    (f"{ENTRY}[0].indicator2.period", 9, 33, 12),
    (f"{ENTRY}[1].value", 40, 60, 10),
    (f"{ENTRY}[1].indicator.period", 7, 21, 7),
    ("entryConditions.confirmationCandles", 0, 3, 1),
    ("exitConditions.stopLoss.percentage", 0, 2, 1),
    ("exitConditions.takeProfit.ratio", 1, 3, 1),
    ("exitConditions.trailingStop.percentage", 0.5, 1.5, 0.5),
    ("riskParameters.stopLoss", 1, 3, 1),
    ("riskParameters.maxOpenPositions", 1, 3, 1),
    ("positionSizing.riskPercentage", 0.5, 1.5, 0.5),
    ("executionSettings.slippage", 0, 0.1, 0.05),
]
LEVEL = {"type": "CALC", "operator": "subtract", "operands": [{"type": "MIN", "period": 9}, 0.5]}
LATER_FIELDS = complete(
    positionSizing={
        "method": "risk_based",
        "riskPercentage": 1,
        "pyramiding": {
            "enabled": True,
            "maxEntries": 3,
            "distance": {"direction": "favour", "type": "percentage", "percentage": 0.5},
        },
    },
    entryConditions={
        "positionType": "long",
        "conditions": [
            {**RSI_ABOVE_50, "within": 3},
            {
                "type": "indicator_indicator",
                "indicator1": {"type": "PRICE"},
                "operator": "above",
                "indicator2": LEVEL,
            },
        ],
        "rank": {"by": LEVEL, "top": 1, "keep": 2, "every": "candle"},
    },
    exitConditions={
        "stopLoss": {"type": "level", "price": LEVEL, "buffer": 0.5},
        "trailingStop": {"enabled": True, "type": "level", "price": LEVEL, "buffer": 1},
        "steps": [
            {"at": {"type": "risk_reward", "ratio": 1}, "close": 40, "moveStop": "entry"},
            {"at": {"type": "points", "points": 9}, "close": 20},
        ],
        "onRank": "leave",
    },
    riskParameters__maxEntriesPerDay=3,
    riskParameters__cooldown={"candles": 2},
    riskParameters__maxDailyProfit=4000,
)
LATER_PARAMETERS: Lines = [
    (f"{ENTRY}[0].within", 1, 5, 2),
    (f"{ENTRY}[1].indicator2.operands[1]", 0, 1, 0.5),
    (f"{ENTRY}[1].indicator2.operands[0].period", 5, 9, 2),
    ("entryConditions.rank.top", 1, 3, 1),
    ("entryConditions.rank.keep", 0, 2, 1),
    ("entryConditions.rank.by.operands[1]", 0, 2, 1),
    ("exitConditions.stopLoss.buffer", 0, 1, 0.5),
    ("exitConditions.stopLoss.price.operands[1]", 0, 1, 0.5),
    ("exitConditions.trailingStop.buffer", 0, 1, 0.5),
    ("exitConditions.steps[0].at.ratio", 1, 2, 0.5),
    ("exitConditions.steps[0].close", 40, 80, 20),
    ("exitConditions.steps[1].at.points", 5, 15, 5),
    ("positionSizing.pyramiding.distance.percentage", 0, 1, 0.5),
    ("positionSizing.pyramiding.maxEntries", 2, 4, 1),
    ("riskParameters.maxEntriesPerDay", 1, 3, 1),
    ("riskParameters.maxEntriesPerSymbol", 1, 3, 1),
    ("riskParameters.cooldown.candles", 1, 3, 1),
    ("riskParameters.maxDailyProfit", 1000, 3000, 1000),
]
CASES = pytest.mark.parametrize(
    ("steps", "parameters"),
    [(complete(), PARAMETERS), (LATER_FIELDS, LATER_PARAMETERS)],
    ids=["usual", "later"],
)


def drawn(random: Random, count: int, parameters: Lines) -> Grid:
    lines = random.sample(parameters, count)
    return Grid(
        tuple(
            Parameter.model_validate({"path": path, "from": first, "to": last, "step": step})
            for path, first, last, step in lines
        )
    )


def as_read(steps: Steps, grid: Grid, index: int) -> CandidatePlan | None:
    strategy = read_strategy(applied(steps, grid.values(index))).strategy
    if strategy is None:
        return None
    return CandidatePlan(plan_of(strategy), required_inputs(strategy))


@CASES
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_candidate_equals_the_steps_of_its_set_as_read(
    count: int, steps: Steps, parameters: Lines
) -> None:
    random, valid = Random(count), set()
    for _ in range(12):
        grid = drawn(random, count, parameters)
        candidates = Candidates(steps, grid)
        for index in random.sample(range(grid.size), min(grid.size, 15)):
            wanted = as_read(steps, grid, index)
            assert candidates.candidate(index) == wanted
            valid.add(wanted is not None)
    assert valid == {True, False}


@CASES
def test_every_two_parameters_are_put_together_as_they_are_read(
    steps: Steps, parameters: Lines
) -> None:
    for lines in combinations(parameters, 2):
        grid = Grid(
            tuple(
                Parameter.model_validate({"path": path, "from": first, "to": last, "step": step})
                for path, first, last, step in lines
            )
        )
        candidates, index = Candidates(steps, grid), grid.size - 1
        assert candidates.candidate(index) == as_read(steps, grid, index)


def test_a_number_changed_by_two_objects_is_not_put_together() -> None:
    assert merged((1, (2, 3)), (1, (5, 3)), (4, (2, 3))) == (4, (5, 3))
    with pytest.raises(Overlap):
        merged((1, (2, 3)), (1, (5, 3)), (1, (6, 3)))
    with pytest.raises(Overlap):
        merged((1, (2,)), (1, (5,)), (1, (2, 3)))
