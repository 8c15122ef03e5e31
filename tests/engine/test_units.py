"""Numbers leave with the decimals of their units."""

import numpy as np
import pytest

from apps.engine.results.table import METRICS
from apps.engine.results.wire_units import FIELD_UNITS, round_for_wire
from apps.engine.units import DECIMALS, Unit, each_rounded, rounded
from tests.openapi import long_numbers


@pytest.mark.parametrize("unit", list(Unit))
def test_a_sum_of_binary_fractions_shows_no_tail(unit: Unit) -> None:
    number = rounded(0.1 + 0.2, unit)
    assert number == (0.3 if DECIMALS[unit] else 0)
    assert unit.round_all(np.array([0.1 + 0.2])) == [number]


def test_negative_zero_is_never_given() -> None:
    assert str(rounded(-1e-9, Unit.RUPEES)) == "0.0"
    assert str(Unit.RUPEES.round_all(np.array([-1e-9]))[0]) == "0.0"


def test_every_figure_has_the_decimals_of_its_unit() -> None:
    figures = dict.fromkeys(METRICS, 2 / 3)
    wire = round_for_wire(figures)
    assert long_numbers(figures)
    assert long_numbers(wire) == []
    assert wire["netProfit"] == 0.6667
    assert wire["winRate"] == wire["sharpeRatio"] == 0.666667


def test_a_field_without_its_own_unit_has_the_unit_of_its_parent() -> None:
    wire = round_for_wire(
        {"finalEquity": {"p5": 2 / 3}, "parameters": {"a.b": 0.1 + 0.2}, "list": [1 / 3]}
    )
    assert wire == {"finalEquity": {"p5": 0.6667}, "parameters": {"a.b": 0.3}, "list": [0.333333]}
    assert "p5" not in FIELD_UNITS


def test_values_that_are_not_fractions_stay_as_they_are() -> None:
    values = [12, True, "0.30000000000000004", None]
    assert str(round_for_wire({"profit": values})) == str({"profit": values})


def test_a_column_is_rounded_as_its_values_are() -> None:
    """Ties are among them: a number of four decimals and a half is above or below it in binary."""
    dice = np.random.default_rng(1)
    values = np.concatenate(
        [
            dice.normal(0, 1e4, 10_000),
            (dice.integers(-(10**9), 10**9, 10_000) + 0.5) / 1e4,
            dice.integers(-(10**9), 10**9, 1_000) / 1e4,
            10.0 ** dice.uniform(5, 18, 1_000),
            [-0.0, -0.00001, 0.00005],
        ]
    )
    for unit in (Unit.RUPEES, Unit.PERCENT):
        expected = [rounded(value, unit) for value in values.tolist()]
        assert np.array(each_rounded(values, unit)).tobytes() == np.array(expected).tobytes()
