"""The form for overriding the algorithm's own values: symbols, timeframe, costs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.algorithms.serializers import step_refs
from apps.algorithms.services import Configuration
from apps.backtests.services import OVERRIDES
from apps.console.schema_forms import FormNode, leaf_of, property_of, read_text

_STEP_REFS = step_refs()


def read_overrides(typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the filled-in values, in the types of the steps' schemas."""
    return {
        name: read_text(property_of(_STEP_REFS[step], field), text)
        for name, (step, field) in OVERRIDES.items()
        if (text := typed.get(name, "").strip())
    }


def override_form(overrides: Mapping[str, Any], steps: Configuration) -> list[FormNode]:
    """Return a field for each override, filled in; an empty field shows the algorithm's value."""
    nodes = []
    for name, (step, field) in OVERRIDES.items():
        schema = property_of(_STEP_REFS[step], field)
        own = leaf_of(name, schema, (steps.get(step) or {}).get(field))
        node = leaf_of(name, schema, overrides.get(name))
        nodes.append(replace(node, default=own.shown_value or own.default, is_required=True))
    return nodes
