"""Parameters: their values, their sets in order, their paths into the steps."""

from typing import Any

import pytest

from apps.engine.studies.grid import Grid
from apps.engine.studies.parameters import Parameter, applied
from apps.engine.studies.search_errors import path_errors
from tests.engine.configurations import complete

FAST = "entryConditions.conditions[0].indicator1.period"
STOP = "exitConditions.stopLoss.percentage"


def parameter(path: str, start: float, to: float, step: float) -> Parameter:
    return Parameter.model_validate({"path": path, "from": start, "to": to, "step": step})


def grid(*parameters: Parameter) -> Grid:
    return Grid(parameters)


def errors(*parameters: Parameter, steps: Any = None) -> list[tuple[str, str, object]]:
    errors = path_errors(steps or complete(), parameters)
    return [(error.field, error.message, error.value) for error in errors]


def test_values_are_decimal_and_whole_numbers_stay_whole() -> None:
    made = parameter(STOP, 0.1, 0.35, 0.1)
    assert [made.value(i) for i in range(made.count)] == [0.1, 0.2, 0.3]
    made = parameter(STOP, 1, 2, 0.25)
    assert repr([made.value(i) for i in range(made.count)]) == "[1, 1.25, 1.5, 1.75, 2]"
    assert parameter(STOP, 0, 0.7, 0.1).count == 8  # 0.7 / 0.1 is 6.999999999999999
    assert parameter(STOP, 3, 3, 5).count == 1


def opening_range(timeframe: str | None = None, **settings: object) -> Any:
    """Return steps on bars of five minutes whose close crosses an opening range."""
    steps = complete()
    steps["basicInfo"]["timeframe"] = "5m"
    steps["executionSettings"] |= settings
    steps["entryConditions"]["conditions"] = [
        {
            "type": "indicator_indicator",
            "indicator1": {"type": "PRICE"},
            "operator": "above",
            "indicator2": {"type": "OPENING_RANGE", "minutes": 15, "timeframe": timeframe},
        }
    ]
    return steps


@pytest.mark.parametrize(
    ("steps", "values"),
    [
        (opening_range(), [5, 6, 11, 16]),
        (opening_range("15m"), [5, 16]),
        (opening_range(includeOutOfSession=True), list(range(5, 18))),
    ],
)
def test_of_minutes_that_end_with_the_same_bar_the_first_are_tried(
    steps: Any, values: list[float]
) -> None:
    minutes = parameter("entryConditions.conditions[0].indicator2.minutes", 5, 17, 1)
    stops = parameter(STOP, 1, 2, 0.5)
    made = Grid((minutes, stops), steps)
    assert made.size == 3 * len(values)
    assert [axis.values for axis in made.axes] == [values, [1, 1.5, 2]]
    assert made.values(4) == {minutes.path: values[1], STOP: 1.5}
    assert made.neighbours(0) == [1, 3]


def test_the_first_parameter_changes_slowest() -> None:
    made = grid(parameter("a.b", 1, 2, 1), parameter("c.d", 1, 3, 1))
    assert [tuple(made.values(i).values()) for i in range(made.size)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 2),
        (2, 3),
    ]
    assert list(made.values(4)) == ["a.b", "c.d"]


def test_neighbours_are_one_step_of_one_parameter_away() -> None:
    """The rows hold three each: 0 1 2 / 3 4 5 / 6 7 8."""
    made = grid(parameter("a.b", 1, 3, 1), parameter("c.d", 1, 3, 1))
    assert made.neighbours(4) == [1, 3, 5, 7]
    assert made.neighbours(2) == [1, 5]


def test_shards_are_even_and_have_few_values() -> None:
    made = grid(parameter("a.b", 1, 12, 1), parameter("c.d", 1, 20, 1))
    shards = made.shards(range(made.size), 12)
    assert sorted(i for shard in shards for i in shard) == list(range(made.size))
    for shard in shards:
        first, second = zip(*(made.values(i).values() for i in shard), strict=True)
        assert len(shard) == 20
        assert shard == sorted(shard)
        assert len(set(first)) + len(set(second)) <= 10


def test_shards_of_sets_that_were_drawn_of_a_vast_grid() -> None:
    made = grid(*(parameter(f"a.b{i}", 1, 70, 1) for i in range(10)))
    drawn = made.drawn(500, seed=1)
    shards = made.shards(drawn, 7)
    assert sorted(i for shard in shards for i in shard) == drawn
    assert {len(shard) for shard in shards} <= {71, 72}


def test_sets_are_drawn_once_each_and_the_same_for_a_seed() -> None:
    made = grid(*(parameter(f"a.b{i}", 1, 1000, 1) for i in range(5)))
    drawn = made.drawn(100, seed=7)
    assert len(set(drawn)) == 100
    assert drawn == sorted(drawn) == made.drawn(100, seed=7) != made.drawn(100, seed=8)
    assert list(grid(parameter("a.b", 1, 3, 1)).drawn(100, seed=7)) == [0, 1, 2]


def test_values_are_put_in_a_copy() -> None:
    steps = complete()
    changed = applied(steps, {FAST: 5, STOP: 2.5})
    assert changed == complete(
        entryConditions__conditions__0__indicator1__period=5,
        exitConditions__stopLoss__percentage=2.5,
    )
    assert steps == complete()


def test_good_parameters_have_no_faults() -> None:
    assert errors(parameter(FAST, 5, 30, 5), parameter(STOP, 0.5, 2, 0.5)) == []


def test_an_absent_field_may_be_set() -> None:
    unset = "entryConditions.conditions[1].indicator.offset"
    assert errors(parameter(unset, 0, 5, 1)) == []


def test_a_path_that_leads_nowhere_is_named_with_the_reason() -> None:
    nowhere = ("entryConditions.conditions[7].value", "stopLoss", "a..b", "__class__.x", "a.b\n")
    assert [field for field, *_ in errors(*(parameter(path, 1, 2, 1) for path in nowhere))] == [
        f"parameters[{i}].path" for i in range(len(nowhere))
    ]
    (field, message, value) = errors(parameter("exitConditions.stopLoss.type", 1, 2, 1))[0]
    assert (field, value) == ("parameters[0].path", "exitConditions.stopLoss.type")
    assert message == "exitConditions.stopLoss.type leads to a value that is not a number"
    assert "own" in errors(parameter("executionSettings.initialCapital", 1, 2, 1))[0][1]


def test_a_mistyped_field_is_refused_with_the_name_that_was_meant() -> None:
    message = errors(parameter("exitConditions.stopLoss.percentag", 1, 2, 1))[0][1]
    assert "did you mean percentage?" in message


def test_a_value_that_is_never_valid_is_named() -> None:
    [(field, message, value)] = errors(parameter(STOP, 50, 150, 50))
    assert (field, value) == ("parameters[0].to", 150)
    assert message == f"{STOP} must be at most 100."
    (field, message, value) = errors(parameter(FAST, 5, 6, 0.5))[0]
    assert (field, value) == ("parameters[0].step", 0.5)
    assert message.startswith("5.5 is tried, and ")


def test_values_that_only_do_not_fit_together_are_left_to_the_search() -> None:
    macd = {"type": "MACD", "fastPeriod": 12, "slowPeriod": 26}
    condition = {"type": "indicator_value", "indicator": macd, "operator": "above", "value": 0}
    steps = complete(entryConditions__conditions=[condition])
    indicator = "entryConditions.conditions[0].indicator"
    slow = parameter(f"{indicator}.slowPeriod", 10, 30, 10)
    assert errors(parameter(f"{indicator}.fastPeriod", 5, 25, 10), slow, steps=steps) == []
    assert errors(slow, steps=steps)[0][::2] == ("parameters[0].from", 10)


def test_a_place_has_one_spelling() -> None:
    sent = {"from": 2, "to": 9, "step": 1}
    for index, known in (("[0]", True), ("[00]", False), ("[007]", False), ("[10]", True)):
        path = f"entryConditions.conditions{index}.indicator1.period"
        errors = path_errors(complete(), [Parameter.model_validate({**sent, "path": path})])
        assert ("is not a path" in "".join(error.message for error in errors)) is not known


def test_sets_that_cannot_be_numbered_are_too_many() -> None:
    paths = [f"riskParameters.{n}" for n in ("maxPositionSize", "maxDailyLoss", "stopLoss")]
    many = [parameter(path, 1, 50, 0.01) for path in [*paths, STOP, "riskParameters.takeProfit"]]
    many += [parameter("executionSettings.slippage", 0, 5, 0.001)]
    assert errors(*many)[0][0] == "parameters"
