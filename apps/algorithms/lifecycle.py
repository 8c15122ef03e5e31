"""The statuses of an algorithm and the transitions between them: one table."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from apps.core.database import Transition


class AlgorithmStatus(StrEnum):
    """The status of an algorithm."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    STOPPED = "stopped"
    ERROR = "error"
    ARCHIVED = "archived"


class AlgorithmTransition(StrEnum):
    """The changes of a status."""

    COMPLETE = "complete"
    REOPEN = "reopen"
    ARCHIVE = "archive"
    START = "start"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    FAIL = "fail"


# The statuses that a list may be filtered by: archived algorithms are in no list.
LISTED_STATUSES: Final = tuple(
    status.value for status in AlgorithmStatus if status is not AlgorithmStatus.ARCHIVED
)

ALGORITHM_TRANSITIONS: Final[Mapping[AlgorithmTransition, Transition]] = {
    AlgorithmTransition.COMPLETE: Transition((AlgorithmStatus.DRAFT,), AlgorithmStatus.STOPPED),
    AlgorithmTransition.REOPEN: Transition((AlgorithmStatus.STOPPED,), AlgorithmStatus.DRAFT),
    AlgorithmTransition.ARCHIVE: Transition(
        (AlgorithmStatus.STOPPED, AlgorithmStatus.DRAFT, AlgorithmStatus.ERROR),
        AlgorithmStatus.ARCHIVED,
    ),
    AlgorithmTransition.START: Transition(
        (AlgorithmStatus.STOPPED, AlgorithmStatus.ERROR), AlgorithmStatus.ACTIVE
    ),
    AlgorithmTransition.STOP: Transition(
        (AlgorithmStatus.ACTIVE, AlgorithmStatus.PAUSED, AlgorithmStatus.ERROR),
        AlgorithmStatus.STOPPED,
    ),
    AlgorithmTransition.PAUSE: Transition((AlgorithmStatus.ACTIVE,), AlgorithmStatus.PAUSED),
    AlgorithmTransition.RESUME: Transition((AlgorithmStatus.PAUSED,), AlgorithmStatus.ACTIVE),
    AlgorithmTransition.FAIL: Transition(
        (AlgorithmStatus.ACTIVE, AlgorithmStatus.PAUSED), AlgorithmStatus.ERROR
    ),
}


def is_editable(status: AlgorithmStatus) -> bool:
    """Return whether the algorithm may be edited: in the same statuses it may be archived."""
    return status in ALGORITHM_TRANSITIONS[AlgorithmTransition.ARCHIVE].sources


def after_save(status: AlgorithmStatus, *, complete: bool) -> AlgorithmTransition | None:
    """Return the transition after saving a configuration; an algorithm with an error keeps its
    status.
    """
    transition = AlgorithmTransition.COMPLETE if complete else AlgorithmTransition.REOPEN
    return transition if status in ALGORITHM_TRANSITIONS[transition].sources else None
