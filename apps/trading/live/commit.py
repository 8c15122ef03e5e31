"""Commit one bar row of several streams, for some of their runs, in one transaction.

Locks in this order: streams by their ids, switches, accounts, algorithms, what belongs to them,
events. What a run does is worked out before it is known whose rows must be locked for it; whoever
was stopped or paused meanwhile makes the whole attempt begin anew.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.db import connection, transaction

from apps.algorithms.models import Algorithm
from apps.engine.errors import EngineError
from apps.engine.kernel.codes import RUINED
from apps.engine.kernel.records import save
from apps.market.dates import day_in_india
from apps.trading import kill_switches, services, wishes
from apps.trading.bar_rows import BarSnapshot, packed
from apps.trading.booking.record import book_steps
from apps.trading.live import leases
from apps.trading.live.contract_terms import ContractTerms
from apps.trading.live.step import BarChanges, RunContext, RunSnapshot, SignalInput, play
from apps.trading.models import Account, BarRow, BarStream, Run, RunState, SessionStart
from apps.trading.step_result import BarStep

ATTEMPTS: Final = 5
_ADVANCE: Final = f"""
    UPDATE {RunState._meta.db_table} AS state SET data = new.data, row_time = new.row_time,
        equity = new.equity, peak = new.peak, drawdown = new.drawdown,
        drawdown_amount = new.drawdown_amount
    FROM unnest(%s::text[], %s::bytea[], %s::int8[], %s::int8[], %s::float8[], %s::float8[],
        %s::float8[], %s::float8[])
        AS new (run_id, data, before, row_time, equity, peak, drawdown, drawdown_amount)
    WHERE state.run_id = new.run_id AND state.row_time IS NOT DISTINCT FROM new.before
"""
_MAKE_WAY: Final = f"""
    DELETE FROM {BarRow._meta.db_table} AS used
    USING unnest(%s::int8[], %s::int8[]) AS new (stream_id, time)
    WHERE used.lane_id = new.stream_id AND used.time >= new.time
"""
_GO_ON: Final = f"""
    UPDATE {BarStream._meta.db_table} AS stream SET began = new.began, row_time = new.row_time
    FROM unnest(%s::int8[], %s::int8[], %s::int8[]) AS new (id, began, row_time)
    WHERE stream.id = new.id
"""

Faults = dict[str, EngineError]
"""By run, why the engine cannot go on with it."""


class ConcurrentUpdate(Exception):
    """Somebody stopped, paused or resumed a run while its step was being worked out."""


class BatchResult(NamedTuple):
    """The ids of streams that were still the runner's, and the runs that cannot go on."""

    held: Collection[int]
    faults: Faults


@dataclass(frozen=True, slots=True, eq=False)
class BarStreamBatch:
    """One row for some runs of a stream, and all that their steps need beside their states.

    With `completes` it is the last of the row's: the stream goes on to the next row.
    """

    stream: BarStream
    row: BarSnapshot
    contexts: Sequence[RunContext]
    cues: Mapping[str, SignalInput]
    terms: Mapping[str, ContractTerms]
    changes: BarChanges
    completes: bool

    @property
    def stream_after(self) -> tuple[int, int, int | None]:
        """The stream's id, when its stretch began, and the last row that all its runs have seen."""
        began = self.row.time if self.stream.segment_start is None else self.stream.segment_start
        return self.stream.pk, began, self.row.time if self.completes else self.stream.row_time


def advance(rounds: Sequence[BarStreamBatch], *, now: datetime) -> BatchResult:
    """Take the runs that have not been through their row through it; skip the streams that another
    runner has leased.
    """
    done = _in_the_end(rounds, now)
    for one in rounds:
        if one.stream.pk in done.held:
            _, one.stream.segment_start, one.stream.row_time = one.stream_after
    return done


def _in_the_end(rounds: Sequence[BarStreamBatch], now: datetime) -> BatchResult:
    for _ in range(ATTEMPTS - 1):
        with suppress(ConcurrentUpdate):
            return _advance(rounds, now)
    return _advance(rounds, now)


@transaction.atomic
def _advance(rounds: Sequence[BarStreamBatch], now: datetime) -> BatchResult:
    held = leases.renew([one.stream for one in rounds], now=now)
    rounds = [one for one in rounds if one.stream.pk in held]
    standings = _standings(rounds)
    steps, faults = _played(rounds, standings)
    eventful = [steps[run_id] for run_id in sorted(steps) if _is_eventful(steps[run_id])]
    _lock(eventful, standings)
    _keep_rows(rounds, now)
    _keep_session_starts(rounds, steps, standings)
    book_steps(eventful, now=now)
    _keep_states(steps, standings)
    _end(eventful, standings, now)
    return BatchResult(held, faults)


def _played(
    rounds: Sequence[BarStreamBatch], standings: Mapping[str, RunSnapshot]
) -> tuple[dict[str, BarStep], Faults]:
    steps, faults = {}, {}
    for one in rounds:
        for run_id in (context.run.pk for context in one.contexts if context.run.pk in standings):
            standing, terms = standings[run_id], one.terms[run_id]
            cue = one.cues[standing.context.ear]
            try:
                steps[run_id] = play(standing, one.row, cue, terms, one.changes)
            except EngineError as error:
                faults[run_id] = error
    return steps, faults


# --------------------------------------------------------------------------------------- reading


def _standings(rounds: Sequence[BarStreamBatch]) -> dict[str, RunSnapshot]:
    """By run, of those that have not been through their row."""
    contexts = {context.run.pk: context for one in rounds for context in one.contexts}
    rows = {context.run.pk: one.row.time for one in rounds for context in one.contexts}
    owners = sorted({context.run.account_id for context in contexts.values()})
    halted_all, halted = kill_switches.share_engaged_since(owners)
    closing, cancelled = wishes.closing(contexts), wishes.cancelled(contexts)
    states = RunState.objects.filter(run__in=list(contexts)).values_list(
        "run_id", "data", "row_time", "peak", "drawdown", "drawdown_amount",
        "run__algorithm__status", "run__ended_at", "run__close_requested_at", "run__account_id",
    )  # fmt: skip
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
            halted_since=halted_all or halted.get(owner),
            closing=closing.get(run_id, {}),
            cancelled=cancelled.get(run_id, ()),
        )
        for run_id, data, row_time, peak, drawdown, amount, status, ended_at, close, owner in states
        if row_time is None or row_time < rows[run_id]
    }


def _is_eventful(step: BarStep) -> bool:
    """Whether anything is to be written of it beside its state."""
    before, after = step.before.positions, step.state.positions
    return bool(
        len(step.fills) or len(step.refusals) or before["side"].any() or after["side"].any()
        or before["pending"].any() or after["pending"].any()
        or step.state.account["status"][0] == RUINED
    )  # fmt: skip


def _lock(eventful: Sequence[BarStep], standings: Mapping[str, RunSnapshot]) -> None:
    """The accounts whose money moves, then the algorithms. Raises ConcurrentUpdate."""
    moving = [step.run.account_id for step in eventful if _moves_money(step, standings)]
    accounts = Account.objects.locked().filter(pk__in=set(moving)).order_by("pk")
    list(accounts.values_list("pk"))
    ids = [step.run.algorithm_id for step in eventful]
    locked = Algorithm.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    statuses = dict(locked.values_list("pk", "status"))
    runs = Run.objects.filter(pk__in=[step.run.pk for step in eventful])
    for run_id, algorithm_id, ended_at, close, part in runs.values_list(
        "pk", "algorithm_id", "ended_at", "close_requested_at", "capital"
    ):
        if (statuses[algorithm_id], ended_at, close) != standings[run_id].wanted:
            raise ConcurrentUpdate
        # What is kept in memory is of the last row that this runner took the run through.
        standings[run_id].context.run.capital = part


def _moves_money(step: BarStep, standings: Mapping[str, RunSnapshot]) -> bool:
    ended = standings[step.run.pk].ended_at is not None
    moved = len(step.fills) or step.fractions
    return bool(moved or ended or step.state.account["status"][0] == RUINED)


# --------------------------------------------------------------------------------------- writing


def _keep_rows(rounds: Sequence[BarStreamBatch], now: datetime) -> None:
    """The rows as they were used, by the first of their rounds; what an earlier stretch used at
    that time or later makes way.
    """
    new = [(one.stream.pk, one.row.time) for one in rounds if one.stream.segment_start is None]
    used = [
        BarRow(stream=one.stream, time=one.row.time, bars=packed(one.row), used_at=now)
        for one in rounds
    ]
    after = [one.stream_after for one in rounds]
    with connection.cursor() as cursor:
        if new:
            cursor.execute(_MAKE_WAY, [list(column) for column in zip(*new, strict=True)])
        BarRow.objects.bulk_create(used, ignore_conflicts=True)
        cursor.execute(_GO_ON, [list(column) for column in zip(*after, strict=True)])


def _keep_session_starts(
    rounds: Sequence[BarStreamBatch],
    steps: Mapping[str, BarStep],
    standings: Mapping[str, RunSnapshot],
) -> None:
    """Of the runs that have not been in a row of this day: their states before its first row, and
    before splits and bonuses of the day.
    """
    befores = (
        (one.row, run_id, steps[run_id].before)
        for one in rounds
        for run_id in (context.run.pk for context in one.contexts)
        if run_id in steps
    )
    starts = [
        SessionStart(
            run_id=run_id,
            day=day_in_india(row.time),
            first_row=row.time,
            data=standings[run_id].data,
            equity=before.account["equity"][0],
        )
        for row, run_id, before in befores
        if before.account["rows"][0] == 0 or before.account["day"][0] != row.day
    ]
    SessionStart.objects.bulk_create(starts, ignore_conflicts=True)


def _keep_states(steps: Mapping[str, BarStep], standings: Mapping[str, RunSnapshot]) -> None:
    """One conditional UPDATE: a run that is not where it was is left as it is."""
    columns: list[list[object]] = [[] for _ in range(8)]
    for run_id, step in steps.items():
        standing, equity = standings[run_id], float(step.state.account["equity"][0])
        peak = max(standing.peak, equity)
        fall = peak - equity
        percent = fall / peak * 100 if peak > 0 else 0.0
        values = (
            run_id, save(step.state), standing.row_time, step.time, equity, peak,
            max(standing.drawdown, percent), max(standing.drawdown_amount, fall),
        )  # fmt: skip
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    with connection.cursor() as cursor:
        cursor.execute(_ADVANCE, columns)


def _end(eventful: Sequence[BarStep], standings: Mapping[str, RunSnapshot], now: datetime) -> None:
    """Give up the runs whose money is gone, and give back the capital of those that are done."""
    for step in sorted(eventful, key=lambda step: step.run.algorithm_id):
        standing = standings[step.run.pk]
        if step.state.account["status"][0] == RUINED and standing.ended_at is None:
            services.fail(
                algorithm=Algorithm.objects.get(pk=step.run.algorithm_id),
                reason="its capital is lost",
                now=now,
            )
        elif standing.ended_at is not None and not step.state.positions["side"].any():
            run = Run.objects.select_related("account").get(pk=step.run.pk)
            services.release(run=run, now=now)


@transaction.atomic
def give_up(stream: BarStream, reasons: Mapping[str, str], *, now: datetime) -> None:
    """Runs, each for its reason, that are errors from now on if they still trade; what they hold
    stays, with its exits. Nothing happens if somebody else has taken the stream.
    """
    if not leases.renew([stream], now=now):
        return
    live = Run.objects.live().filter(pk__in=list(reasons)).select_related("algorithm__owner")
    for run in sorted(live, key=lambda one: (one.account_id, one.algorithm_id)):
        services.fail(algorithm=run.algorithm, reason=reasons[run.pk], now=now)
