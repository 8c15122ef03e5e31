"""Algorithms as the OpenAPI document has them: schemas, and the example that it tells."""

from typing import Any, Final

from apps.algorithms import performance, serializers, step_schemas
from apps.algorithms.alerts import ACTIONS, METRICS
from apps.algorithms.lifecycle import Status
from apps.algorithms.steps import STEPS
from apps.algorithms.study_results import MOST_WALK_FORWARDS
from apps.core.openapi import (
    COUNT,
    FLAG,
    FREE,
    ID,
    ID_SHOWN,
    INTEGER,
    MOMENT,
    MOMENT_SHOWN,
    NUMBER,
    OBJECT,
    TEXT,
    Schema,
    array,
    body_schema,
    described,
    nullable,
    one_of,
    record,
    ref,
)
from apps.engine.indicators.indicator import LONGER_TIMEFRAMES, SOURCES, Mirror
from apps.engine.indicators.patterns import BOTH, PATTERNS

_DRAFT_STEPS: Final = step_schemas.step_refs(draft=True)
_FREE: Final = described(FREE, "Any keys, up to 16 KiB as JSON.")
_FIGURE: Final = nullable(NUMBER)
_STATUS: Final = one_of([status.value for status in Status])

_DRAFT: Final = body_schema(
    serializers.AlgorithmBody, **_DRAFT_STEPS, walkForwardConfig=_FREE, monteCarloConfig=_FREE
)
_ITEM: Final[dict[str, Schema]] = {
    "id": ID,
    "name": TEXT,
    "status": _STATUS,
    "active": FLAG,
    "strategyType": nullable(TEXT),
    "timeframe": nullable(TEXT),
    "symbols": array(TEXT),
    "performance": record(
        {
            "totalTrades": COUNT,
            "winRate": _FIGURE,
            "totalProfit": NUMBER,
            "profitFactor": _FIGURE,
        }
    ),
    "createdAt": MOMENT,
    "updatedAt": MOMENT,
}
_STORED_STEPS: Final = {name: described(OBJECT, "As it was sent.") for name in STEPS}
ALGORITHM: Final[dict[str, Schema]] = {
    "id": ID,
    "userId": ID,
    "name": TEXT,
    "description": TEXT,
    "status": _STATUS,
    "active": FLAG,
    "version": INTEGER,
    **_STORED_STEPS,
    "performance": ref("Performance"),
    "walkForwardConfig": nullable(OBJECT),
    "walkForwardResults": described(
        array(OBJECT), f"As of its backtest, newest last; {MOST_WALK_FORWARDS} are kept."
    ),
    "monteCarloConfig": nullable(OBJECT),
    "monteCarloResults": nullable(OBJECT),
    "isTemplate": FLAG,
    "isPublic": FLAG,
    "clonedFrom": nullable(ID),
    "lastExecution": nullable(OBJECT),
    "createdAt": MOMENT,
    "updatedAt": MOMENT,
}
"""An algorithm as it answers."""
_REMARKS: Final = array(record({"field": TEXT, "message": TEXT}))
_REVIEW: Final[dict[str, Schema]] = {
    "missingFields": described(array(one_of(list(STEPS))), "The steps that are not complete."),
    "errors": described(_REMARKS, "What these steps lack, by dotted path."),
    "warnings": described(_REMARKS, "What can be run, and is probably not meant."),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "AlgorithmDraft": {
        **_DRAFT,
        "description": "Whatever is known so far: any step, or any part of one, may be missing.",
    },
    "CompleteAlgorithm": {
        **_DRAFT,
        "description": "All steps, all they need: what is stored is `stopped`, ready to run.",
        "properties": _DRAFT["properties"] | step_schemas.step_refs(draft=False),
        "required": list(STEPS),
    },
    "AlgorithmCopy": body_schema(serializers.CloneBody),
    "Algorithm": record(ALGORITHM),
    "AlgorithmItem": record(_ITEM),
    "Template": record(
        {**_ITEM, "description": TEXT, "owner": TEXT, "isPublic": FLAG, **_STORED_STEPS}
    ),
    "Version": record({"version": INTEGER, "current": FLAG, **_STORED_STEPS, "createdAt": MOMENT}),
    "StatusChange": record(
        {"from": nullable(_STATUS), "to": _STATUS, "by": TEXT, "reason": TEXT, "at": MOMENT}
    ),
    "SavedAlgorithm": record({**ALGORITHM, **_REVIEW}),
    "Review": record(
        {
            "valid": FLAG,
            **_REVIEW,
            "coverage": described(
                array(ref("SessionCoverage")),
                "History that is held of each symbol, from its first day to yesterday; empty where"
                " the algorithm is not valid.",
            ),
        }
    ),
    "Performance": record(dict.fromkeys(performance.BEFORE_THE_FIRST_TRADE, _FIGURE)),
    "PerformanceRecord": record({"performance": ref("Performance"), "lastUpdated": MOMENT}),
    "Alerts": {
        **record(
            {
                "alerts": {
                    "type": "object",
                    "properties": dict.fromkeys(METRICS, ref("Alert")),
                    "additionalProperties": False,
                }
            }
        ),
        "additionalProperties": False,
    },
    "Alert": body_schema(serializers.AlertBody) | {"description": f"Does one of {ACTIONS}."},
    "CatalogueIndicator": record(
        {
            "type": TEXT,
            "description": TEXT,
            "parameters": array(
                {
                    "anyOf": [
                        record(
                            {
                                "name": TEXT,
                                "type": one_of(("integer", "number")),
                                "default": NUMBER,
                                "minimum": NUMBER,
                                "maximum": NUMBER,
                            }
                        ),
                        record(
                            {
                                "name": TEXT,
                                "type": one_of(("string",)),
                                "default": TEXT,
                                "allowedValues": array(TEXT),
                            }
                        ),
                    ]
                }
            ),
            "outputs": array(
                record(
                    {
                        "name": TEXT,
                        "mirror": one_of([mirror.value for mirror in Mirror]),
                        "opposite": TEXT,
                        "minimum": described(nullable(NUMBER), "No value is below it."),
                        "maximum": described(nullable(NUMBER), "No value is above it."),
                    }
                )
            ),
            "sources": array(one_of(SOURCES)),
            "offset": record(
                {"type": TEXT, "default": INTEGER, "minimum": INTEGER, "maximum": INTEGER}
            ),
            "opposite": TEXT,
            "timeframes": array(one_of(LONGER_TIMEFRAMES)),
        }
    ),
    "CataloguePattern": record(
        {
            "pattern": one_of(list(PATTERNS)),
            "description": TEXT,
            "directions": described(
                array(one_of(BOTH)), "That it can have; none: it says nothing of direction."
            ),
            "opposite": one_of(list(PATTERNS)),
        }
    ),
}

STEPS_SHOWN: Final[dict[str, Any]] = {
    "basicInfo": {"strategyType": "momentum", "timeframe": "5m", "symbols": ["NSE:RELIANCE"]},
    "positionSizing": {"method": "risk_based", "riskPercentage": 1},
    "entryConditions": {
        "positionType": "both",
        "conditions": [
            {
                "type": "indicator_indicator",
                "operator": "crosses_above",
                "indicator1": {"type": "EMA", "period": 9},
                "indicator2": {"type": "EMA", "period": 21},
            }
        ],
    },
    "exitConditions": {
        "stopLoss": {"type": "percentage", "percentage": 0.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
    },
    "riskParameters": {"maxPositionSize": 500000, "maxDailyLoss": 20000, "maxOpenPositions": 1},
    "executionSettings": {"mode": "paper", "exchange": "NSE", "orderType": "market"},
}
"""The steps of a complete algorithm; Any: JSON of many shapes."""
NAME_SHOWN: Final = "Crossing averages"
PERFORMANCE_SHOWN: Final = performance.new()
ALGORITHM_SHOWN: Final[dict[str, object]] = {
    "id": ID_SHOWN,
    "userId": ID_SHOWN,
    "name": NAME_SHOWN,
    "description": "",
    "status": "stopped",
    "active": False,
    "version": 1,
    **STEPS_SHOWN,
    "performance": PERFORMANCE_SHOWN,
    "walkForwardConfig": None,
    "walkForwardResults": [],
    "monteCarloConfig": None,
    "monteCarloResults": None,
    "isTemplate": False,
    "isPublic": False,
    "clonedFrom": None,
    "lastExecution": None,
    "createdAt": MOMENT_SHOWN,
    "updatedAt": MOMENT_SHOWN,
}
ITEM_SHOWN: Final = {
    **{name: ALGORITHM_SHOWN[name] for name in _ITEM if name in ALGORITHM_SHOWN},
    "strategyType": "momentum",
    "timeframe": "5m",
    "symbols": ["NSE:RELIANCE"],
    "performance": {"totalTrades": 0, "winRate": 0, "totalProfit": 0, "profitFactor": 0},
}
ALERTS_SHOWN: Final = {"alerts": {"maxDrawdown": {"threshold": 10, "action": "pause_algorithm"}}}
