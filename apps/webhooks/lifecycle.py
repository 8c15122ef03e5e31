"""The states of an endpoint and of a delivery, and the moves between them, in one table each."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final


class EndpointStatus(StrEnum):
    """The states on the wire; of a deleted one nothing is seen any more."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    DELETED = "deleted"


class DisabledReason(StrEnum):
    """Who switched an endpoint off, and why."""

    OWNER = "owner"
    OPERATOR = "operator"
    GONE = "gone"
    """It answered 410."""
    FAILING = "failing"
    """Nothing but failures for FAILING_TIME."""


class EndpointMove(StrEnum):
    ENABLE = "enable"
    DISABLE = "disable"
    DELETE = "delete"


ENDPOINT_MOVES: Final[Mapping[EndpointMove, tuple[frozenset[EndpointStatus], EndpointStatus]]] = {
    EndpointMove.ENABLE: (frozenset({EndpointStatus.DISABLED}), EndpointStatus.ENABLED),
    EndpointMove.DISABLE: (frozenset({EndpointStatus.ENABLED}), EndpointStatus.DISABLED),
    EndpointMove.DELETE: (
        frozenset({EndpointStatus.ENABLED, EndpointStatus.DISABLED}),
        EndpointStatus.DELETED,
    ),
}

FAILING_TIME: Final = timedelta(days=5)
LEAST_FAILURES: Final = 3
"""An endpoint is switched off after so long without a success and with so many failures."""


class Status(StrEnum):
    """The states of a delivery, on the wire."""

    WAITING = "waiting"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"


class Move(StrEnum):
    """What changes the status of a delivery."""

    CLAIM = "claim"
    DELIVER = "deliver"
    PUT_OFF = "put_off"
    """The attempt failed, and there will be another."""
    GIVE_UP = "give_up"
    LOSE = "lose"
    """The process that sent it was lost: nobody knows what came of it."""
    DROP = "drop"
    """Its endpoint was switched off."""
    SEND_AGAIN = "send_again"


MOVES: Final[Mapping[Move, tuple[frozenset[Status], Status]]] = {
    Move.CLAIM: (frozenset({Status.WAITING}), Status.SENDING),
    Move.DELIVER: (frozenset({Status.SENDING}), Status.DELIVERED),
    Move.PUT_OFF: (frozenset({Status.SENDING}), Status.WAITING),
    Move.GIVE_UP: (frozenset({Status.SENDING}), Status.FAILED),
    Move.LOSE: (frozenset({Status.SENDING}), Status.WAITING),
    Move.DROP: (frozenset({Status.WAITING}), Status.FAILED),
    Move.SEND_AGAIN: (
        frozenset({Status.WAITING, Status.DELIVERED, Status.FAILED}),
        Status.WAITING,
    ),
}


class Queue(StrEnum):
    """Which of the two queues a delivery waits in; each has senders of its own."""

    FIRST_ATTEMPT = "prompt"
    """First attempts."""
    RETRY = "patient"
    """Further attempts, and whatever goes to an endpoint that lets its callers wait."""


SLOW_SECONDS: Final = 3.0
"""An endpoint that last took longer is slow."""
SENDS_AT_A_TIME: Final = 2
"""To one endpoint."""
