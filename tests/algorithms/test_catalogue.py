"""The catalogue and the validator use one table."""

from typing import Any

import pytest
from pydantic import ValidationError

from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.language.conditions import IndicatorValue
from tests import openapi

# Parameters required beside the least value of a parameter.
BESIDE = {"slowPeriod": {"fastPeriod": 2}}


def row_of(type: str) -> dict[str, Any]:
    return dict(CATALOGUE[type].to_wire())


def read(**indicator: object) -> Any:
    """Parse the operand as a condition does. Raises ValidationError."""
    condition = {"type": "indicator_value", "indicator": indicator, "operator": "above", "value": 1}
    return IndicatorValue.model_validate(condition).indicator


def refused_at(**indicator: object) -> list[object]:
    """Return the fields named by the validator."""
    with pytest.raises(ValidationError) as refusal:
        read(**indicator)
    paths = [fault["loc"] for fault in refusal.value.errors()]
    return [path[-2] if path[-1] == "plain" else path[-1] for path in paths]


def test_values_of_a_row_pass_the_validator() -> None:
    for type in CATALOGUE:
        row, operand = row_of(type), read(type=type)
        fields = {field.alias or name for name, field in operand.__class__.model_fields.items()}
        shown = {parameter["name"] for parameter in row["parameters"]}
        shown |= {"type", "output", "offset", "timeframe", "on"}
        shown |= {"source"} if row["sources"] else set()
        assert fields == shown


def test_the_documented_defaults_apply() -> None:
    for type in CATALOGUE:
        row, operand = row_of(type), read(type=type)
        for item in row["parameters"]:
            (parameter,) = [p for p in CATALOGUE[type].parameters if p.name == item["name"]]
            assert parameter.written(operand.parameters[item["name"]]) == item["default"]
            added = None if parameter.is_added else item["default"]
            assert getattr(operand, item["name"]) == added
        assert operand.output == row["outputs"][0]["name"]
        assert operand.offset == row["offset"]["default"]
        assert operand.source == (row["sources"] or ["close"])[0]


def test_exactly_the_listed_outputs_and_sources_are_accepted() -> None:
    for type in CATALOGUE:
        row = row_of(type)
        for output in row["outputs"]:
            assert read(type=type, output=output["name"]).output == output["name"]
        for timeframe in row["timeframes"]:
            assert read(type=type, timeframe=timeframe).timeframe == timeframe
        for source in row["sources"]:
            assert read(type=type, source=source).source == source
        assert refused_at(type=type, output="other") == ["output"]
        assert refused_at(type=type, timeframe="1m") == ["timeframe"]
        assert refused_at(type=type, source="other") == ["source"]


def test_a_parameter_is_accepted_only_within_its_range() -> None:
    for type in CATALOGUE:
        row = row_of(type)
        for item in [*row["parameters"], {"name": "offset", **row["offset"]}]:
            if item["type"] != "string":
                assert_its_range_holds(type, item)


def assert_its_range_holds(type: str, item: dict[str, Any]) -> None:
    name, low, high = item["name"], item["minimum"], item["maximum"]
    assert low <= item["default"] <= high
    beside = BESIDE.get(name, {})
    assert read(type=type, **{name: low}, **beside)
    step = 1 if item["type"] == "integer" else 0.0001
    for beyond in (low - step, high + step):
        assert name in refused_at(type=type, **{name: beyond}, **beside)
    if item["type"] == "integer":
        assert name in refused_at(type=type, **{name: low + 0.5}, **beside)


def test_a_parameter_with_names_accepts_only_those_names() -> None:
    (_, kind) = row_of("MA")["parameters"]
    assert (kind["type"], kind["default"]) == ("string", "SMA")
    for name in kind["allowedValues"]:
        assert read(type="MA", maType=name).maType == name
    for other in ("MAMA", "ema", 1, None):
        assert refused_at(type="MA", maType=other) == ["maType"]


def test_opposites_of_rows_and_outputs_are_mutual() -> None:
    for type in CATALOGUE:
        row = row_of(type)
        opposite = row_of(row["opposite"])
        assert opposite["opposite"] == type
        opposites = {output["name"]: output["opposite"] for output in opposite["outputs"]}
        assert all(opposites[o["opposite"]] == o["name"] for o in row["outputs"])


def test_the_document_has_every_parameter_and_output() -> None:
    schemas = openapi.document()["components"]["schemas"]
    for name in ("Indicator", "DraftIndicator"):
        fields = schemas[name]["properties"]
        for type in CATALOGUE:
            row = row_of(type)
            assert type in fields["type"]["enum"]
            assert {item["name"] for item in row["parameters"]} <= fields.keys()
            assert {output["name"] for output in row["outputs"]} <= set(fields["output"]["enum"])
            for item in row["parameters"]:
                assert set(item.get("allowedValues", ())) <= set(
                    fields[item["name"]].get("enum", ())
                )
