"""The OpenAPI schemas of stored results, written by the engine as JSON: metrics, breakdowns,
receipts, and the configurations and results of studies.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.algorithms.serializers import metric_help, plain_schema
from apps.backtests.running.submissions import STUDY_FIELDS
from apps.core.api.resources import Schema, ref
from apps.engine.evidence import FIGURES
from apps.engine.results import (
    CHARGE_KINDS,
    LEAST_DAYS,
    METRICS,
    OPTIONAL_REJECTIONS,
    REDUCTIONS,
    REJECTIONS,
    WAITS,
    Breakdowns,
    Unit,
)
from apps.engine.studies import FINDINGS, schemas_of

_REF: Final = "#/components/schemas/{model}"
_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_FLAG: Final[Schema] = {"type": "boolean"}
_INTEGER: Final[Schema] = {"type": "integer"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_NUMBER: Final[Schema] = {"type": "number"}
_NULLABLE_NUMBER: Final[Schema] = {"type": ["number", "null"]}
_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
_HASH: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _record(fields: Mapping[str, Schema], *, optional: Sequence[str] = ()) -> Schema:
    """Return the schema of an object with all its fields required except the optional ones."""
    required = [name for name in fields if name not in optional]
    return {"type": "object", "properties": dict(fields), "required": required}


def _array(name: str, **more: object) -> Schema:
    return {"type": "array", "items": ref(name), **more}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _metrics() -> dict[str, Schema]:
    """Return each metric with its unit; a metric is null in results of releases without it."""
    schemas: dict[str, Schema] = {}
    for name, metric in METRICS.items():
        text = metric_help(name)
        if metric.annual:
            text += f" Null under {LEAST_DAYS} days."
        kind = _COUNT if metric.unit is Unit.COUNT else _NUMBER
        schemas[name] = {**kind, "type": [kind["type"], "null"], "description": text}
    return schemas


NOTES: Final[Schema] = {"type": "array", "items": _record({"code": _TEXT, "message": _TEXT})}
_RESULTS: Final[dict[str, Schema]] = {
    "BacktestPerformance": _record(
        {
            **_metrics(),
            "chargesByKind": {
                **_record(dict.fromkeys(CHARGE_KINDS, _NUMBER)),
                "description": "Rupees.",
            },
            "rejectedSignals": {
                **_record(
                    dict.fromkeys(REJECTIONS, _COUNT), optional=tuple(sorted(OPTIONAL_REJECTIONS))
                ),
                "description": "How many signals for an entry led to none, by reason. Limits of"
                " the day and cooldowns are there if the algorithm sets them.",
            },
            "reducedEntries": {
                **_record(dict.fromkeys(REDUCTIONS, _COUNT)),
                "description": "Counts of entries smaller than their sizing, keyed by the tightest"
                " limit; absent from results of engine version 12 and before.",
            },
            "waitingExits": {
                **_record(dict.fromkeys(WAITS, _COUNT)),
                "description": "Counts of exits that waited at a locked price, and of their bars in"
                " all; absent from results of engine version 12 and before.",
            },
        },
        optional=("reducedEntries", "waitingExits"),
    )
    | {
        "description": "Figures of a result. A metric that cannot be computed is null, or 0 in a"
        " result without trades; a metric is also null in results of releases without it."
    },
    "Receipt": _record(
        {
            "engineVersion": {**_INTEGER, "description": "Of the rules of the simulation."},
            "configuration": {**_HASH, "description": "Of the steps."},
            "candles": {**_HASH, "description": "The hash of the bars that were read."},
            "rulebook": {
                **_HASH,
                "description": "The hash of the charges, hours and contracts that applied.",
            },
            "result": {
                **_HASH,
                "description": "The hash of the result; equal results have equal hashes.",
            },
            "study": {
                **_HASH,
                "type": ["string", "null"],
                "description": "Of the configuration of a study; null of a plain backtest.",
            },
            "start": {**_INTEGER, "description": "First second of the range, since 1970 in UTC."},
            "end": {**_INTEGER, "description": "First second after the range, since 1970 in UTC."},
            "capital": {**_NUMBER, "description": "Rupees at the start."},
            "seed": {**_INTEGER, "description": "Of random draws."},
            "synthetic": {
                **_TEXTS,
                "description": "Symbols with generated candles; the first of the notes says"
                " so, and `coverage` until when.",
            },
            "coverage": _array(
                "SessionCoverage",
                description=(
                    "The coverage of the range by symbol; absent from results of engine"
                    " version 9 and before."
                ),
            ),
            "notes": NOTES,
            "lookAhead": {
                **ref("LookAheadCertificate"),
                "description": "The certificate of the evidence; absent until that is ready.",
            },
        },
        optional=("coverage", "lookAhead"),
    ),
}


_CONFIGS: Final = [ref(field.model.__name__) for field in STUDY_FIELDS.values()]

# Referenced by the fields of a backtest.
PERFORMANCE: Final = _nullable(ref("BacktestPerformance"))
RECEIPT: Final = _nullable(ref("Receipt"))
BREAKDOWNS: Final = _nullable(ref("Breakdowns"))
STUDY_CONFIG: Final[Schema] = {
    "anyOf": [{"anyOf": _CONFIGS}, {"type": "null"}],
    "description": "Of a study, with all defaults.",
}
STUDY_RESULTS: Final[Schema] = {
    "anyOf": [{"anyOf": [ref(findings.__name__) for findings in FINDINGS]}, {"type": "null"}],
    "description": "The results of a study, by its kind.",
}


def add_results(result: Schema, **_: object) -> Schema:
    """Add the schemas of results and studies to the document. One of drf-spectacular's
    POSTPROCESSING_HOOKS.
    """
    components: dict[str, Any] = result["components"]["schemas"]
    components |= _RESULTS | _typed_schemas()
    components |= study_schemas()
    request = components["BacktestRequest"]["properties"]
    for field in STUDY_FIELDS.values():
        described = request[field.name]["description"]
        request[field.name] = {**ref(field.model.__name__), "description": described}
    return result


def _typed_schemas() -> dict[str, Schema]:
    """Return the components that the engine's types describe: breakdowns, findings of studies, and
    figures of evidence.
    """
    schemas: dict[str, Schema] = plain_schema(
        schemas_of((Breakdowns, *FINDINGS, *FIGURES.values()), _REF)
    )
    del schemas["EquityPoint"]  # a component of its own
    return schemas


def study_schemas() -> dict[str, Schema]:
    """Return the components of study configurations, and the components they refer to."""
    components: dict[str, Schema] = {}
    for field in STUDY_FIELDS.values():
        schema = plain_schema(field.model.model_json_schema(ref_template=_REF))
        components |= schema.pop("$defs", {})
        components[field.model.__name__] = schema
    return components
