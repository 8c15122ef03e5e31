"""What an algorithm has lost on a day, and the breach of its limit: once a day (engine rule 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from django.db import connection

from apps.market.dates import day_in_india
from apps.trading.models import DailyLoss, Run
from apps.trading.money import NOTHING, rupees
from apps.trading.step_result import BarStep
from apps.webhooks.event_types import EventType
from apps.webhooks.outbox import EventPayload

_KEEP: Final = f"""
    INSERT INTO {DailyLoss._meta.db_table} AS held (algorithm_id, day, loss, "limit", breached_at)
    SELECT * FROM unnest(
        %s::text[], %s::date[], %s::numeric[], %s::numeric[], %s::timestamptz[]
    ) AS new ORDER BY 1
    ON CONFLICT (algorithm_id, day) DO UPDATE SET loss = excluded.loss, "limit" = excluded."limit",
        breached_at = COALESCE(held.breached_at, excluded.breached_at)
"""


@dataclass(frozen=True, slots=True)
class Loss:
    """What an algorithm has lost on a day, of what it may; `breached` where a step was the first in
    which that was reached since the session began.
    """

    run: Run
    day: date
    loss: Decimal
    limit: Decimal
    breached: bool


def update_daily_losses(steps: Sequence[BarStep], *, now: datetime) -> list[EventPayload]:
    """Write the loss of the day where money moved or the limit was reached; returns what is to be
    told of breaches. The algorithms are locked.
    """
    found = [_loss(step) for step in steps if _has_moved(step) or _has_breached(step)]
    if not found:
        return []
    known = _breached_before([loss for loss in found if loss.breached])
    rows = [
        (one.run.algorithm_id, one.day, one.loss, one.limit, now if one.breached else None)
        for one in found
    ]
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [list(column) for column in zip(*rows, strict=True)])
    return [
        _told(one) for one in found if one.breached and (one.run.algorithm_id, one.day) not in known
    ]


def _loss(step: BarStep) -> Loss:
    limit = rupees(step.strategy.riskParameters.maxDailyLoss)
    return Loss(step.run, day_in_india(step.time), loss_of(step), limit, _has_breached(step))


def _breached_before(losses: Sequence[Loss]) -> set[tuple[str, date]]:
    """By algorithm and day, those that a run of before has told of."""
    ids = [loss.run.algorithm_id for loss in losses]
    told = DailyLoss.objects.filter(algorithm__in=ids, breached_at__isnull=False)
    return set(told.values_list("algorithm_id", "day")) if ids else set()


def loss_of(step: BarStep) -> Decimal:
    """Rupees lost since the last mark before the session; 0 or more."""
    account = step.state.account[0]
    return max(NOTHING, rupees(float(account["day_start"] - account["equity"])))


def _has_moved(step: BarStep) -> bool:
    """Whether something was won or lost for good."""
    return bool(len(step.trades) or step.fractions)


def _has_breached(step: BarStep) -> bool:
    before, after = step.before.account[0], step.state.account[0]
    was_halted = bool(before["halted"]) and before["day"] == after["day"]
    return bool(after["halted"]) and not was_halted


def _told(one: Loss) -> EventPayload:
    data = {
        "algorithmId": one.run.algorithm_id,
        "runId": one.run.pk,
        "day": one.day.isoformat(),
        "loss": float(one.loss),
        "limit": float(one.limit),
    }
    event = EventType.DAILY_LOSS_LIMIT_REACHED
    return EventPayload(event, one.run.account_id, one.run.algorithm_id, data)
