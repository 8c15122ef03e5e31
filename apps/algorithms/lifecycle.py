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


LISTED: Final = tuple(status.value for status in Status if status is not Status.ARCHIVED)
"""What a list may be filtered by: an archived algorithm is gone for everybody."""

MOVES: Final[Mapping[Move, tuple[frozenset[Status], Status]]] = {
    Move.COMPLETE: (frozenset({Status.DRAFT}), Status.STOPPED),
    Move.REOPEN: (frozenset({Status.STOPPED}), Status.DRAFT),
    Move.ARCHIVE: (frozenset({Status.DRAFT, Status.STOPPED, Status.ERROR}), Status.ARCHIVED),
}


def is_editable(status: Status) -> bool:
    """What may be archived may be edited, and the other way round."""
    return status in MOVES[Move.ARCHIVE][0]


def after_save(status: Status, *, complete: bool) -> Status:
    """The status that a saved configuration leads to; one that had an error keeps it."""
    sources, target = MOVES[Move.COMPLETE if complete else Move.REOPEN]
    return target if status in sources else status
