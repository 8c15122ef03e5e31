"""A change of an algorithm's status, and the event that tells of it, both or neither."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.lifecycle import Move
from apps.algorithms.models import Algorithm
from apps.trading.models import Run
from apps.webhooks import outbox
from apps.webhooks.event_types import EventType
from apps.webhooks.outbox import EventPayload

TOLD: Final[Mapping[Move, EventType]] = {
    Move.START: EventType.ALGORITHM_STARTED,
    Move.RESUME: EventType.ALGORITHM_STARTED,
    Move.PAUSE: EventType.ALGORITHM_PAUSED,
    Move.STOP: EventType.ALGORITHM_STOPPED,
    Move.FAIL: EventType.ALGORITHM_ERROR,
}
"""The set of types knows no resuming: whoever listens hears that it trades again, and from
`previousStatus` that it was paused.
"""


def make(
    move: Move,
    algorithm: Algorithm,
    *,
    run: Run | None,
    actor: User | None,
    reason: str,
    now: datetime,
) -> None:
    """`run` is the one that starts, goes on or ends with it. The event is the last of what is
    locked here, so this comes last. Raises WrongStatus.
    """
    told = change(move, algorithm, run=run, actor=actor, reason=reason, now=now)
    outbox.write_all([told], now=now)


def change(
    move: Move,
    algorithm: Algorithm,
    *,
    run: Run | None,
    actor: User | None,
    reason: str,
    now: datetime,
) -> EventPayload:
    """As `make`, for whoever writes several events: the one that is still to be written."""
    before = algorithm.status
    algorithms.move(algorithm=algorithm, move=move, actor=actor, reason=reason, now=now)
    return EventPayload(
        TOLD[move],
        owner_id=algorithm.owner_id,
        algorithm_id=algorithm.pk,
        data={
            "algorithmId": algorithm.pk,
            "algorithmName": algorithm.name,
            "runId": run.pk if run else None,
            "status": algorithm.status,
            "previousStatus": before,
            "reason": reason,
        },
    )
