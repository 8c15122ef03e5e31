"""A set's strategy, and its script, put together of parts, are those that are read anew."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from apps.engine.errors import IncompleteStrategy
from apps.engine.language.strategy import parse, read
from apps.engine.studies.grid import applied
from apps.engine.studies.scripts import Scripts, script_of
from apps.engine.studies.strategies import Strategies
from tests.engine.steps import complete, without

MACD = {"type": "MACD", "fastPeriod": 12, "slowPeriod": 26, "signalPeriod": 9}
HOURS = {"type": "time_window", "from": "09:30", "to": "15:00"}
FALLING = {
    "type": "indicator_value", "indicator": {"type": "ATR", "period": 14, "offset": 2},
    "operator": "falling", "candles": 3,
}  # fmt: skip
LATER = {
    "type": "indicator_indicator", "operator": "above",
    "indicator1": {**MACD, "timeframe": "1h"}, "indicator2": {"type": "SMA", "source": "hl2"},
}  # fmt: skip
GROUP = {"type": "group", "logicalOperator": "OR", "conditions": [HOURS, LATER]}
RICH = complete(
    entryConditions__conditions=[
        FALLING,
        {"type": "group", "logicalOperator": "AND", "conditions": [GROUP, FALLING]},
    ],
    exitConditions__conditions=[LATER],
    exitConditions__trailingStop={"enabled": True, "percentage": 1},  # its type is understood
    positionSizing__pyramiding={"enabled": True, "maxEntries": 3},
)
BESIDE = (
    "riskParameters.stopLoss",
    "exitConditions.maxHoldingCandles",
    "riskParameters.maxOpenPositions",
    "exitConditions.stopLoss.points",
    "entryConditions.timeframe",
    "basicInfo.timeframe",
)
"""Places of which not all hold a number, or may hold one."""


def numbers(place: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every path of the steps that leads to a number, and the number."""
    if isinstance(place, dict):
        for name, value in place.items():
            yield from numbers(value, f"{path}.{name}" if path else name)
    elif isinstance(place, list):
        for i, value in enumerate(place):
            yield from numbers(value, f"{path}[{i}]")
    elif isinstance(place, int | float) and not isinstance(place, bool):
        yield path, place


def agree(steps: dict[str, Any], paths: list[str], sets: list[dict[str, float]]) -> int:
    """How many of the sets validate."""
    made, valid = Strategies(steps, paths), 0
    scripts = Scripts(made)
    for values in [*sets, *sets]:  # the second time from what is known
        wanted = read(applied(steps, values)).strategy
        found = made.of(values)
        assert found == wanted, values
        assert scripts.of(values) == (script_of(wanted) if wanted else None), values
        if found is not None and wanted is not None:
            assert found.model_dump(exclude_none=True) == wanted.model_dump(exclude_none=True)
            assert found.model_fields_set == wanted.model_fields_set
            valid += 1
    return valid // 2


@pytest.mark.parametrize("steps", [complete(), RICH, without("riskParameters.stopLoss")])
def test_every_number_changes_what_reading_it_anew_changes(steps: dict[str, Any]) -> None:
    dice = Random(1)
    held = dict(numbers(steps))
    valid = tried = 0
    for size in (1, 1, 2, 3, 4) * 6:
        paths = dice.sample([*held, *BESIDE], size)
        sets = []
        for _ in range(4):
            near = {path: held.get(path, 2) for path in paths}
            changed = {path: value + dice.choice((0, 1, 2, 5)) for path, value in near.items()}
            wrong = {dice.choice(paths): dice.choice((-1, 0, 1e15, 0.5, 1001))}
            sets.append(changed | (wrong if dice.random() < 0.3 else {}))
        valid += agree(steps, paths, sets)
        tried += len(sets)
    assert 0.2 < valid / tried < 0.9


def test_numbers_of_one_object_are_judged_together() -> None:
    fast, slow = (
        f"exitConditions.conditions[0].indicator1.{end}Period" for end in ("fast", "slow")
    )
    sets: list[dict[str, float]] = [{fast: f, slow: s} for f in (5, 20, 30) for s in (10, 20, 40)]
    assert agree(RICH, [fast, slow], sets) == 5


def test_steps_that_do_not_validate_as_they_are_may_with_a_value() -> None:
    """A stop in neither step: sizing by risk needs one, and a value brings it."""
    steps = without("riskParameters.stopLoss", "exitConditions.stopLoss")
    with pytest.raises(IncompleteStrategy):
        parse(steps)
    path = "riskParameters.stopLoss"
    assert agree(steps, [path], [{path: 1.0}, {path: 0}]) == 1
