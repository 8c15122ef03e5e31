"""The types of figures list what is computed, and describe it."""

import pytest

from apps.core.api.resources import schemas_of
from apps.engine import BarExplanation, PositionExplanation
from apps.engine.evidence import EvidenceSections
from apps.engine.evidence.document import SECTIONS
from apps.engine.evidence.figures import FIGURES
from apps.engine.kernel.reasons import CHARGE_KINDS
from apps.engine.results import (
    BacktestPerformance,
    Breakdowns,
    ClosedTrade,
    SimulationReceipt,
)
from apps.engine.results.wire_performance import ChargesByKind
from apps.engine.studies import MonteCarloResults, OptimizationResults, WalkForwardResults
from apps.engine.studies.configs import PERCENTILES, SHOWN
from apps.engine.studies.figures import Percentiles, ShownPerformance

TYPES = (
    BacktestPerformance,
    Breakdowns,
    ClosedTrade,
    SimulationReceipt,
    MonteCarloResults,
    OptimizationResults,
    WalkForwardResults,
    EvidenceSections,
    BarExplanation,
    PositionExplanation,
)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (ShownPerformance, SHOWN),
        (Percentiles, [f"p{percent}" for percent in PERCENTILES]),
        (ChargesByKind, CHARGE_KINDS),
    ],
)
def test_a_type_lists_the_names_of_its_table(kind: type, names: list[str]) -> None:
    assert list(kind.__annotations__) == list(names)


def test_every_section_has_a_type() -> None:
    assert set(FIGURES) == {*SECTIONS, "chargesAsOf"}


def test_no_type_is_a_free_object() -> None:
    schemas = schemas_of(TYPES)
    assert set(schemas) >= {kind.__name__ for kind in TYPES}
    for name, schema in schemas.items():
        assert schema["type"] == "object", name
        assert schema["properties"], name
        assert schema["description"], name
