"""A backtest's simulation in a worker: begin, simulate with no transaction open, record.

Every write says which attempt it belongs to, so a worker that was given up on cannot overwrite
another's work.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F

from apps.backtests import arrays
from apps.backtests.histories import histories_of
from apps.backtests.lifecycle import MOVES, Move
from apps.backtests.models import Backtest, BacktestResult
from apps.backtests.services import enqueue
from apps.core.errors import Code
from apps.engine import strategy as engine
from apps.engine.simulate import Result, simulate
from apps.market import store


class Superseded(Exception):
    """This attempt is no longer the one that runs: what it would write is somebody else's now."""


class Interrupted(Exception):
    """The worker is about to stop; the simulation is not done."""


def begin(*, backtest_id: str, now: datetime) -> Backtest | None:
    """Take the backtest for a new attempt; None when it is not waiting."""
    source, target = MOVES[Move.BEGIN]
    taken = Backtest.objects.filter(pk=backtest_id, status=source).update(
        status=target, started_at=now, progress=0, attempt=F("attempt") + 1
    )
    return Backtest.objects.get(pk=backtest_id) if taken else None


def run(backtest: Backtest, *, stopping: Callable[[], bool]) -> Result:
    """Simulate, reporting progress whenever it has grown by a percent.

    Raises Interrupted soon after `stopping` says so, Superseded, or what the engine refuses.
    """
    strategy = engine.parse(backtest.configuration)
    reported = 0

    def report(done: float) -> None:
        nonlocal reported
        if stopping():
            raise Interrupted
        percent = min(99, int(done * 100))
        if percent > reported:
            reported = percent
            if not backtest.report_progress(percent, attempt=backtest.attempt):
                raise Superseded

    return simulate(
        strategy,
        histories_of(strategy, start=backtest.start, end=backtest.end),
        start=backtest.start,
        end=backtest.end,
        capital=float(backtest.initial_capital),
        seed=backtest.seed,
        on_progress=report,
    )


@transaction.atomic
def complete(*, backtest: Backtest, result: Result, now: datetime) -> None:
    """Performance, trades and curve in one transaction."""
    done = backtest.move(
        Move.COMPLETE,
        attempt=backtest.attempt,
        performance=result.performance,
        receipt=_with_synthetic(result.receipt, backtest.symbols),
        progress=100,
        completed_at=now,
    )
    if not done:
        raise Superseded
    BacktestResult.objects.create(
        backtest=backtest, trades=arrays.pack(result.trades), curve=arrays.pack(result.curve)
    )


@transaction.atomic
def give_back(*, backtest: Backtest) -> None:
    """Let another worker begin anew: the job and the state that it finds, together."""
    if not backtest.move(Move.GIVE_BACK, attempt=backtest.attempt, progress=0, started_at=None):
        raise Superseded
    enqueue(backtest)


def _with_synthetic(receipt: Mapping[str, object], symbols: Sequence[str]) -> dict[str, object]:
    """A result on generated bars says so: it shows how the service works, not how a market does."""
    return {**receipt, "synthetic": store.synthetic_among(symbols)}


def fail(*, backtest: Backtest, code: Code, message: str, now: datetime) -> None:
    error = {"code": code.value, "message": message}
    backtest.move(Move.FAIL, attempt=backtest.attempt, error=error, completed_at=now)
