"""The OpenAPI schemas of stored results, written by the engine as JSON: metrics, breakdowns,
receipts, and the configurations and results of studies.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.algorithms.serializers import metric_help, plain_schema
from apps.backtests.running.submissions import STUDY_FIELDS
from apps.core.api.resources import Schema, ref
from apps.engine.results import (
    CHARGE_KINDS,
    DAYS,
    LEAST_DAYS,
    METRICS,
    MONTHS,
    MOST_PERIODS,
    REDUCTIONS,
    REJECTIONS,
    WAITS,
    WEEKS,
    YEARS,
    Unit,
)
from apps.engine.studies import PERCENTILES, SHOWN

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
_GROUP: Final[dict[str, Schema]] = {
    "name": {**_TEXT, "description": "The common feature of its trades."},
    "trades": {**_COUNT, "description": "All of them."},
    "winningTrades": {**_COUNT, "description": "With a profit after charges."},
    "losingTrades": {**_COUNT, "description": "With a loss after charges."},
    "winRate": {**_NULLABLE_NUMBER, "description": "Percent of the trades that won or lost."},
    "grossProfit": {**_NUMBER, "description": "Rupees, before charges."},
    "charges": {**_NUMBER, "description": "Rupees."},
    "netProfit": {**_NUMBER, "description": "Rupees, after charges."},
    "averageProfit": {**_NULLABLE_NUMBER, "description": "Rupees of a trade, after charges."},
}
_RESULTS: Final[dict[str, Schema]] = {
    "BacktestPerformance": _record(
        {
            **_metrics(),
            "chargesByKind": {
                **_record(dict.fromkeys(CHARGE_KINDS, _NUMBER)),
                "description": "Rupees.",
            },
            "rejectedSignals": {
                **_record(dict.fromkeys(REJECTIONS, _COUNT)),
                "description": "How many signals for an entry led to none, by reason.",
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
                **_record(
                    {
                        "engineVersion": _INTEGER,
                        "cuts": {**_COUNT, "description": "Histories that were cut short."},
                        "futures": {**_COUNT, "description": "Futures that were shuffled."},
                        "decisions": {
                            **_COUNT,
                            "description": "Entries decided before the last cut.",
                        },
                        "changed": {
                            **_COUNT,
                            "description": "Moments with earlier decisions that changed when later"
                            " bars were removed or shuffled.",
                        },
                        "hash": {**_HASH, "description": "Of the decisions."},
                    }
                ),
                "description": "The certificate of the evidence; absent until that is ready.",
            },
        },
        optional=("coverage", "lookAhead"),
    ),
    "Breakdowns": _record(
        {
            "bySymbol": _array("BreakdownRow"),
            "bySide": _array("BreakdownRow"),
            "byExitReason": _array("BreakdownRow"),
            "byWeekday": _array("BreakdownRow", description="The weekday of the entry."),
            "byDay": _array(
                "Period",
                maxItems=MOST_PERIODS[DAYS],
                description="The newest days that have bars.",
            ),
            "byWeek": _array(
                "Period",
                maxItems=MOST_PERIODS[WEEKS],
                description="The newest weeks, by their Mondays.",
            ),
            "byMonth": _array(
                "Period", maxItems=MOST_PERIODS[MONTHS], description="The newest months."
            ),
            "byYear": _array(
                "Period", maxItems=MOST_PERIODS[YEARS], description="The newest years."
            ),
        },
    ),
    "BreakdownRow": _record(_GROUP),
    "Period": _record(
        {
            **_GROUP,
            "returnPercentage": {
                **_NUMBER,
                "description": "Of equity; the trades ended in it.",
            },
        }
    ),
    "EquityPoints": _array("EquityPoint"),
}


_OBJECTIVE: Final[Schema] = {"type": "string", "enum": list(METRICS)}
_PARAMETERS: Final[Schema] = {
    "type": "object",
    "additionalProperties": _NUMBER,
    "description": "Values by path.",
}
_SHOWN: Final = _record(dict.fromkeys(SHOWN, _NULLABLE_NUMBER))
_SPREAD: Final = _record(dict.fromkeys(["mean", *(f"p{p}" for p in PERCENTILES)], _NUMBER))
_STUDY_RESULTS: Final[dict[str, Schema]] = {
    "WalkForwardResults": _record(
        {
            "objective": _OBJECTIVE,
            "anchored": _FLAG,
            "trainRatio": _NUMBER,
            "sets": {
                **_COUNT,
                "description": "That were tried in each window; of sets that trade alike one.",
            },
            "windows": {
                "type": "array",
                "items": _record(
                    {
                        "parameters": _PARAMETERS,
                        "inSample": ref("WindowResults"),
                        "outOfSample": ref("WindowResults"),
                    }
                ),
            },
            "equity": ref("EquityPoints"),
        }
    ),
    "MonteCarloResults": _record(
        {
            "method": _TEXT,
            "runs": {**_COUNT, "description": "Paths that were drawn."},
            "trades": {**_COUNT, "description": "Of each path."},
            "blockLength": {
                **_COUNT,
                "type": ["integer", "null"],
                "description": "Trades that stayed together; null but for block_bootstrap.",
            },
            "ruinThreshold": {**_NUMBER, "description": "Percent of the capital."},
            "seed": _INTEGER,
            "finalEquity": {
                **_SPREAD,
                "type": ["object", "null"],
                "description": "Mean and percentiles over the paths, in rupees; null for a shuffle,"
                " because a shuffle cannot change it.",
            },
            "maxDrawdown": {
                **_SPREAD,
                "description": "Mean and percentiles over the paths, in percent of the running"
                " peak.",
            },
            "riskOfRuin": {
                **_NUMBER,
                "description": "Percent of the paths that lost `ruinThreshold` or more.",
            },
            "asTraded": {
                **_record({"finalEquity": _NUMBER, "maxDrawdown": _NUMBER}),
                "description": "The same of the trades in their order: rupees and percent.",
            },
        }
    ),
    "OptimizationResults": _record(
        {
            "objective": _OBJECTIVE,
            "method": _TEXT,
            "sets": {**_COUNT, "description": "Of the grid; of sets that trade alike one."},
            "tried": {**_COUNT, "description": "Sets that were simulated."},
            "invalid": {**_COUNT, "description": "Drawn, but no strategy that can run."},
            "deflation": _record(
                {
                    "trials": {**_COUNT, "description": "Sets that have a daily Sharpe ratio."},
                    "sharpeRatioDaily": {
                        **_NULLABLE_NUMBER,
                        "description": "Of the best set, not annualised.",
                    },
                    "expectedMaximum": {
                        **_NUMBER,
                        "description": "The expected best result of this number of trials without"
                        " any skill.",
                    },
                    "deflatedSharpeRatio": {
                        **_NULLABLE_NUMBER,
                        "description": "A probability, 0 to 1.",
                    },
                    "days": _COUNT,
                }
            ),
            "overfitting": {
                **_record(
                    {
                        "sets": {
                            **_COUNT,
                            "description": "The number of compared sets: all, or a random sample"
                            " of more than 10,000.",
                        },
                        "splits": {
                            **_COUNT,
                            "description": "Ways to divide the days into two halves.",
                        },
                        "probability": {
                            **_NUMBER,
                            "description": "Of backtest overfitting (PBO), 0 to 1: how often the"
                            " best set of half of the days is not above the median in the other"
                            " half, by daily Sharpe ratios.",
                        },
                        "probabilityOfLoss": {
                            **_NUMBER,
                            "description": "How often it loses in the other half, 0 to 1.",
                        },
                        "sharpeRatioInSample": {
                            **_NUMBER,
                            "description": "Its median in the half that it was best in, daily.",
                        },
                        "sharpeRatioOutOfSample": {
                            **_NUMBER,
                            "description": "Its median in the other half, daily.",
                        },
                        "degradation": {
                            **_NULLABLE_NUMBER,
                            "description": "The slope of its ratio out of sample over that in"
                            " sample.",
                        },
                    }
                ),
                "type": ["object", "null"],
                "description": "Null for fewer than 20 sets or 16 days.",
            },
            "ranking": {
                "type": "array",
                "items": _record(
                    {
                        "rank": _COUNT,
                        "parameters": _PARAMETERS,
                        "objective": _NULLABLE_NUMBER,
                        "plateau": {
                            **_NULLABLE_NUMBER,
                            "description": "Share of the other results that its neighbours with"
                            " another result are better than.",
                        },
                        "performance": _SHOWN,
                    }
                ),
            },
        },
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
    "anyOf": [{"anyOf": [ref(name) for name in _STUDY_RESULTS]}, {"type": "null"}],
    "description": "The results of a study, by its kind.",
}


def add_results(result: Schema, **_: object) -> Schema:
    """Add the schemas of results and studies to the document. One of drf-spectacular's
    POSTPROCESSING_HOOKS.
    """
    components: dict[str, Any] = result["components"]["schemas"]
    components |= _RESULTS | _STUDY_RESULTS
    components["WindowResults"] = _record(
        {"from": _TIME, "to": _TIME, "objective": _NULLABLE_NUMBER, "performance": _SHOWN}
    )
    components |= study_schemas()
    request = components["BacktestRequest"]["properties"]
    for field in STUDY_FIELDS.values():
        described = request[field.name]["description"]
        request[field.name] = {**ref(field.model.__name__), "description": described}
    return result


def study_schemas() -> dict[str, Schema]:
    """Return the components of study configurations, and the components they refer to."""
    components: dict[str, Schema] = {}
    for field in STUDY_FIELDS.values():
        schema = plain_schema(field.model.model_json_schema(ref_template=_REF))
        components |= schema.pop("$defs", {})
        components[field.model.__name__] = schema
    return components
