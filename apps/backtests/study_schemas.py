"""Studies as the OpenAPI document has them: what is asked, from the engine's own models, and what
is told.
"""

from typing import Final

from apps.algorithms.step_schemas import plain
from apps.backtests.submissions import STUDY_FIELDS
from apps.core.openapi import (
    COUNT,
    FLAG,
    INTEGER,
    MOMENT,
    NUMBER,
    TEXT,
    Schema,
    array,
    described,
    nullable,
    one_of,
    record,
    ref,
)
from apps.engine.figures.metrics import METRICS
from apps.engine.studies.configs import PERCENTILES, SHOWN

_REF: Final = "#/components/schemas/{model}"
_FIGURE: Final = nullable(NUMBER)
_OBJECTIVE: Final = one_of(list(METRICS))
_TRIED: Final[Schema] = {
    "type": "object", "additionalProperties": NUMBER, "description": "Values by path.",
}  # fmt: skip
_SHOWN: Final = record(dict.fromkeys(SHOWN, _FIGURE))
_SPREAD: Final = record(dict.fromkeys(["mean", *(f"p{p}" for p in PERCENTILES)], NUMBER))
_RESULTS: Final = {
    "WalkForwardResults": record(
        {
            "objective": _OBJECTIVE,
            "anchored": FLAG,
            "trainRatio": NUMBER,
            "sets": COUNT,
            "windows": array(
                record(
                    {
                        "parameters": _TRIED,
                        "inSample": ref("WindowResults"),
                        "outOfSample": ref("WindowResults"),
                    }
                )
            ),
            "equity": ref("EquityPoints"),
        }
    ),
    "MonteCarloResults": record(
        {
            "method": TEXT,
            "runs": COUNT,
            "trades": COUNT,
            "blockLength": nullable(COUNT),
            "ruinThreshold": NUMBER,
            "seed": INTEGER,
            "finalEquity": described(nullable(_SPREAD), "None of a shuffle, which cannot move it."),
            "maxDrawdown": described(_SPREAD, "Percent of the running peak."),
            "riskOfRuin": described(NUMBER, "Percent of the paths."),
            "asTraded": record({"finalEquity": NUMBER, "maxDrawdown": NUMBER}),
        }
    ),
    "OptimizationResults": record(
        {
            "objective": _OBJECTIVE,
            "method": TEXT,
            "sets": described(COUNT, "Of the grid."),
            "tried": COUNT,
            "invalid": described(COUNT, "Drawn, but no strategy that can run."),
            "deflation": record(
                {
                    "trials": COUNT,
                    "sharpeRatioDaily": _FIGURE,
                    "expectedMaximum": described(NUMBER, "Of so many trials without any skill."),
                    "deflatedSharpeRatio": described(_FIGURE, "A probability, 0 to 1."),
                    "days": COUNT,
                }
            ),
            "ranking": array(
                record(
                    {
                        "rank": COUNT,
                        "parameters": _TRIED,
                        "objective": _FIGURE,
                        "plateau": described(_FIGURE, "Share of the sets its neighbours beat."),
                        "performance": _SHOWN,
                    }
                )
            ),
        }
    ),
}


def schemas() -> dict[str, Schema]:
    """Every component by its name."""
    found: dict[str, Schema] = {
        "WindowResults": record(
            {"from": MOMENT, "to": MOMENT, "objective": _FIGURE, "performance": _SHOWN}
        ),
        **_RESULTS,
    }
    for field in STUDY_FIELDS.values():
        made = plain(field.model.model_json_schema(ref_template=_REF))
        found |= made.pop("$defs", {})
        found[field.model.__name__] = made
    return found


CONFIG: Final = nullable({"anyOf": [ref(field.model.__name__) for field in STUDY_FIELDS.values()]})
"""What a study was asked, defaults applied."""
RESULTS: Final = nullable({"anyOf": [ref(name) for name in _RESULTS]})
"""What a study tells."""
