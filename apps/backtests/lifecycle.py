"""The states of a backtest and the moves between them, in one table."""

from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """The states on the wire."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class Move(StrEnum):
    BEGIN = "begin"
    COMPLETE = "complete"
    FAIL = "fail"
    GIVE_BACK = "give_back"


MOVES: Final[dict[Move, tuple[Status, Status]]] = {
    Move.BEGIN: (Status.QUEUED, Status.RUNNING),
    Move.COMPLETE: (Status.RUNNING, Status.COMPLETED),
    Move.FAIL: (Status.RUNNING, Status.FAILED),
    Move.GIVE_BACK: (Status.RUNNING, Status.QUEUED),
}
