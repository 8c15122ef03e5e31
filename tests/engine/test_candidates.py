"""Steps put together from a set's values equal the steps as they are read."""

from itertools import combinations
from random import Random

import pytest

from apps.engine.language.strategy import read_strategy
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of
from apps.engine.studies.candidates import CandidatePlan, Candidates, Overlap, merged
from apps.engine.studies.grid import Grid
from apps.engine.studies.parameters import Parameter, applied
from tests.engine.configurations import complete

ENTRY = "entryConditions.conditions"
# Several values change one object, some change the same place as others, and some are invalid.
PARAMETERS = [
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


def drawn(random: Random, count: int) -> Grid:
    lines = random.sample(PARAMETERS, count)
    return Grid(
        tuple(
            Parameter.model_validate({"path": path, "from": first, "to": last, "step": step})
            for path, first, last, step in lines
        )
    )


def as_read(grid: Grid, index: int) -> CandidatePlan | None:
    strategy = read_strategy(applied(complete(), grid.values(index))).strategy
    if strategy is None:
        return None
    return CandidatePlan(plan_of(strategy), required_inputs(strategy))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_candidate_equals_the_steps_of_its_set_as_read(count: int) -> None:
    random, valid = Random(count), set()
    for _ in range(12):
        grid = drawn(random, count)
        candidates = Candidates(complete(), grid)
        for index in random.sample(range(grid.size), min(grid.size, 15)):
            wanted = as_read(grid, index)
            assert candidates.candidate(index) == wanted
            valid.add(wanted is not None)
    assert valid == {True, False}


def test_every_two_parameters_are_put_together_as_they_are_read() -> None:
    for lines in combinations(PARAMETERS, 2):
        grid = Grid(
            tuple(
                Parameter.model_validate({"path": path, "from": first, "to": last, "step": step})
                for path, first, last, step in lines
            )
        )
        candidates, index = Candidates(complete(), grid), grid.size - 1
        assert candidates.candidate(index) == as_read(grid, index)


def test_a_number_changed_by_two_objects_is_not_put_together() -> None:
    assert merged((1, (2, 3)), (1, (5, 3)), (4, (2, 3))) == (4, (5, 3))
    with pytest.raises(Overlap):
        merged((1, (2, 3)), (1, (5, 3)), (1, (6, 3)))
    with pytest.raises(Overlap):
        merged((1, (2,)), (1, (5,)), (1, (2, 3)))
