"""A backtest's simulation in a worker: simulate with no transaction open, beat, record.

Every write says which attempt it belongs to, so a worker that was given up on cannot overwrite
another's work.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Final

from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from apps.algorithms import study_results
from apps.backtests import announcements, results, turns
from apps.backtests.coverage import coverage_of_histories, first_held_days, receipt_with
from apps.backtests.histories import histories_of, most_bars
from apps.backtests.kinds import Kind
from apps.backtests.lifecycle import BEAT_SECONDS, Move, Status
from apps.backtests.models import Backtest
from apps.backtests.studies import Outcome, outcome_of
from apps.core.errors import Code
from apps.core.times import wire_time
from apps.engine.language import strategy as engine
from apps.market import store
from apps.market.contracts import market_rules_of
from apps.market.dates import day_in_india

log = logging.getLogger(__name__)

_KEPT: Final[Mapping[Kind, Callable[..., None]]] = {
    Kind.WALK_FORWARD: study_results.keep_walk_forward,
    Kind.MONTE_CARLO: study_results.keep_monte_carlo,
}
"""The kinds whose findings are kept with the algorithm too."""
REPORT_SECONDS: Final = 0.5
SHARE_OF_READING: Final = 0.3
"""Of the progress: reading the candles; the rest is the simulation."""


class Superseded(Exception):
    """This attempt is no longer the one that counts: cancelled, or given to another worker."""


class Interrupted(Exception):
    """The worker is about to stop; the simulation is not done."""


@contextmanager
def beating(backtest: Backtest) -> Iterator[Callable[[], bool]]:
    """While it lasts, say every few seconds that this worker is alive, whatever it is busy with.

    Yields a question: was the attempt superseded?
    """
    done, superseded = threading.Event(), threading.Event()

    def beat() -> None:
        while not done.wait(BEAT_SECONDS):
            try:
                if not _still_ours(backtest, beat_at=timezone.now()):
                    superseded.set()
                    break
            except (OperationalError, InterfaceError) as error:
                log.warning("backtest %s cannot beat: %s", backtest.pk, error)
                connection.close()
        connection.close()

    thread = threading.Thread(target=beat, name="beat", daemon=True)
    thread.start()
    try:
        yield superseded.is_set
    finally:
        done.set()
        thread.join()


def _still_ours(backtest: Backtest, **changes: object) -> bool:
    mine = Backtest.objects.attempt(backtest).filter(status=Status.RUNNING)
    return bool(mine.update(**changes))


def run(
    backtest: Backtest,
    *,
    stopping: Callable[[], bool],
    superseded: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Simulate, and report progress every half second.

    Raises Interrupted or Superseded soon after `stopping` or `superseded` say so, or what the
    engine refuses.
    """
    strategy = engine.parse(backtest.configuration)
    reported = clock()

    def report(done: float) -> None:
        nonlocal reported
        if stopping():
            raise Interrupted
        if superseded():
            raise Superseded
        if clock() - reported >= REPORT_SECONDS:
            reported = clock()
            percent = min(99, int(done * 100))
            if not _still_ours(backtest, progress=percent, beat_at=timezone.now()):
                raise Superseded

    def report_simulated(done: float) -> None:
        report(SHARE_OF_READING + (1 - SHARE_OF_READING) * done)

    def report_read(done: float) -> None:
        report(SHARE_OF_READING * done)

    rules = market_rules_of(
        strategy, first=day_in_india(backtest.start), last=day_in_india(backtest.end)
    )
    histories = histories_of(
        rules,
        start=backtest.start,
        end=backtest.end,
        most_bars=most_bars(Kind(backtest.kind)),
        on_progress=report_read,
    )
    outcome = outcome_of(backtest, strategy, histories, rules.schedule, report=report_simulated)
    coverage = coverage_of_histories(
        histories,
        backtest.timeframe,
        start=backtest.start,
        end=backtest.end,
        now=backtest.created_at,
        include_out_of_session=strategy.executionSettings.includeOutOfSession,
        since=first_held_days(backtest.symbols, backtest.timeframe),
    )
    return replace(outcome, coverage=tuple(coverage))


@transaction.atomic
def complete(*, backtest: Backtest, outcome: Outcome, now: datetime) -> None:
    """Performance, trades, curve and findings in one transaction. Raises Superseded."""
    result = outcome.result
    done = Backtest.objects.attempt(backtest).move(
        Move.COMPLETE,
        performance=result.performance,
        findings=outcome.findings,
        receipt=_receipt(outcome, backtest),
        progress=100,
        completed_at=now,
    )
    if not done:
        raise Superseded
    trades = results.Trades(result.trades, result.excursions, result.fills)
    results.store(backtest, trades=trades, curve=result.curve)
    _keep_with_algorithm(backtest, outcome.findings, now)
    announcements.completed(backtest, now=now)


def _keep_with_algorithm(
    backtest: Backtest, findings: Mapping[str, object] | None, now: datetime
) -> None:
    kept = _KEPT.get(Kind(backtest.kind))
    if kept is not None:
        asked = {
            "backtestId": backtest.pk,
            "algorithmVersion": backtest.algorithm_version,
            "startDate": backtest.start_date,
            "endDate": backtest.end_date,
            "completedAt": wire_time(now),
        }
        kept(algorithm_id=backtest.algorithm_id, results={**asked, **(findings or {})}, now=now)


def _receipt(outcome: Outcome, backtest: Backtest) -> dict[str, object]:
    """What the result rests on, and its own hash: equal results can be told without reading them.

    `coverage` says how much of the range is held, and a warning of too little leads the notes.
    `synthetic` names the symbols whose bars were generated: a result on those shows how the service
    works, not how a market does.
    """
    return {
        **receipt_with(outcome.result.receipt, outcome.coverage),
        **outcome.hashes(backtest.study),
        "synthetic": store.synthetic_symbols(backtest.symbols),
    }


@transaction.atomic
def give_back(*, backtest: Backtest) -> None:
    """Let another worker begin anew: the state and the turn, together. Raises Superseded."""
    given = Backtest.objects.attempt(backtest).move(Move.GIVE_BACK, progress=0, started_at=None)
    if not given:
        raise Superseded
    turns.grant()


@transaction.atomic
def fail(*, backtest: Backtest, code: Code, message: str, now: datetime) -> None:
    """Raises Superseded."""
    error = {"code": code.value, "message": message}
    if not Backtest.objects.attempt(backtest).move(Move.FAIL, error=error, completed_at=now):
        raise Superseded
    announcements.failed(backtest, error, now=now)
