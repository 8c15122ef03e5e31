"""The performance of algorithms and its alerts, updated with each trade and each new low."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Final

import orjson
from django.db import connection
from django.db.models import QuerySet

from apps.algorithms.models import Algorithm, AlgorithmStatus, AlgorithmTransition
from apps.algorithms.performance import (
    Alert,
    LastExecution,
    LastFill,
    PerformanceValues,
    compute_performance,
    raised_alerts,
)
from apps.core.errors import Code
from apps.core.times import moment, wire_time
from apps.trading.booking.interpret import StepOutcome
from apps.trading.models import PerformanceTotals, Run, RunState, Trade, queries
from apps.trading.models.money import rupees
from apps.trading.runs import status_changes
from apps.webhooks.events import EventPayload, EventType

# Refusals that are an algorithm's errors; the others are as its owner would have it.
ERRORS: Final[Mapping[str, Code]] = {
    "position_limit": Code.POSITION_LIMIT_REACHED,
    "insufficient_cash": Code.INSUFFICIENT_BALANCE,
}


@dataclass(frozen=True, slots=True)
class AlgorithmUpdate:
    """The part of a step that concerns its algorithm.

    `drawdown` is in percent of the run's peak, `drawdown_amount` in rupees; both are 0 unless one
    of them is the largest so far.
    """

    run: Run
    capital: float
    trades: Sequence[Trade]
    drawdown: float
    drawdown_amount: float
    execution: LastExecution | None

    @property
    def changes_performance(self) -> bool:
        return bool(self.trades or self.drawdown)


def update_performance(
    outcomes: Sequence[StepOutcome], trades: Iterable[Trade], *, now: datetime
) -> list[EventPayload]:
    """Write performance and last execution of the algorithms of these steps, and run the actions of
    their alerts. Return the events.
    """
    updates = {update.run.algorithm_id: update for update in _updates(outcomes, trades)}
    if not updates:
        return []
    algorithms = _lock(updates)
    records = _records(algorithms, updates)
    payloads = [
        payload
        for algorithm in algorithms
        if algorithm.pk in records
        for payload in _raise_alerts(
            algorithm, records[algorithm.pk], updates[algorithm.pk].run, now
        )
    ]
    _write(updates, records, now)
    return payloads


def _lock(ids: Iterable[str]) -> QuerySet[Algorithm]:
    """Lock the algorithms in the order of their ids, without reading their steps."""
    algorithms = Algorithm.objects.filter(pk__in=list(ids)).defer(
        "basic_info",
        "position_sizing",
        "entry_conditions",
        "exit_conditions",
        "risk_parameters",
        "execution_settings",
        "walk_forward_results",
        "monte_carlo_results",
    )
    return algorithms.order_by("pk").locked()


def _updates(outcomes: Sequence[StepOutcome], trades: Iterable[Trade]) -> Iterator[AlgorithmUpdate]:
    known = RunState.objects.only("peak", "drawdown", "drawdown_amount")
    states = known.in_bulk([outcome.step.run.pk for outcome in outcomes])
    by_run: dict[str, list[Trade]] = {}
    for trade in trades:
        by_run.setdefault(trade.run_id, []).append(trade)
    for outcome in outcomes:
        run = outcome.step.run
        drawdown, drawdown_amount = _deeper_drawdown(outcome, states.get(run.pk))
        update = AlgorithmUpdate(
            run=run,
            capital=outcome.step.strategy.executionSettings.initialCapital,
            trades=by_run.get(run.pk, ()),
            drawdown=drawdown,
            drawdown_amount=drawdown_amount,
            execution=_execution(outcome),
        )
        if update.changes_performance or update.execution is not None:
            yield update


def _deeper_drawdown(outcome: StepOutcome, state: RunState | None) -> tuple[float, float]:
    """Return the fall from the run's peak to this row's equity, in percent and in rupees; zeros
    unless it is the deepest so far.
    """
    equity = float(outcome.step.state.account["equity"][0])
    if state is None or equity >= state.peak:
        return 0.0, 0.0
    amount = state.peak - equity
    percent = amount / state.peak * 100
    is_deeper = percent > state.drawdown or amount > state.drawdown_amount
    return (percent, float(rupees(amount))) if is_deeper else (0.0, 0.0)


def _execution(outcome: StepOutcome) -> LastExecution | None:
    """Return the last execution or rejection of a signal or a level in this row."""
    timestamp = wire_time(moment(outcome.step.closes))
    error = next(
        (ERRORS[entry.reason] for entry in outcome.rejected if entry.reason in ERRORS), None
    )
    if error is not None:
        return {"timestamp": timestamp, "status": "error", "error": error}
    if not outcome.executions:
        return None
    last = outcome.executions[-1]
    result = LastFill(
        symbol=last.symbol,
        side=last.side,
        quantity=last.quantity,
        price=last.price,
        reason=last.reason or last.intent,
    )
    return {"timestamp": timestamp, "status": "success", "result": result}


def _records(
    algorithms: Iterable[Algorithm], updates: Mapping[str, AlgorithmUpdate]
) -> dict[str, PerformanceValues]:
    """Return the new performance of each algorithm with a change, keyed by id."""
    changed = [algorithm for algorithm in algorithms if updates[algorithm.pk].changes_performance]
    totals = PerformanceTotals.objects.in_bulk([algorithm.pk for algorithm in changed])
    records = {}
    for algorithm in changed:
        update = updates[algorithm.pk]
        total = totals.setdefault(algorithm.pk, PerformanceTotals(algorithm=algorithm))
        for trade in update.trades:
            total.add(trade)
        records[algorithm.pk] = _record(total, update, algorithm.performance)
    PerformanceTotals.objects.bulk_create(
        [totals[algorithm.pk] for algorithm in changed if updates[algorithm.pk].trades],
        update_conflicts=True,
        unique_fields=["algorithm"],
        update_fields=[
            field.name for field in PerformanceTotals._meta.fields if not field.primary_key
        ],
    )
    return records


def _record(
    total: PerformanceTotals, update: AlgorithmUpdate, before: PerformanceValues
) -> PerformanceValues:
    deviation = sqrt(total.return_squares / (total.trades - 1)) if total.trades > 1 else None
    return compute_performance(
        trades=total.trades,
        won=total.won,
        lost=total.lost,
        profit=float(total.profit),
        loss=float(total.loss),
        capital=update.capital,
        mean=total.return_mean,
        deviation=deviation,
        drawdown=max(before["maxDrawdown"] or 0, update.drawdown),
        drawdown_amount=max(before["maxDrawdownAmount"] or 0, update.drawdown_amount),
    )


def _write(
    updates: Mapping[str, AlgorithmUpdate], records: Mapping[str, PerformanceValues], now: datetime
) -> None:
    rows = [
        {"id": key, "performance": records.get(key), "last_execution": update.execution}
        for key, update in updates.items()
    ]
    with connection.cursor() as cursor:
        cursor.execute(queries.UPDATE_PERFORMANCE, [now, orjson.dumps(rows).decode()])


def _raise_alerts(
    algorithm: Algorithm, record: PerformanceValues, run: Run, now: datetime
) -> Iterator[EventPayload]:
    raised = raised_alerts(algorithm.alerts, algorithm.performance, record)
    for metric, value, alert in raised:
        yield _alert_event(algorithm, metric, value, alert)
        if alert["action"] == "pause_algorithm" and algorithm.status == AlgorithmStatus.ACTIVE:
            reason = f"alert: {metric} is {value:.4g}"
            yield status_changes.prepare_change(
                AlgorithmTransition.PAUSE, algorithm, run=run, actor=None, reason=reason, now=now
            )


def _alert_event(algorithm: Algorithm, metric: str, value: float, alert: Alert) -> EventPayload:
    data = {
        "algorithmId": algorithm.pk,
        "algorithmName": algorithm.name,
        "metric": metric,
        "value": value,
        "threshold": alert["threshold"],
        "action": alert["action"],
    }
    return EventPayload(EventType.PERFORMANCE_ALERT, algorithm.owner_id, algorithm.pk, data)
