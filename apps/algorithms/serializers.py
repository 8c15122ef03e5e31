"""Algorithms on the wire."""

import json
from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, Final, cast

from rest_framework import serializers

from apps.algorithms import performance
from apps.algorithms.alerts import ACTIONS, METRICS, Alerts
from apps.algorithms.models import Algorithm, StatusChange, Version
from apps.algorithms.naming import MAX_NAME
from apps.algorithms.services import Changes, Review
from apps.algorithms.steps import STEPS
from apps.core.api.serializers import Body, ChoiceField, FlagField, NumberField, TextField
from apps.core.errors import Fault, InvalidInput
from apps.core.times import wire_time
from apps.engine.figures.fields import round_for_wire
from apps.engine.indicators.indicator import (
    LARGEST_OFFSET,
    LONGER_TIMEFRAMES,
    SOURCES,
    Indicator,
    Output,
    Parameter,
)
from apps.engine.indicators.patterns import Pattern
from apps.engine.language.fields import LARGEST

MAX_FREE_OBJECT: Final = 16 * 1024
SORTS: Final = {
    "name": "name",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "performance.totalTrades": "total_trades",
    "performance.winRate": "win_rate",
    "performance.totalProfit": "total_profit",
    "performance.profitFactor": "profit_factor",
}
"""What a list can be sorted by, and the column of each."""


class StepField(serializers.Field[dict[str, Any], dict[str, Any], dict[str, Any], Any]):
    """A step as it was sent; what is in it is judged by the engine, all steps together."""

    def to_internal_value(self, data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("must be an object")
        return data


class FreeField(StepField):
    """An object with any keys, kept for whoever reads it later."""

    def to_internal_value(self, data: object) -> dict[str, Any]:
        value = super().to_internal_value(data)
        if len(json.dumps(value)) > MAX_FREE_OBJECT:
            raise serializers.ValidationError(f"must take at most {MAX_FREE_OBJECT} bytes")
        return value


class AlgorithmBody(Body):
    """What a client may set; everything is optional, and what the service owns is passed over, so
    that an algorithm that was read can be sent back.
    """

    refuses_unknown = True
    ignored = frozenset(
        {
            "id", "userId", "status", "active", "version", "performance", "walkForwardResults",
            "monteCarloResults", "clonedFrom", "lastExecution", "createdAt", "updatedAt",
            "missingFields", "errors", "warnings",
        }
    )  # fmt: skip

    name = TextField(required=False, max_length=MAX_NAME)
    description = TextField(
        required=False, allow_null=True, allow_blank=True, lines=True, max_length=2000
    )
    basicInfo = StepField(required=False, source="basic_info")
    positionSizing = StepField(required=False, source="position_sizing")
    entryConditions = StepField(required=False, source="entry_conditions")
    exitConditions = StepField(required=False, source="exit_conditions")
    riskParameters = StepField(required=False, source="risk_parameters")
    executionSettings = StepField(required=False, source="execution_settings")
    walkForwardConfig = FreeField(required=False, allow_null=True, source="walk_forward_config")
    monteCarloConfig = FreeField(required=False, allow_null=True, source="monte_carlo_config")
    isTemplate = FlagField(required=False, source="is_template")
    isPublic = FlagField(required=False, source="is_public")


def changes_in(data: Any) -> Changes:
    """What a body asks for; null, where it may stand, means absent. Any: as of `Body.read`."""
    read = AlgorithmBody.read(data)
    return cast(Changes, {name: value for name, value in read.items() if value is not None})


class CloneBody(Body):
    """What a copy may be given; nothing is needed."""

    refuses_unknown = True
    name = TextField(required=False, max_length=MAX_NAME)


def name_in(data: Any) -> str | None:
    """The name a copy is to have. Any: as of `Body.read`."""
    name: str | None = CloneBody.read(data).get("name")
    return name


class AlertsBody(Body):
    refuses_unknown = True
    alerts = StepField()


class MetricsBody(Body):
    """The metrics that an alert may watch."""

    refuses_unknown = True
    maxDrawdown = StepField(required=False)
    profitFactor = StepField(required=False)
    winRate = StepField(required=False)


class AlertBody(Body):
    refuses_unknown = True
    threshold = NumberField(least=0, most=LARGEST)
    action = ChoiceField(choices=ACTIONS)


def alerts_in(data: Any) -> Alerts:
    """All alerts of a body; raises InvalidInput with every fault. Any: as of `Body.read`."""
    sent: dict[str, Any] = AlertsBody.read(data)["alerts"]
    faults: list[Fault] = []
    _read_at("alerts", MetricsBody, sent, faults)
    alerts = {
        metric: _read_at(f"alerts.{metric}", AlertBody, alert, faults)
        for metric, alert in sent.items()
        if metric in METRICS and isinstance(alert, dict)
    }
    if faults:
        raise InvalidInput(*faults)
    return cast(Alerts, alerts)


def _read_at(path: str, body: type[Body], data: Any, faults: list[Fault]) -> dict[str, Any]:
    """Read an object that stands at this path; what is wrong with it joins the `faults`."""
    try:
        return body.read(data)
    except InvalidInput as refusal:
        faults += [replace(fault, field=f"{path}.{fault.field}") for fault in refusal.faults]
        return {}


def algorithm_out(algorithm: Algorithm) -> dict[str, object]:
    return {
        "id": algorithm.pk,
        "userId": algorithm.owner_id,
        "name": algorithm.name,
        "description": algorithm.description,
        "status": algorithm.status,
        "active": algorithm.active,
        "version": algorithm.version,
        "basicInfo": algorithm.basic_info,
        "positionSizing": algorithm.position_sizing,
        "entryConditions": algorithm.entry_conditions,
        "exitConditions": algorithm.exit_conditions,
        "riskParameters": algorithm.risk_parameters,
        "executionSettings": algorithm.execution_settings,
        "performance": round_for_wire(performance.in_order(algorithm.performance)),
        "walkForwardConfig": algorithm.walk_forward_config,
        "walkForwardResults": round_for_wire(algorithm.walk_forward_results),
        "monteCarloConfig": algorithm.monte_carlo_config,
        "monteCarloResults": round_for_wire(algorithm.monte_carlo_results),
        "isTemplate": algorithm.is_template,
        "isPublic": algorithm.is_public,
        "clonedFrom": algorithm.cloned_from_id,
        "lastExecution": round_for_wire(algorithm.last_execution),
        "createdAt": wire_time(algorithm.created_at),
        "updatedAt": wire_time(algorithm.updated_at),
    }


def item_out(row: Mapping[str, Any]) -> dict[str, object]:
    """One row of a list: `services.LISTED`, under its wire names."""
    return {
        "id": row["id"],
        "name": row["name"],
        "status": row["status"],
        "active": row["active"],
        "strategyType": row["strategy_type"],
        "timeframe": row["timeframe"],
        "symbols": row["symbols"] or [],
        "performance": round_for_wire(
            {
                "totalTrades": row["total_trades"],
                "winRate": row["win_rate"],
                "totalProfit": row["total_profit"],
                "profitFactor": row["profit_factor"],
            }
        ),
        "createdAt": wire_time(row["created_at"]),
        "updatedAt": wire_time(row["updated_at"]),
    }


def template_out(row: Mapping[str, Any]) -> dict[str, object]:
    """One row of `services.SHOWN`; who made it is told by name alone."""
    return {
        **item_out(row),
        "description": row["description"],
        "owner": row["owner__name"],
        "isPublic": row["is_public"],
        **{wire: row[column] for wire, column in STEPS.items()},
    }


def performance_out(algorithm: Algorithm) -> dict[str, object]:
    return {
        "performance": round_for_wire(performance.in_order(algorithm.performance)),
        "lastUpdated": wire_time(algorithm.performance_at or algorithm.created_at),
    }


def alerts_out(algorithm: Algorithm) -> dict[str, object]:
    return {"alerts": algorithm.alerts}


def change_out(change: StatusChange) -> dict[str, object]:
    return {
        "from": change.before,
        "to": change.after,
        "by": change.actor,
        "reason": change.reason,
        "at": wire_time(change.at),
    }


def indicator_out(row: Indicator) -> dict[str, object]:
    """One row of the catalogue. Of outputs and sources the first is the default; `opposite` is
    what takes a place on the short side of an algorithm that trades both; `timeframes` may be named
    where they are longer than the algorithm's.
    """
    return {
        "type": row.type,
        "description": row.description,
        "parameters": [_parameter_out(parameter) for parameter in row.parameters],
        "outputs": [_indicator_output_out(output) for output in row.outputs],
        "sources": list(SOURCES) if row.has_source else [],
        "offset": {"type": "integer", "default": 0, "minimum": 0, "maximum": LARGEST_OFFSET},
        "opposite": row.opposite,
        "timeframes": list(LONGER_TIMEFRAMES),
    }


def pattern_out(row: Pattern) -> dict[str, object]:
    """One candle pattern; one without `directions` says nothing of direction."""
    return {
        "pattern": row.name,
        "description": row.description,
        "directions": list(row.directions),
        "opposite": row.opposite,
    }


def _parameter_out(parameter: Parameter) -> dict[str, object]:
    if parameter.names:
        return {
            "name": parameter.name,
            "type": "string",
            "default": parameter.written(parameter.default),
            "allowedValues": [name for name, _ in parameter.names],
        }
    return {
        "name": parameter.name,
        "type": "integer" if parameter.is_whole else "number",
        "default": parameter.default,
        "minimum": parameter.low,
        "maximum": parameter.high,
    }


def _indicator_output_out(output: Output) -> dict[str, object]:
    low, high = output.range
    return {
        "name": output.name,
        "mirror": output.mirror.value,
        "opposite": output.opposite,
        "minimum": low if isfinite(low) else None,
        "maximum": high if isfinite(high) else None,
    }


def version_out(version: Version) -> dict[str, object]:
    """One version; the steps stand where the algorithm itself shows them."""
    return {
        "version": version.number,
        "current": version.number == version.algorithm.version,
        **{name: version.configuration[name] for name in STEPS},
        "createdAt": wire_time(version.created_at),
    }


def review_out(review: Review) -> dict[str, object]:
    coverage = [coverage.to_wire() for coverage in review.coverage]
    return {"valid": review.valid, **_remarks(review), "coverage": coverage}


def saved_out(algorithm: Algorithm, review: Review) -> dict[str, object]:
    """The algorithm, and beside its own fields what it lacks and what is probably not meant."""
    return {**algorithm_out(algorithm), **_remarks(review)}


def _remarks(review: Review) -> dict[str, object]:
    return {
        "missingFields": list(review.missing),
        "errors": [_remark(fault) for fault in review.errors],
        "warnings": [_remark(fault) for fault in review.warnings],
    }


def _remark(fault: Fault) -> dict[str, object]:
    return {"field": fault.field, "message": fault.message}
