"""A backtest's simulation in a worker: simulate with no transaction open, beat, record.

Every write says which attempt it belongs to, so a worker that was given up on cannot overwrite
another's work.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from apps.backtests import announcements, arrays, results, turns
from apps.backtests.histories import histories_of
from apps.backtests.lifecycle import BEAT_SECONDS, Move, Status
from apps.backtests.models import Backtest
from apps.core.errors import Code
from apps.engine import strategy as engine
from apps.engine.simulate import Result, simulate
from apps.market import store
from apps.market.contracts import rules_of
from apps.market.moments import day_in_india

log = logging.getLogger(__name__)

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
) -> Result:
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

    rules = rules_of(strategy, first=day_in_india(backtest.start), last=day_in_india(backtest.end))
    return simulate(
        strategy,
        histories_of(rules, start=backtest.start, end=backtest.end, on_progress=report_read),
        start=backtest.start,
        end=backtest.end,
        capital=float(backtest.initial_capital),
        schedule=rules.schedule,
        seed=backtest.seed,
        on_progress=report_simulated,
    )


@transaction.atomic
def complete(*, backtest: Backtest, result: Result, now: datetime) -> None:
    """Performance, trades and curve in one transaction. Raises Superseded."""
    done = Backtest.objects.attempt(backtest).move(
        Move.COMPLETE,
        performance=result.performance,
        receipt=_receipt(result, backtest.symbols),
        progress=100,
        completed_at=now,
    )
    if not done:
        raise Superseded
    results.store(backtest, trades=result.trades, curve=result.curve)
    announcements.completed(backtest, now=now)


def _receipt(result: Result, symbols: Sequence[str]) -> dict[str, object]:
    """What the result rests on, and its own hash: equal results can be told without reading them.

    `synthetic` names the symbols whose bars were generated: a result on those shows how the service
    works, not how a market does.
    """
    digest = arrays.digest(result.trades, result.curve)
    return {**result.receipt, "result": digest, "synthetic": store.synthetic_among(symbols)}


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
