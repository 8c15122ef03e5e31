"""What the OpenAPI document says of /api/trading/algorithms and what belongs to algorithms."""

from typing import Final

from apps.algorithms import serializers
from apps.algorithms.lifecycle import LISTED
from apps.algorithms.schemas import (
    ALERTS_SHOWN,
    ALGORITHM_SHOWN,
    ITEM_SHOWN,
    NAME_SHOWN,
    PERFORMANCE_SHOWN,
    STEPS_SHOWN,
)
from apps.algorithms.steps import STRATEGY_TYPES
from apps.core.errors import Code
from apps.core.openapi import (
    ID_SHOWN,
    IF_MATCH,
    MOMENT_SHOWN,
    NOTHING,
    PAGED,
    Answer,
    Operation,
    Sent,
    array,
    described,
    one_of,
    page_of,
    page_shown,
    place,
    query,
    ref,
    sorted_by,
)
from apps.engine.indicators.indicator import LONGER_TIMEFRAMES, SOURCES
from apps.engine.indicators.patterns import PATTERNS
from apps.market.openapi import COVERAGE_SHOWN

_TAG: Final = "algorithms"
_ID: Final = place("algorithm_id", "The algorithm.")
_GONE: Final = {404: (Code.ALGORITHM_NOT_FOUND,)}
_WRITE: Final = {**_GONE, 409: (Code.CONFLICT,), 412: (Code.CONFLICT,)}
_ETAG: Final = ("ETag",)
_BODY: Final = {"anyOf": [ref("CompleteAlgorithm"), ref("AlgorithmDraft")]}


def answered(text: str) -> Answer:
    """The algorithm with its ETag."""
    return Answer(text, ref("Algorithm"), ALGORITHM_SHOWN, _ETAG)


def saved(text: str) -> Answer:
    """The algorithm with its ETag, what it lacks and what is probably not meant."""
    example = {**ALGORITHM_SHOWN, "missingFields": [], "errors": [], "warnings": []}
    return Answer(text, ref("SavedAlgorithm"), example, _ETAG)


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
    answers={200: Answer("One page.", page_of(ref("AlgorithmItem")), page_shown(ITEM_SHOWN))},
)
CREATE: Final = Operation(
    name="createAlgorithm",
    summary="Describe an algorithm",
    text="Complete it is `stopped`, ready to run; otherwise a `draft`, for which {} is enough.",
    tag=_TAG,
    idempotent=True,
    body=Sent(_BODY, {"name": NAME_SHOWN, **STEPS_SHOWN}, required=False),
    answers={201: saved("The algorithm, what it lacks and what is probably not meant.")},
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
    body=Sent(_BODY, {"name": NAME_SHOWN, **STEPS_SHOWN}, required=False),
    answers={
        200: saved("The algorithm as it is now, what it lacks and what is probably not meant.")
    },
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
    answers={201: saved("The copy, what it lacks and what is probably not meant.")},
    refusals=_GONE,
)
VALIDATE: Final = Operation(
    name="validateAlgorithm",
    summary="What an algorithm lacks, and what is probably not meant",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=NOTHING,
    answers={
        200: Answer(
            "The review; nothing is changed.",
            ref("Review"),
            {
                "valid": True,
                "missingFields": [],
                "errors": [],
                "warnings": [],
                "coverage": [COVERAGE_SHOWN],
            },
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
            {"performance": PERFORMANCE_SHOWN, "lastUpdated": MOMENT_SHOWN},
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
    answers={200: Answer("At most one alert a metric.", ref("Alerts"), ALERTS_SHOWN)},
    refusals=_GONE,
)
SET_ALERTS: Final = Operation(
    name="setAlerts",
    summary="Replace all alerts",
    tag=_TAG,
    parameters=(_ID,),
    body=Sent(ref("Alerts"), ALERTS_SHOWN),
    answers={200: Answer("The alerts as they are now.", ref("Alerts"), ALERTS_SHOWN)},
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
                    **ITEM_SHOWN,
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
    summary="The catalogue of indicators and candle patterns",
    text="Of outputs and sources the first is the default. On the short side of an algorithm that "
    "trades both, `opposite` takes its place, and a level becomes its `mirror`.",
    tag=_TAG,
    parameters=PAGED,
    answers={
        200: Answer(
            "One page.",
            page_of(
                ref("CatalogueIndicator"),
                candlePatterns=described(
                    array(ref("CataloguePattern")), "All of them, on every page."
                ),
            ),
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
                    "outputs": [
                        {
                            "name": "value",
                            "mirror": "same",
                            "opposite": "value",
                            "minimum": None,
                            "maximum": None,
                        }
                    ],
                    "sources": list(SOURCES),
                    "offset": {"type": "integer", "default": 0, "minimum": 0, "maximum": 500},
                    "opposite": "SMA",
                    "timeframes": list(LONGER_TIMEFRAMES),
                },
                candlePatterns=[serializers.pattern_out(PATTERNS["CDLHAMMER"])],
            ),
        )
    },
)
