"""Neighbours of steps: the changes and their sizes, and that each equals its simulation."""

from typing import Any

import pytest

from apps.engine.evidence.sensitivity import (
    AT_RANDOM,
    NEIGHBOUR_CHANGES,
    Neighbour,
    Sensitivity,
    sensitivity,
    sensitivity_section,
)
from apps.engine.language.strategy import parse
from apps.engine.results.trade_figures import net_profits
from apps.engine.simulation.simulate import History, simulate
from apps.engine.studies.parameters import applied
from tests.benchmarks.random_candles import session_bars
from tests.engine.evidence_inputs import evidence_on
from tests.engine.strategies import sma_cross, strategy

HISTORIES = [History("NSE:TEST", session_bars(4))]
CROSS = strategy(entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]})
STEPS: dict[str, Any] = CROSS.model_dump(mode="json", exclude_none=True, by_alias=True)
FAST = "entryConditions.conditions[0].indicator1.period"
SLOW = "entryConditions.conditions[0].indicator2.period"
STOP = "exitConditions.stopLoss.percentage"


def looked(steps: dict[str, Any] = STEPS, *, seed: int = 1) -> Sensitivity:
    return sensitivity(evidence_on(parse(steps), HISTORIES, seed=seed))


def test_each_neighbour_equals_the_simulation_of_its_own_steps() -> None:
    result = looked()
    ran = [neighbour for neighbour in result.neighbours if neighbour.net is not None]
    for neighbour in [Neighbour({}, net=result.net), *ran[::5]]:
        steps = parse(applied(STEPS, neighbour.values))
        alone = simulate(steps, HISTORIES, start=0, end=2**40, capital=1e6)
        assert neighbour.net == pytest.approx(net_profits(alone.trades).sum())


def test_every_number_is_changed_alone_and_all_of_them_at_random() -> None:
    result = looked()
    paths = {neighbour.path for neighbour in result.neighbours} - {None}
    assert {FAST, STOP} <= paths
    assert "executionSettings.initialCapital" not in paths
    assert result.numbers == result.tried == len(paths)
    assert len(result.neighbours) == len(NEIGHBOUR_CHANGES) * len(paths) + AT_RANDOM
    fast = [neighbour.values[FAST] for neighbour in result.neighbours if neighbour.path == FAST]
    assert fast == [4, 4, 6, 6]
    stop = [neighbour.values[STOP] for neighbour in result.neighbours if neighbour.path == STOP]
    assert stop == pytest.approx([1.6, 1.8, 2.2, 2.4])
    random = [neighbour for neighbour in result.neighbours if neighbour.path is None]
    assert all(len(neighbour.values) == len(paths) for neighbour in random)
    assert {
        neighbour.values["entryConditions.conditions[0].indicator2.period"] for neighbour in random
    } <= set(range(16, 25))


def test_a_decimal_parameter_gets_decimals_even_if_sent_without() -> None:
    result = looked(applied(STEPS, {STOP: 2}))
    stop = [neighbour.values[STOP] for neighbour in result.neighbours if neighbour.path == STOP]
    assert stop == pytest.approx([1.6, 1.8, 2.2, 2.4])


def test_steps_that_are_not_valid_are_counted_and_not_run() -> None:
    steps = applied(STEPS, {"riskParameters.maxOpenPositions": 50})
    result = looked(steps)
    refused = [neighbour for neighbour in result.neighbours if neighbour.net is None]
    assert {neighbour.path for neighbour in refused} >= {"riskParameters.maxOpenPositions"}
    assert len(result.nets) == len(result.neighbours) - len(refused)


def test_a_seed_decides_the_random_neighbours() -> None:
    assert looked().neighbours == looked().neighbours
    assert looked().neighbours != looked(seed=2).neighbours


def test_a_cliff_is_the_tenth_that_costs_most() -> None:
    near = [
        Neighbour({}, "a", 0.1, 90.0),
        Neighbour({}, "b", -0.1, 40.0),
        Neighbour({}, "c", 0.1, 10.0),
        Neighbour({}, "d", 0.2, -50.0),
        Neighbour({}, net=-60.0),
        Neighbour({}, "e", -0.1, None),
    ]
    result = Sensitivity(100.0, 5, 5, near)
    assert result.cliff == near[2]
    assert len(result.distinct) == 5
    assert result.profitable == pytest.approx(3 / 5)
    assert Sensitivity(100.0, 5, 5, near[:1]).cliff is None
    assert Sensitivity(-5.0, 5, 5, near).cliff is None


def test_a_change_that_changes_nothing_to_the_paisa_makes_no_neighbour() -> None:
    near = [
        Neighbour({}, "a", 0.1, 100.004),
        Neighbour({}, "a", -0.1, 100.0),
        Neighbour({}, "b", 0.1, 100.01),
        Neighbour({}, "b", -0.1, -1.0),
        Neighbour({}, "c", 0.1, None),
    ]
    result = Sensitivity(100.0, 3, 3, near)
    assert len(result.nets) == 4
    assert result.distinct == [100.01, -1.0]
    assert result.profitable == 0.5
    assert Sensitivity(100.0, 3, 3, near[:2]).profitable is None


def test_the_figures_say_how_many_neighbours_were_distinct() -> None:
    """A stop of 99 % is never reached, even with a tenth changed."""
    steps = applied(STEPS, {STOP: 99.0})
    section = sensitivity_section(evidence_on(parse(steps), HISTORIES))
    figures: dict[str, Any] = dict(section.figures)
    assert 0 < figures["distinct"] < figures["neighbours"] - figures["invalid"]
    assert f"of {figures['distinct']:,} nearby settings" in section.sentence
