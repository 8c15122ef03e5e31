"""The states of a backtest and the moves between them, in one table; the beat of what runs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """The states on the wire."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Move(StrEnum):
    """What changes a status."""

    BEGIN = "begin"
    COMPLETE = "complete"
    FAIL = "fail"
    GIVE_BACK = "give_back"
    CANCEL = "cancel"
    RETRY = "retry"


MOVES: Final[Mapping[Move, tuple[frozenset[Status], Status]]] = {
    Move.BEGIN: (frozenset({Status.QUEUED}), Status.RUNNING),
    Move.COMPLETE: (frozenset({Status.RUNNING}), Status.COMPLETED),
    Move.FAIL: (frozenset({Status.RUNNING}), Status.FAILED),
    Move.GIVE_BACK: (frozenset({Status.RUNNING}), Status.QUEUED),
    Move.CANCEL: (frozenset({Status.QUEUED, Status.RUNNING}), Status.CANCELLED),
    Move.RETRY: (frozenset({Status.FAILED}), Status.QUEUED),
}

ENDED: Final = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})
"""What has ended may be renamed and deleted; only an operator can have a failed one tried again."""

BEAT_SECONDS: Final = 5.0
"""How often the worker of one that is running says that it is alive."""
