"""The daily loss of an algorithm, and the first breach of its limits of a day (engine rule 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from apps.core.times import day_in_india
from apps.trading.booking.step_result import BarStep
from apps.trading.models import DailyLoss, Run, queries
from apps.trading.models.money import ZERO, rupees
from apps.trading.models.queries import execute_columns
from apps.webhooks.events import EventPayload, EventType


@dataclass(frozen=True, slots=True)
class LossOfDay:
    """The rupees that an algorithm has lost since the last mark before the session (0 or more), and
    its limit.

    `breached` marks the first step of the session that reached the limit.
    """

    run: Run
    day: date
    loss: Decimal
    limit: Decimal
    breached: bool


def update_daily_losses(steps: Sequence[BarStep], *, now: datetime) -> list[EventPayload]:
    """Write the loss of the day if a profit or loss was realised or the limit was reached.

    Return the events of breaches. The algorithms are locked.
    """
    losses = [
        _loss(step) for step in steps if len(step.trades) or step.fractions or _halts(step, "loss")
    ]
    if not losses:
        return []
    known = _earlier_breaches([loss for loss in losses if loss.breached])
    execute_columns(
        queries.UPSERT_DAILY_LOSSES,
        [
            (
                loss.run.algorithm_id,
                loss.day,
                loss.loss,
                loss.limit,
                now if loss.breached else None,
            )
            for loss in losses
        ],
    )
    return [
        _event(loss)
        for loss in losses
        if loss.breached and (loss.run.algorithm_id, loss.day) not in known
    ]


def daily_profit_events(steps: Sequence[BarStep]) -> list[EventPayload]:
    """Return the events of steps at which the profit of the day was enough."""
    return [_profit_event(step) for step in steps if _halts(step, "profit")]


def _profit_event(step: BarStep) -> EventPayload:
    account, run = step.state.account[0], step.run
    data = {
        "algorithmId": run.algorithm_id,
        "runId": run.pk,
        "day": day_in_india(step.time).isoformat(),
        "profit": float(rupees(float(account["equity"] - account["day_start"]))),
        "limit": step.strategy.riskParameters.maxDailyProfit,
    }
    event = EventType.DAILY_PROFIT_LIMIT_REACHED
    return EventPayload(event, run.account_id, run.algorithm_id, data)


def _loss(step: BarStep) -> LossOfDay:
    account = step.state.account[0]
    return LossOfDay(
        run=step.run,
        day=day_in_india(step.time),
        loss=max(ZERO, rupees(float(account["day_start"] - account["equity"]))),
        limit=rupees(step.strategy.riskParameters.maxDailyLoss),
        breached=_halts(step, "loss"),
    )


def _earlier_breaches(losses: Sequence[LossOfDay]) -> set[tuple[str, date]]:
    """Return (algorithm, day) of breaches that an earlier run has reported."""
    ids = [loss.run.algorithm_id for loss in losses]
    reported = DailyLoss.objects.filter(algorithm__in=ids, breached_at__isnull=False)
    return set(reported.values_list("algorithm_id", "day")) if ids else set()


def _halts(step: BarStep, limit: str) -> bool:
    """Return whether the step is the first of the session that reached the limit."""
    before, after = step.before.account[0], step.state.account[0]
    was_halted = bool(before["halted"]) and before["day"] == after["day"]
    return step.state.halted_by == limit and not was_halted


def _event(loss: LossOfDay) -> EventPayload:
    data = {
        "algorithmId": loss.run.algorithm_id,
        "runId": loss.run.pk,
        "day": loss.day.isoformat(),
        "loss": float(loss.loss),
        "limit": float(loss.limit),
    }
    event = EventType.DAILY_LOSS_LIMIT_REACHED
    return EventPayload(event, loss.run.account_id, loss.run.algorithm_id, data)
