"""Changes of an algorithm's status, each with its event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm, AlgorithmTransition
from apps.trading.models import Run
from apps.trading.runs.failures import advice_for
from apps.webhooks.events import EventPayload, EventType, write_events

# There is no event type for resuming: `previousStatus` says that the algorithm was paused.
EVENT_TYPES: Final[Mapping[AlgorithmTransition, EventType]] = {
    AlgorithmTransition.START: EventType.ALGORITHM_STARTED,
    AlgorithmTransition.RESUME: EventType.ALGORITHM_STARTED,
    AlgorithmTransition.PAUSE: EventType.ALGORITHM_PAUSED,
    AlgorithmTransition.STOP: EventType.ALGORITHM_STOPPED,
    AlgorithmTransition.FAIL: EventType.ALGORITHM_ERROR,
}


def apply_change(
    transition: AlgorithmTransition,
    algorithm: Algorithm,
    *,
    run: Run | None,
    actor: User | None,
    reason: str,
    now: datetime,
) -> None:
    """Change the status and write the event; `run` is the run that starts, resumes or ends with it.

    Events are locked last, so this call comes last in its transaction. Raises WrongStatus.
    """
    payload = prepare_change(transition, algorithm, run=run, actor=actor, reason=reason, now=now)
    write_events([payload], now=now)


def prepare_change(
    transition: AlgorithmTransition,
    algorithm: Algorithm,
    *,
    run: Run | None,
    actor: User | None,
    reason: str,
    now: datetime,
) -> EventPayload:
    """Change the status and return the event to write. Raises WrongStatus."""
    before = algorithm.status
    algorithms.change_status(
        algorithm=algorithm, transition=transition, actor=actor, reason=reason, now=now
    )
    advice = {"advice": advice_for(reason)} if transition is AlgorithmTransition.FAIL else {}
    return EventPayload(
        EVENT_TYPES[transition],
        owner_id=algorithm.owner_id,
        algorithm_id=algorithm.pk,
        data={
            "algorithmId": algorithm.pk,
            "algorithmName": algorithm.name,
            "runId": run.pk if run else None,
            "status": algorithm.status,
            "previousStatus": before,
            "reason": reason,
            **advice,
        },
    )
