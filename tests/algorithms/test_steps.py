"""The engine's findings about the steps, in the service's words."""

from apps.algorithms.configuration import to_fault
from apps.core.errors import Fault
from apps.engine.language import strategy


def faults_of(**steps: object) -> dict[str, Fault]:
    """Return every fault and gap of these steps, keyed by path."""
    reading = strategy.read_strategy(steps)
    return {fault.field: to_fault(fault) for fault in (*reading.errors, *reading.incomplete)}


def test_a_null_that_was_sent_is_shown_and_a_missing_field_has_no_value() -> None:
    faults = faults_of(basicInfo={"timeframe": None, "symbols": [None]}, positionSizing={})
    for path in ("basicInfo.timeframe", "basicInfo.symbols[0]"):
        assert faults[path].as_details()["value"] is None
    for path in ("basicInfo.strategyType", "positionSizing.method", "exitConditions"):
        assert "value" not in faults[path].as_details()


def test_a_null_in_place_of_a_kind_is_shown() -> None:
    faults = faults_of(
        exitConditions={"stopLoss": {"type": None}, "takeProfit": None, "stopLos": None}
    )
    assert {path for path, fault in faults.items() if fault.value is None} == {
        "exitConditions.stopLoss.type",
        "exitConditions.takeProfit",
        "exitConditions.stopLos",
    }


def test_a_field_that_a_rule_misses_has_no_value() -> None:
    condition = {"type": "indicator_value", "indicator": {"type": "RSI"}, "operator": "above"}
    entry = {"positionType": "long", "conditions": [condition]}
    fault = faults_of(entryConditions=entry)["entryConditions.conditions[0].value"]
    assert "value" not in fault.as_details()
