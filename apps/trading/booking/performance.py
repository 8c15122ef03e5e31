"""What algorithms have achieved, kept current with each trade and each new low; and the alerts that
watch it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Final

import orjson
from django.db import connection
from django.db.models import QuerySet

from apps.algorithms import alerts, performance
from apps.algorithms.alerts import Alert
from apps.algorithms.lifecycle import Move, Status
from apps.algorithms.models import Algorithm
from apps.algorithms.performance import Achieved, Record
from apps.core.errors import Code
from apps.core.times import moment, wire_time
from apps.trading import status_changes
from apps.trading.booking.interpret import StepOutcome
from apps.trading.models import PerformanceTotals, Run, RunState, Trade
from apps.trading.money import rupees
from apps.webhooks.event_types import EventType
from apps.webhooks.outbox import EventPayload

ERRORS: Final[Mapping[str, Code]] = {
    "position_limit": Code.POSITION_LIMIT_REACHED,
    "insufficient_cash": Code.INSUFFICIENT_BALANCE,
}
"""Refusals that are an algorithm's errors; the others are as its owner would have it."""

KEEP: Final = """
    UPDATE algorithms_algorithm AS one
    SET performance = coalesce(new.performance, one.performance),
        performance_at = CASE WHEN new.performance IS NULL THEN one.performance_at ELSE %s END,
        last_execution = coalesce(new.last_execution, one.last_execution)
    FROM jsonb_to_recordset(%s::jsonb) AS new (id text, performance jsonb, last_execution jsonb)
    WHERE one.id = new.id
"""


@dataclass(frozen=True, slots=True)
class Drawdown:
    """The largest fall of a run's equity: percent of its peak, and rupees."""

    percent: float
    rupees: float


@dataclass(frozen=True, slots=True)
class AlgorithmUpdate:
    """What of a step concerns its algorithm. `fall` is None where none is deeper than before."""

    run: Run
    capital: float
    trades: Sequence[Trade]
    fall: Drawdown | None
    execution: dict[str, object] | None

    @property
    def changes_performance(self) -> bool:
        return bool(self.trades) or self.fall is not None


def update_performance(
    outcomes: Sequence[StepOutcome], trades: Iterable[Trade], *, now: datetime
) -> list[EventPayload]:
    """Write performance and last execution of the algorithms of these steps, and do what their
    alerts ask for; returns what is to be told of it.
    """
    news = {one.run.algorithm_id: one for one in _news(outcomes, trades)}
    if not news:
        return []
    algorithms = _locked(news)
    records = _records(algorithms, news)
    payloads = [
        payload
        for algorithm in algorithms
        if algorithm.pk in records
        for payload in _alarm(algorithm, records[algorithm.pk], news[algorithm.pk].run, now)
    ]
    _write(news, records, now)
    return payloads


def _locked(ids: Iterable[str]) -> QuerySet[Algorithm]:
    """By their ids, without their steps."""
    steps = Algorithm.objects.filter(pk__in=list(ids)).defer(
        "basic_info", "position_sizing", "entry_conditions", "exit_conditions",
        "risk_parameters", "execution_settings", "walk_forward_results", "monte_carlo_results",
    )  # fmt: skip
    return steps.order_by("pk").locked()


# -------------------------------------------------------------------------------------- what is new


def _news(outcomes: Sequence[StepOutcome], trades: Iterable[Trade]) -> Iterator[AlgorithmUpdate]:
    known = RunState.objects.only("peak", "drawdown", "drawdown_amount")
    states = known.in_bulk([outcome.step.run.pk for outcome in outcomes])
    by_run: dict[str, list[Trade]] = {}
    for trade in trades:
        by_run.setdefault(trade.run_id, []).append(trade)
    for outcome in outcomes:
        run = outcome.step.run
        news = AlgorithmUpdate(
            run=run,
            capital=outcome.step.strategy.executionSettings.initialCapital,
            trades=by_run.get(run.pk, ()),
            fall=_deeper(outcome, states.get(run.pk)),
            execution=_execution(outcome),
        )
        if news.changes_performance or news.execution is not None:
            yield news


def _deeper(outcome: StepOutcome, state: RunState | None) -> Drawdown | None:
    """The fall from the run's peak to the equity of this row, if none before it was deeper."""
    equity = float(outcome.step.state.account["equity"][0])
    if state is None or equity >= state.peak:
        return None
    fall = state.peak - equity
    percent = fall / state.peak * 100
    is_deeper = percent > state.drawdown or fall > state.drawdown_amount
    return Drawdown(percent, float(rupees(fall))) if is_deeper else None


def _execution(outcome: StepOutcome) -> dict[str, object] | None:
    """The last thing that came of a signal or a level in this row."""
    timestamp = wire_time(moment(outcome.step.closes))
    error = next((ERRORS[one.reason] for one in outcome.refused if one.reason in ERRORS), None)
    if error is not None:
        return {"timestamp": timestamp, "status": "error", "error": error}
    if not outcome.executions:
        return None
    last = outcome.executions[-1]
    result = {
        "symbol": last.symbol,
        "side": last.side,
        "quantity": last.quantity,
        "price": last.price,
        "reason": last.reason or last.intent,
    }
    return {"timestamp": timestamp, "status": "success", "result": result}


# -------------------------------------------------------------------------------------- the records


def _records(
    algorithms: Iterable[Algorithm], news: Mapping[str, AlgorithmUpdate]
) -> dict[str, Record]:
    """The new performance of each algorithm that has one, by its id."""
    changed = [one for one in algorithms if news[one.pk].changes_performance]
    tallies = PerformanceTotals.objects.in_bulk([one.pk for one in changed])
    records = {}
    for algorithm in changed:
        mine = news[algorithm.pk]
        tally = tallies.setdefault(algorithm.pk, PerformanceTotals(algorithm=algorithm))
        for trade in mine.trades:
            tally.add(trade)
        records[algorithm.pk] = _record(tally, mine, algorithm.performance)
    _keep_tallies([tallies[one.pk] for one in changed if news[one.pk].trades])
    return records


def _record(tally: PerformanceTotals, news: AlgorithmUpdate, before: Record) -> Record:
    fall = news.fall or Drawdown(0, 0)
    deviation = sqrt(tally.return_squares / (tally.trades - 1)) if tally.trades > 1 else None
    return performance.of(
        Achieved(
            trades=tally.trades,
            won=tally.won,
            lost=tally.lost,
            profit=float(tally.profit),
            loss=float(tally.loss),
            capital=news.capital,
            mean=tally.return_mean,
            deviation=deviation,
            drawdown=max(before["maxDrawdown"] or 0, fall.percent),
            fall=max(before["maxDrawdownAmount"] or 0, fall.rupees),
        )
    )


def _keep_tallies(tallies: Sequence[PerformanceTotals]) -> None:
    changed = [field.name for field in PerformanceTotals._meta.fields if not field.primary_key]
    PerformanceTotals.objects.bulk_create(
        tallies, update_conflicts=True, unique_fields=["algorithm"], update_fields=changed
    )


def _write(
    news: Mapping[str, AlgorithmUpdate], records: Mapping[str, Record], now: datetime
) -> None:
    """As one JSON text: in an array of them each would be quoted once more."""
    rows = [
        {"id": key, "performance": records.get(key), "last_execution": one.execution}
        for key, one in news.items()
    ]
    with connection.cursor() as cursor:
        cursor.execute(KEEP, [now, orjson.dumps(rows).decode()])


# -------------------------------------------------------------------------------------- the alerts


def _alarm(algorithm: Algorithm, record: Record, run: Run, now: datetime) -> Iterator[EventPayload]:
    found = alerts.raised(algorithm.alerts, algorithm.performance, record)
    for metric, value, alert in found:
        yield _alert_told(algorithm, metric, value, alert)
        if alert["action"] == "pause_algorithm" and algorithm.status == Status.ACTIVE:
            reason = f"alert: {metric} is {value:.4g}"
            yield status_changes.change(
                Move.PAUSE, algorithm, run=run, actor=None, reason=reason, now=now
            )


def _alert_told(algorithm: Algorithm, metric: str, value: float, alert: Alert) -> EventPayload:
    data = {
        "algorithmId": algorithm.pk,
        "algorithmName": algorithm.name,
        "metric": metric,
        "value": value,
        "threshold": alert["threshold"],
        "action": alert["action"],
    }
    return EventPayload(EventType.PERFORMANCE_ALERT, algorithm.owner_id, algorithm.pk, data)
