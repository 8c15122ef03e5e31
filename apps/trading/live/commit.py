"""The commit of a batch: one row of several streams, for some of their runs, in one transaction.

A runner keeps no other results. Locks are taken in this order: streams by their ids, kill switches,
accounts, algorithms, their dependent rows, events. Steps are computed before it is known which rows
they must lock. If a run was stopped, paused or resumed meanwhile, the whole attempt is repeated.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.db import transaction

from apps.algorithms.models import Algorithm
from apps.core.times import day_in_india
from apps.engine import EngineError
from apps.engine.live import BarSnapshot, save_state
from apps.trading.booking.record import book_steps
from apps.trading.booking.step_result import BarStep
from apps.trading.live import leases
from apps.trading.live.step import RunContext, RunSnapshot, step_bar
from apps.trading.live.stream_cache import StreamEvaluation
from apps.trading.models import (
    Account,
    BarRow,
    BarStream,
    Order,
    OrderStatus,
    Position,
    Run,
    RunState,
    SessionStart,
    queries,
)
from apps.trading.models.queries import execute_columns
from apps.trading.runs import kill_switches, services
from apps.trading.runs.bar_rows import pack_bars, pack_read
from apps.trading.runs.failures import CAPITAL_LOST

_ATTEMPTS: Final = 5


class RunsChanged(Exception):
    """A run was stopped, paused or resumed while its step was being computed."""


class BatchResult(NamedTuple):
    """The ids of the streams with valid leases, and the errors of runs that cannot continue."""

    held: Collection[int]
    errors: Mapping[str, EngineError]


@dataclass(frozen=True, slots=True, eq=False)
class BarStreamBatch:
    """One row for some runs of a stream, and their view of it.

    `is_last` marks the last batch of the row: the stream then continues with the next row.
    """

    stream: BarStream
    row: BarSnapshot
    contexts: Sequence[RunContext]
    evaluation: StreamEvaluation
    is_last: bool

    @property
    def segment_start(self) -> int:
        """The first row of the stream's segment, after the commit."""
        start = self.stream.segment_start
        return self.row.time if start is None else start

    @property
    def row_time(self) -> int | None:
        """The last row that all runs of the stream have processed, after the commit."""
        return self.row.time if self.is_last else self.stream.row_time

    @property
    def read_until(self) -> dict[str, int]:
        """The start of the newest candle in a row of each read symbol, after the commit."""
        read = zip(self.stream.read_series, self.row.read, strict=False)
        newest = {symbol: int(own.time[-1]) for (symbol, _), own in read if len(own)}
        return {**self.stream.read_until, **newest} if self.is_last else self.stream.read_until


def commit_batches(batches: Sequence[BarStreamBatch], *, now: datetime) -> BatchResult:
    """Step the runs that have not processed their stream's row yet, and write the results.

    Streams that another runner has leased meanwhile stay unchanged.
    """
    for attempt in range(_ATTEMPTS):
        try:
            result = _commit(batches, now)
            break
        except RunsChanged:
            if attempt == _ATTEMPTS - 1:
                raise
    for batch in batches:
        if batch.stream.pk in result.held:
            stream = batch.stream
            stream.read_until = batch.read_until
            stream.segment_start, stream.row_time = batch.segment_start, batch.row_time
    return result


@transaction.atomic
def _commit(batches: Sequence[BarStreamBatch], now: datetime) -> BatchResult:
    held = leases.renew([batch.stream for batch in batches], now=now)
    batches = [batch for batch in batches if batch.stream.pk in held]
    snapshots = _read_snapshots(batches)
    steps, errors = _step_runs(batches, snapshots)
    eventful = [steps[run_id] for run_id in sorted(steps) if _is_eventful(steps[run_id])]
    _lock(eventful, snapshots)
    _write_rows(batches, now)
    _write_session_starts(batches, steps, snapshots)
    book_steps(eventful, now=now)
    _write_states(steps, snapshots)
    _end_runs(eventful, snapshots, now)
    return BatchResult(held, errors)


def _step_runs(
    batches: Sequence[BarStreamBatch], snapshots: Mapping[str, RunSnapshot]
) -> tuple[dict[str, BarStep], dict[str, EngineError]]:
    steps, errors = {}, {}
    for batch in batches:
        evaluation = batch.evaluation
        for run_id in (context.run.pk for context in batch.contexts if context.run.pk in snapshots):
            snapshot = snapshots[run_id]
            signals = evaluation.signals[snapshot.context.signal_key]
            terms = evaluation.terms[run_id]
            try:
                steps[run_id] = step_bar(snapshot, batch.row, signals, terms, evaluation.changes)
            except EngineError as error:
                errors[run_id] = error
    return steps, errors


def _read_snapshots(batches: Sequence[BarStreamBatch]) -> dict[str, RunSnapshot]:
    """Return a snapshot of each run that has not processed this row yet, keyed by run id."""
    contexts = {context.run.pk: context for batch in batches for context in batch.contexts}
    rows = {context.run.pk: batch.row.time for batch in batches for context in batch.contexts}
    owners = sorted({context.run.account_id for context in contexts.values()})
    global_since, since_by_owner = kill_switches.share_engaged_since(owners)
    closing, cancelled = pending_closes(contexts), pending_cancels(contexts)
    states = RunState.objects.filter(run__in=list(contexts)).values_list(
        "run_id",
        "data",
        "row_time",
        "peak",
        "drawdown",
        "drawdown_amount",
        "run__algorithm__status",
        "run__ended_at",
        "run__close_requested_at",
        "run__account_id",
    )
    return {
        run_id: RunSnapshot(
            context=contexts[run_id],
            data=bytes(data),
            row_time=row_time,
            peak=peak,
            drawdown=drawdown,
            drawdown_amount=amount,
            status=status,
            ended_at=ended_at,
            close_requested_at=close,
            kill_switch_since=global_since or since_by_owner.get(owner),
            closing=closing.get(run_id, {}),
            cancelled=cancelled.get(run_id, ()),
        )
        for run_id, data, row_time, peak, drawdown, amount, status, ended_at, close, owner in states
        if row_time is None or row_time < rows[run_id]
    }


def pending_closes(run_ids: Collection[str]) -> Mapping[str, Mapping[str, datetime]]:
    """Return the times of owners' requests to close positions, keyed by run and symbol."""
    requests: dict[str, dict[str, datetime]] = defaultdict(dict)
    positions = Position.objects.open().filter(run__in=run_ids, close_requested_at__isnull=False)
    for run_id, symbol, since in positions.values_list("run_id", "symbol", "close_requested_at"):
        assert since is not None
        requests[run_id][symbol] = since
    return requests


def pending_cancels(run_ids: Collection[str]) -> Mapping[str, Collection[str]]:
    """Return the symbols whose pending entries the owner has cancelled, keyed by run."""
    requests: dict[str, set[str]] = defaultdict(set)
    orders = Order.objects.filter(
        run__in=run_ids, status=OrderStatus.OPEN, cancel_requested_at__isnull=False
    )
    for run_id, symbol in orders.values_list("run_id", "symbol"):
        requests[run_id].add(symbol)
    return requests


def _is_eventful(step: BarStep) -> bool:
    """Return whether the step changes more than its state."""
    before, after = step.before, step.state
    return bool(
        len(step.fills)
        or len(step.refusals)
        or before.positions["side"].any()
        or after.positions["side"].any()
        or before.orders["pending"].any()
        or after.orders["pending"].any()
        or step.state.is_ruined
    )


def _lock(eventful: Sequence[BarStep], snapshots: Mapping[str, RunSnapshot]) -> None:
    """Lock the accounts with changes of money, then the algorithms. Raises RunsChanged."""
    moving = [step.run.account_id for step in eventful if _moves_money(step, snapshots)]
    accounts = Account.objects.locked().filter(pk__in=set(moving)).order_by("pk")
    list(accounts.values_list("pk"))
    ids = [step.run.algorithm_id for step in eventful]
    locked = Algorithm.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    statuses = dict(locked.values_list("pk", "status"))
    runs = Run.objects.filter(pk__in=[step.run.pk for step in eventful])
    for run_id, algorithm_id, ended_at, close, capital in runs.values_list(
        "pk", "algorithm_id", "ended_at", "close_requested_at", "capital"
    ):
        if (statuses[algorithm_id], ended_at, close) != snapshots[run_id].preconditions:
            raise RunsChanged
        # The context's capital is of the last row that this runner took the run through.
        snapshots[run_id].context.run.capital = capital


def _moves_money(step: BarStep, snapshots: Mapping[str, RunSnapshot]) -> bool:
    has_ended = snapshots[step.run.pk].ended_at is not None
    moves = len(step.fills) or step.fractions
    return bool(moves or has_ended or step.state.is_ruined)


def _write_rows(batches: Sequence[BarStreamBatch], now: datetime) -> None:
    """Store the rows as they were used; a new segment replaces rows of an earlier one."""
    first_rows = [
        (batch.stream.pk, batch.row.time) for batch in batches if batch.stream.segment_start is None
    ]
    execute_columns(queries.DELETE_REPLACED_ROWS, first_rows)
    BarRow.objects.bulk_create(
        [
            BarRow(
                stream=batch.stream,
                time=batch.row.time,
                bars=pack_bars(batch.row),
                read_candles=pack_read(batch.row),
                used_at=now,
            )
            for batch in batches
        ],
        ignore_conflicts=True,
    )
    execute_columns(
        queries.ADVANCE_STREAMS,
        [
            (batch.stream.pk, batch.segment_start, batch.row_time, json.dumps(batch.read_until))
            for batch in batches
        ],
    )


def _write_session_starts(
    batches: Sequence[BarStreamBatch],
    steps: Mapping[str, BarStep],
    snapshots: Mapping[str, RunSnapshot],
) -> None:
    """Store the states before the first row of a day, and before the day's splits and bonuses."""
    starts = []
    for batch in batches:
        for run_id in (context.run.pk for context in batch.contexts if context.run.pk in steps):
            account = steps[run_id].before.account
            if account["rows"][0] == 0 or account["day"][0] != batch.row.day:
                starts.append(
                    SessionStart(
                        run_id=run_id,
                        day=day_in_india(batch.row.time),
                        first_row=batch.row.time,
                        data=snapshots[run_id].data,
                        equity=account["equity"][0],
                    )
                )
    SessionStart.objects.bulk_create(starts, ignore_conflicts=True)


def _write_states(steps: Mapping[str, BarStep], snapshots: Mapping[str, RunSnapshot]) -> None:
    rows = []
    for run_id, step in steps.items():
        snapshot, equity = snapshots[run_id], float(step.state.account["equity"][0])
        peak = max(snapshot.peak, equity)
        amount = peak - equity
        percent = amount / peak * 100 if peak > 0 else 0.0
        rows.append(
            (
                run_id,
                save_state(step.state),
                snapshot.row_time,
                step.time,
                equity,
                peak,
                max(snapshot.drawdown, percent),
                max(snapshot.drawdown_amount, amount),
            )
        )
    execute_columns(queries.ADVANCE_STATES, rows)


def _end_runs(
    eventful: Sequence[BarStep], snapshots: Mapping[str, RunSnapshot], now: datetime
) -> None:
    """Fail the runs that lost their capital; release the capital of ended runs without
    positions.
    """
    for step in sorted(eventful, key=lambda step: step.run.algorithm_id):
        snapshot = snapshots[step.run.pk]
        if step.state.is_ruined and snapshot.ended_at is None:
            services.fail(
                algorithm=Algorithm.objects.get(pk=step.run.algorithm_id),
                reason=CAPITAL_LOST,
                now=now,
            )
        elif snapshot.ended_at is not None and not step.state.positions["side"].any():
            run = Run.objects.select_related("account").get(pk=step.run.pk)
            services.release_run(run=run, now=now)


@transaction.atomic
def fail_runs(stream: BarStream, reasons: Mapping[str, str], *, now: datetime) -> None:
    """Fail runs that still trade, each with its reason; their positions keep their exits.

    Do nothing if another runner has leased the stream.
    """
    if not leases.renew([stream], now=now):
        return
    live = Run.objects.live().filter(pk__in=list(reasons)).select_related("algorithm__owner")
    for run in sorted(live, key=lambda run: (run.account_id, run.algorithm_id)):
        services.fail(algorithm=run.algorithm, reason=reasons[run.pk], now=now)
