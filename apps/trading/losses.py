"""What an algorithm has lost on a day, and the breach of its limit: once a day (engine rule 8)."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from django.db import connection

from apps.market.moments import day_in_india
from apps.trading.models import DailyLoss
from apps.trading.money import NOTHING, rupees
from apps.trading.stepping import Step
from apps.webhooks import services as events
from apps.webhooks.event_types import EventType

_KEEP: Final = f"""
    INSERT INTO {DailyLoss._meta.db_table} AS held (algorithm_id, day, loss, "limit", breached_at)
    VALUES (%(algorithm)s, %(day)s, %(loss)s, %(limit)s, %(breached_at)s)
    ON CONFLICT (algorithm_id, day) DO UPDATE SET loss = excluded.loss, "limit" = excluded."limit",
        breached_at = COALESCE(held.breached_at, excluded.breached_at)
    RETURNING breached_at
"""


def record(steps: Sequence[Step], *, now: datetime) -> None:
    """The loss of the day where money moved or the limit was reached, and the event of a breach.

    The algorithms are locked.
    """
    for step in sorted(steps, key=lambda one: one.run.algorithm_id):
        breached = _has_breached(step)
        if not breached and not len(step.trades):
            continue
        day, loss = day_in_india(step.time), loss_of(step)
        limit = rupees(step.strategy.riskParameters.maxDailyLoss)
        known = DailyLoss.objects.filter(algorithm_id=step.run.algorithm_id, day=day).first()
        is_new = breached and (known is None or known.breached_at is None)
        _keep(step, day, loss, limit, now if breached else None)
        if is_new:
            _tell(step, day, loss, limit, now)


def loss_of(step: Step) -> Decimal:
    """Rupees lost since the last mark before the session; 0 or more."""
    account = step.state.account[0]
    return max(NOTHING, rupees(float(account["day_start"] - account["equity"])))


def _has_breached(step: Step) -> bool:
    before, after = step.before.account[0], step.state.account[0]
    was_halted = bool(before["halted"]) and before["day"] == after["day"]
    return bool(after["halted"]) and not was_halted


def _keep(
    step: Step, day: date, loss: Decimal, limit: Decimal, breached_at: datetime | None
) -> None:
    row = {
        "algorithm": step.run.algorithm_id, "day": day, "loss": loss, "limit": limit,
        "breached_at": breached_at,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, row)


def _tell(step: Step, day: date, loss: Decimal, limit: Decimal, now: datetime) -> None:
    events.write(
        EventType.DAILY_LOSS_LIMIT_REACHED,
        owner_id=step.run.account_id,
        algorithm_id=step.run.algorithm_id,
        data={
            "algorithmId": step.run.algorithm_id,
            "runId": step.run.pk,
            "day": day.isoformat(),
            "loss": float(loss),
            "limit": float(limit),
        },
        now=now,
    )
