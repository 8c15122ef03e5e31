"""What the catalogue shows and what the validator takes are one table."""

from typing import Any

import pytest
from pydantic import ValidationError

from apps.algorithms.serializers import indicator_out
from apps.engine.conditions import IndicatorValue
from apps.engine.indicators import CATALOGUE

ROWS = pytest.mark.parametrize("type", list(CATALOGUE))
# What has to stand beside the least value of a parameter.
BESIDE = {"slowPeriod": {"fastPeriod": 2}}


def row_of(type: str) -> dict[str, Any]:
    return indicator_out(CATALOGUE[type])


def read(**indicator: object) -> Any:
    """The operand as a condition takes it; raises ValidationError."""
    condition = {
        "type": "indicator_value", "indicator": indicator, "operator": "above", "value": 1,
    }  # fmt: skip
    return IndicatorValue.model_validate(condition).indicator


def refused_at(**indicator: object) -> list[object]:
    """The fields the validator names."""
    with pytest.raises(ValidationError) as refusal:
        read(**indicator)
    return [place for fault in refusal.value.errors() for place in fault["loc"][-1:]]


@ROWS
def test_what_a_row_shows_is_what_the_validator_takes(type: str) -> None:
    row, operand = row_of(type), read(type=type)
    fields = {field.alias or name for name, field in operand.__class__.model_fields.items()}
    shown = {parameter["name"] for parameter in row["parameters"]} | {"type", "output", "offset"}
    assert fields == shown | ({"source"} if row["sources"] else set())


@ROWS
def test_the_defaults_are_the_ones_that_apply(type: str) -> None:
    row, operand = row_of(type), read(type=type)
    assert operand.parameters == {item["name"]: item["default"] for item in row["parameters"]}
    assert operand.output == row["outputs"][0]["name"]
    assert operand.offset == row["offset"]["default"]
    assert operand.source == (row["sources"] or ["close"])[0]


@ROWS
def test_every_output_and_source_is_taken_and_no_other(type: str) -> None:
    row = row_of(type)
    for output in row["outputs"]:
        assert read(type=type, output=output["name"]).output == output["name"]
    for source in row["sources"]:
        assert read(type=type, source=source).source == source
    assert refused_at(type=type, output="other") == ["output"]
    assert refused_at(type=type, source="other") == ["source"]


@ROWS
def test_a_parameter_is_taken_within_its_range_alone(type: str) -> None:
    for item in [*row_of(type)["parameters"], {"name": "offset", **row_of(type)["offset"]}]:
        name, low, high = item["name"], item["minimum"], item["maximum"]
        assert low <= item["default"] <= high
        beside = BESIDE.get(name, {})
        assert read(type=type, **{name: low}, **beside)
        step = 1 if item["type"] == "integer" else 0.0001
        for beyond in (low - step, high + step):
            assert name in refused_at(type=type, **{name: beyond}, **beside)
        if item["type"] == "integer":
            assert name in refused_at(type=type, **{name: low + 0.5}, **beside)


@ROWS
def test_what_takes_a_place_on_the_short_side_is_in_the_catalogue(type: str) -> None:
    row = row_of(type)
    assert row_of(row["opposite"])["opposite"] == type
    opposites = {output["name"]: output["opposite"] for output in row["outputs"]}
    assert all(opposites[other] == name for name, other in opposites.items())
