"""What the OpenAPI document says of /api/trading/algorithms and what belongs to algorithms."""

from typing import Any, Final

from apps.algorithms import performance, serializers, step_schemas
from apps.algorithms.alerts import ACTIONS, METRICS
from apps.algorithms.lifecycle import LISTED, Status
from apps.algorithms.steps import STEPS, STRATEGY_TYPES
from apps.core.errors import Code
from apps.core.openapi import (
    COUNT,
    FLAG,
    ID,
    ID_SHOWN,
    IF_MATCH,
    INTEGER,
    MOMENT,
    MOMENT_SHOWN,
    NUMBER,
    OBJECT,
    PAGED,
    TEXT,
    Answer,
    Operation,
    Schema,
    Sent,
    array,
    body_schema,
    described,
    nullable,
    one_of,
    page_of,
    page_shown,
    place,
    query,
    record,
    ref,
    sorted_by,
)
from apps.engine.candles import TIMEFRAMES
from apps.engine.indicators import SOURCES, Mirror

_TAG: Final = "algorithms"
_ID: Final = place("algorithm_id", "The algorithm.")
_GONE: Final = {404: (Code.ALGORITHM_NOT_FOUND,)}
_WRITE: Final = {**_GONE, 409: (Code.CONFLICT,), 412: (Code.CONFLICT,)}
_DRAFT_STEPS: Final = step_schemas.step_refs(draft=True)
_FREE: Final = described(OBJECT, "Any keys, up to 16 KiB as JSON.")
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
    "walkForwardResults": array(OBJECT),
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

SCHEMAS: Final[dict[str, Schema]] = {
    **step_schemas.schemas(),
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
    "Review": record(
        {
            "valid": FLAG,
            "missingFields": array(one_of(list(STEPS))),
            "errors": _REMARKS,
            "warnings": _REMARKS,
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
                record(
                    {
                        "name": TEXT,
                        "type": one_of(("integer", "number")),
                        "default": NUMBER,
                        "minimum": NUMBER,
                        "maximum": NUMBER,
                    }
                )
            ),
            "outputs": array(
                record(
                    {
                        "name": TEXT,
                        "mirror": one_of([mirror.value for mirror in Mirror]),
                        "opposite": TEXT,
                    }
                )
            ),
            "sources": array(one_of(SOURCES)),
            "offset": record(
                {"type": TEXT, "default": INTEGER, "minimum": INTEGER, "maximum": INTEGER}
            ),
            "opposite": TEXT,
            "timeframes": array(one_of(list(TIMEFRAMES))),
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
_NAME_SHOWN: Final = "Crossing averages"
_PERFORMANCE_SHOWN: Final = performance.new()
ALGORITHM_SHOWN: Final[dict[str, object]] = {
    "id": ID_SHOWN,
    "userId": ID_SHOWN,
    "name": _NAME_SHOWN,
    "description": "",
    "status": "stopped",
    "active": False,
    "version": 1,
    **STEPS_SHOWN,
    "performance": _PERFORMANCE_SHOWN,
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
_ITEM_SHOWN: Final = {
    **{name: ALGORITHM_SHOWN[name] for name in _ITEM if name in ALGORITHM_SHOWN},
    "strategyType": "momentum",
    "timeframe": "5m",
    "symbols": ["NSE:RELIANCE"],
    "performance": {"totalTrades": 0, "winRate": 0, "totalProfit": 0, "profitFactor": 0},
}
_ALERTS_SHOWN: Final = {"alerts": {"maxDrawdown": {"threshold": 10, "action": "pause_algorithm"}}}
_ETAG: Final = ("ETag",)
_BODY: Final = {"anyOf": [ref("CompleteAlgorithm"), ref("AlgorithmDraft")]}


def answered(text: str) -> Answer:
    """The algorithm with its ETag."""
    return Answer(text, ref("Algorithm"), ALGORITHM_SHOWN, _ETAG)


LIST: Final = Operation(
    name="listAlgorithms",
    summary="The caller's algorithms",
    tag=_TAG,
    parameters=(
        *PAGED,
        query("status", one_of(LISTED), "Of this status alone."),
        query("strategyType", one_of(STRATEGY_TYPES), "Of this strategy type alone."),
        *sorted_by(list(serializers.SORTS)),
    ),
    answers={200: Answer("One page.", page_of(ref("AlgorithmItem")), page_shown(_ITEM_SHOWN))},
)
CREATE: Final = Operation(
    name="createAlgorithm",
    summary="Describe an algorithm",
    text="Complete it is `stopped`, ready to run; otherwise a `draft`, for which {} is enough.",
    tag=_TAG,
    idempotent=True,
    body=Sent(_BODY, {"name": _NAME_SHOWN, **STEPS_SHOWN}, required=False),
    answers={201: answered("The algorithm.")},
)
READ: Final = Operation(
    name="readAlgorithm",
    summary="One algorithm",
    tag=_TAG,
    parameters=(_ID,),
    answers={200: answered("The algorithm.")},
    refusals=_GONE,
)
UPDATE: Final = Operation(
    name="updateAlgorithm",
    summary="Change an algorithm",
    text="PUT and PATCH alike: a field or step that is sent replaces, what is absent stays. "
    "403 while it is active or paused.",
    tag=_TAG,
    parameters=(_ID, IF_MATCH),
    body=Sent(_BODY, {"name": _NAME_SHOWN, **STEPS_SHOWN}, required=False),
    answers={200: answered("The algorithm as it is now.")},
    refusals=_WRITE,
    elsewhere={"PUT": "putAlgorithm"},
)
ARCHIVE: Final = Operation(
    name="archiveAlgorithm",
    summary="Delete an algorithm",
    text="403 while it is active or paused.",
    tag=_TAG,
    parameters=(_ID, IF_MATCH),
    answers={204: Answer("It is archived.")},
    refusals=_WRITE,
)
CLONE: Final = Operation(
    name="cloneAlgorithm",
    summary="Copy an algorithm of one's own, or a public template",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=Sent(ref("AlgorithmCopy"), {"name": "Crossing averages, faster"}, required=False),
    answers={201: answered("The copy.")},
    refusals=_GONE,
)
VALIDATE: Final = Operation(
    name="validateAlgorithm",
    summary="What an algorithm lacks, and what is probably not meant",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    answers={
        200: Answer(
            "The findings; nothing is changed.",
            ref("Review"),
            {"valid": True, "missingFields": [], "errors": [], "warnings": []},
        )
    },
    refusals=_GONE,
)
VERSIONS: Final = Operation(
    name="listVersions",
    summary="Every configuration it has had, newest first",
    tag=_TAG,
    parameters=(_ID, *PAGED),
    answers={
        200: Answer(
            "One page.",
            page_of(ref("Version")),
            page_shown({"version": 1, "current": True, **STEPS_SHOWN, "createdAt": MOMENT_SHOWN}),
        )
    },
    refusals=_GONE,
)
HISTORY: Final = Operation(
    name="listStatusChanges",
    summary="Every change of its status, newest first",
    tag=_TAG,
    parameters=(_ID, *PAGED),
    answers={
        200: Answer(
            "One page.",
            page_of(ref("StatusChange")),
            page_shown(
                {
                    "from": None,
                    "to": "stopped",
                    "by": ID_SHOWN,
                    "reason": "created",
                    "at": MOMENT_SHOWN,
                }
            ),
        )
    },
    refusals=_GONE,
)
READ_PERFORMANCE: Final = Operation(
    name="readPerformance",
    summary="What an algorithm has achieved",
    text="A ratio with nothing to divide by is null; all are 0 before the first trade.",
    tag=_TAG,
    parameters=(_ID,),
    answers={
        200: Answer(
            "The record.",
            ref("PerformanceRecord"),
            {"performance": _PERFORMANCE_SHOWN, "lastUpdated": MOMENT_SHOWN},
        )
    },
    refusals=_GONE,
    elsewhere={"/api/trading/algorithms/{algorithm_id}/performance": "readTradingPerformance"},
)
READ_ALERTS: Final = Operation(
    name="readAlerts",
    summary="When the owner is told, or the algorithm paused",
    tag=_TAG,
    parameters=(_ID,),
    answers={200: Answer("At most one alert a metric.", ref("Alerts"), _ALERTS_SHOWN)},
    refusals=_GONE,
)
SET_ALERTS: Final = Operation(
    name="setAlerts",
    summary="Replace all alerts",
    tag=_TAG,
    parameters=(_ID,),
    body=Sent(ref("Alerts"), _ALERTS_SHOWN),
    answers={200: Answer("The alerts as they are now.", ref("Alerts"), _ALERTS_SHOWN)},
    refusals={**_GONE, 409: (Code.CONFLICT,)},
)
TEMPLATES: Final = Operation(
    name="listTemplates",
    summary="Algorithms to copy: public ones of all users, and one's own",
    tag=_TAG,
    parameters=PAGED,
    answers={
        200: Answer(
            "One page.",
            page_of(ref("Template")),
            page_shown(
                {
                    **_ITEM_SHOWN,
                    "description": "",
                    "owner": "A Trader",
                    "isPublic": True,
                    **STEPS_SHOWN,
                }
            ),
        )
    },
)
INDICATORS: Final = Operation(
    name="listIndicators",
    summary="The catalogue of indicators",
    text="Of outputs and sources the first is the default. On the short side of an algorithm that "
    "trades both, `opposite` takes its place, and a level becomes its `mirror`.",
    tag=_TAG,
    parameters=PAGED,
    answers={
        200: Answer(
            "One page.",
            page_of(ref("CatalogueIndicator")),
            page_shown(
                {
                    "type": "SMA",
                    "description": "Simple moving average",
                    "parameters": [
                        {
                            "name": "period",
                            "type": "integer",
                            "default": 20,
                            "minimum": 2,
                            "maximum": 1000,
                        }
                    ],
                    "outputs": [{"name": "value", "mirror": "same", "opposite": "value"}],
                    "sources": list(SOURCES),
                    "offset": {"type": "integer", "default": 0, "minimum": 0, "maximum": 500},
                    "opposite": "SMA",
                    "timeframes": list(TIMEFRAMES),
                }
            ),
        )
    },
)
