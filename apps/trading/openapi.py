"""What the OpenAPI document says of running algorithms, the paper account and the kill switch."""

from typing import Final

from apps.algorithms.examples import ALGORITHM as ALGORITHM_SHOWN
from apps.core.errors import Code
from apps.core.openapi import (
    FLAG,
    MOMENT,
    NOTHING,
    NUMBER,
    TEXT,
    Answer,
    Operation,
    Schema,
    Sent,
    array,
    body_schema,
    nullable,
    one_of,
    place,
    record,
    ref,
)
from apps.trading.serializers import KillSwitchBody, StopBody

_TAG: Final = "trading"
_ID: Final = place("algorithm_id", "The algorithm.")
_GONE: Final = {404: (Code.ALGORITHM_NOT_FOUND,), 409: (Code.CONFLICT,)}
_ADMISSION: Final = {
    **_GONE,
    400: (Code.INVALID_SYMBOL,),
    403: (Code.DAILY_LOSS_LIMIT,),
    422: (
        Code.ALGORITHM_ALREADY_ACTIVE,
        Code.ALGORITHM_INCOMPLETE,
        Code.POSITION_LIMIT_REACHED,
        Code.INSUFFICIENT_BALANCE,
    ),
    429: (Code.BROKER_RATE_LIMIT,),
    503: (Code.BROKER_CONNECTION_FAILED,),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Stop": body_schema(StopBody),
    "Emergency": body_schema(KillSwitchBody),
    "AdmittedAlgorithm": record({"warnings": array(record({"field": TEXT, "message": TEXT}))}),
    "Account": record(
        {
            "balance": NUMBER,
            "reserved": NUMBER,
            "available": NUMBER,
            "equity": NUMBER,
            "currency": one_of(("INR",)),
        }
    ),
    "KillSwitch": record({"active": FLAG, "since": nullable(MOMENT), "reason": nullable(TEXT)}),
}

_ACCOUNT_SHOWN: Final = {
    "balance": 10_000_000,
    "reserved": 0,
    "available": 10_000_000,
    "equity": 10_000_000,
    "currency": "INR",
}
_OFF: Final = {"active": False, "since": None, "reason": None}


def _admitted(text: str) -> Answer:
    shown = {**ALGORITHM_SHOWN, "status": "active", "active": True, "warnings": []}
    return Answer(text, ref("AdmittedAlgorithm"), shown, ("ETag",))


START: Final = Operation(
    name="startAlgorithm",
    summary="Let it trade",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=NOTHING,
    answers={200: _admitted("It is active; `warnings` say what is probably not meant.")},
    refusals=_ADMISSION,
)
STOP: Final = Operation(
    name="stopAlgorithm",
    summary="End its run",
    text="Its positions are closed unless `closePositions` is false.",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=Sent(ref("Stop"), {"closePositions": True}, required=False),
    answers={200: Answer("It is stopped.", ref("Algorithm"), ALGORITHM_SHOWN, ("ETag",))},
    refusals=_GONE,
)
PAUSE: Final = Operation(
    name="pauseAlgorithm",
    summary="Take no new entries; stops and targets still work",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=NOTHING,
    answers={200: Answer("It is paused.", ref("Algorithm"), ALGORITHM_SHOWN, ("ETag",))},
    refusals=_GONE,
)
RESUME: Final = Operation(
    name="resumeAlgorithm",
    summary="Take entries again",
    tag=_TAG,
    parameters=(_ID,),
    idempotent=True,
    body=NOTHING,
    answers={200: _admitted("It is active again.")},
    refusals=_ADMISSION,
)
READ_ACCOUNT: Final = Operation(
    name="readAccount",
    summary="The paper account",
    tag=_TAG,
    answers={200: Answer("The account, in rupees.", ref("Account"), _ACCOUNT_SHOWN)},
)
RESET_ACCOUNT: Final = Operation(
    name="resetAccount",
    summary="Begin the paper account anew, when nothing runs",
    tag=_TAG,
    idempotent=True,
    body=NOTHING,
    answers={200: Answer("The account as it is now.", ref("Account"), _ACCOUNT_SHOWN)},
)
READ_SWITCH: Final = Operation(
    name="readKillSwitch",
    summary="Whether the caller has stopped everything",
    tag=_TAG,
    answers={200: Answer("The switch.", ref("KillSwitch"), _OFF)},
)
TURN_ON: Final = Operation(
    name="stopEverything",
    summary="Pause every algorithm, and refuse starts until the switch is off",
    text="With `closePositions` true all positions are closed too.",
    tag=_TAG,
    idempotent=True,
    body=Sent(ref("Emergency"), {"reason": "News", "closePositions": False}, required=False),
    answers={
        200: Answer(
            "The switch.",
            ref("KillSwitch"),
            {"active": True, "since": "2026-11-20T04:15:00.000Z", "reason": "News"},
        )
    },
    refusals={409: (Code.CONFLICT,)},
)
TURN_OFF: Final = Operation(
    name="allowTrading",
    summary="Let algorithms be started and resumed again",
    tag=_TAG,
    answers={204: Answer("The switch is off.")},
)
