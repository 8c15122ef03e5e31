"""The states of an algorithm and the moves between them: one table."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """Where an algorithm stands."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    STOPPED = "stopped"
    ERROR = "error"
    ARCHIVED = "archived"


class Move(StrEnum):
    """What changes a status."""

    COMPLETE = "complete"
    REOPEN = "reopen"
    ARCHIVE = "archive"
    START = "start"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    FAIL = "fail"


LISTED: Final = tuple(status.value for status in Status if status is not Status.ARCHIVED)
"""What a list may be filtered by: an archived algorithm is gone for everybody."""

MOVES: Final[Mapping[Move, tuple[tuple[Status, ...], Status]]] = {
    Move.COMPLETE: ((Status.DRAFT,), Status.STOPPED),
    Move.REOPEN: ((Status.STOPPED,), Status.DRAFT),
    Move.ARCHIVE: ((Status.STOPPED, Status.DRAFT, Status.ERROR), Status.ARCHIVED),
    Move.START: ((Status.STOPPED, Status.ERROR), Status.ACTIVE),
    Move.STOP: ((Status.ACTIVE, Status.PAUSED, Status.ERROR), Status.STOPPED),
    Move.PAUSE: ((Status.ACTIVE,), Status.PAUSED),
    Move.RESUME: ((Status.PAUSED,), Status.ACTIVE),
    Move.FAIL: ((Status.ACTIVE, Status.PAUSED), Status.ERROR),
}
"""From where each move leads where. The first source is the ordinary one: a refusal names it."""


def is_editable(status: Status) -> bool:
    """What may be archived may be edited, and the other way round."""
    return status in MOVES[Move.ARCHIVE][0]


def after_save(status: Status, *, complete: bool) -> Move | None:
    """The move that a saved configuration makes; one that had an error stays where it is."""
    move = Move.COMPLETE if complete else Move.REOPEN
    return move if status in MOVES[move][0] else None
