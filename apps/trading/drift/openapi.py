"""What the OpenAPI document says of drift."""

from typing import Final

from apps.core.errors import Code
from apps.core.openapi import (
    COUNT,
    DATE,
    ID,
    MOMENT,
    OBJECT,
    TEXT,
    Answer,
    Operation,
    Schema,
    array,
    described,
    nullable,
    one_of,
    place,
    query,
    record,
    ref,
)
from apps.trading.drift.facts import DifferenceKind

_FACT: Final = nullable(OBJECT)

SCHEMAS: Final[dict[str, Schema]] = {
    "Drift": record(
        {
            "date": described(nullable(DATE), "Null where the algorithm has not traded yet."),
            "status": described(
                one_of(("checked", "waiting", "no_session")),
                "`waiting`: it is being compared, or again with the candles since `through`: ask"
                " again in a moment.",
            ),
            "through": described(
                nullable(MOMENT),
                "Start of the last candle that was compared of a session under way; null where it"
                " is over.",
            ),
            "rows": described(COUNT, "Rows of candles that were played again."),
            "total": described(COUNT, "Differences, of which the first 1,000 of a run are listed."),
            "differences": array(
                record(
                    {
                        "kind": one_of([kind.value for kind in DifferenceKind]),
                        "time": described(MOMENT, "Start of the candle."),
                        "symbol": TEXT,
                        "what": described(TEXT, "Of what: a candle, a signal, a side of a fill."),
                        "expected": described(_FACT, "By the backtester; null where nothing is."),
                        "actual": described(_FACT, "On paper; null where nothing is."),
                        "reason": described(
                            nullable(TEXT),
                            "Of `risk`: how somebody stepped in, here or earlier in the session.",
                        ),
                        "runId": ID,
                        "checkedAt": MOMENT,
                    }
                )
            ),
        }
    )
}

READ: Final = Operation(
    name="readDrift",
    summary="Whether paper trading did what the backtester does",
    text=(
        "Each session is played again over the candles that are stored by then, from the state in"
        " which it began: in the night after it, and when it is asked for, be it under way."
        " Differences are of candles that came late or were changed (`data`), of"
        " signals, fills and charges, and of what an owner, an operator or a limit did (`risk`),"
        " with what followed from it until the end of the session."
    ),
    tag="trading",
    parameters=(
        place("algorithm_id", "The algorithm."),
        query("date", DATE, "The session in Asia/Kolkata; without it the last one."),
    ),
    answers={
        200: Answer(
            "What was found.",
            ref("Drift"),
            {
                "date": "2026-11-20",
                "status": "checked",
                "through": None,
                "rows": 75,
                "total": 0,
                "differences": [],
            },
        )
    },
    refusals={404: (Code.ALGORITHM_NOT_FOUND,)},
)
