"""The jobs of this app."""

import logging
from collections.abc import Callable, Iterator

from procrastinate import JobContext
from procrastinate.contrib.django import app

from apps.backtests import queue
from apps.backtests.models import Backtest, BacktestStatus
from apps.core import database_clock, personal_data
from apps.core import request_id as request_ids
from apps.core.database_errors import is_passing
from apps.core.errors import Code
from apps.engine.errors import EngineError, InsufficientBars
from apps.engine.studies.windows import TooFewSessions

log = logging.getLogger(__name__)


@app.task(name=queue.JOB, queue=queue.QUEUE, pass_context=True)
def use_slot(context: JobContext) -> None:
    run_next(is_stopping=context.should_abort)


def run_next(*, is_stopping: Callable[[], bool]) -> None:
    """Run the next backtest of the queue, if there is one."""
    # This import loads the compiler: web processes and commands import the jobs and never run them.
    from apps.backtests import execution

    backtest = queue.begin_next(now=database_clock.now())
    if backtest is None:
        return
    request_ids.begin(backtest.request_id)
    try:
        run_attempt(backtest, is_stopping=is_stopping)
    except execution.StaleAttempt:
        log.info("backtest %s: attempt %d is stale", backtest.pk, backtest.attempt)


def run_attempt(backtest: Backtest, *, is_stopping: Callable[[], bool]) -> None:
    """Simulate and record the result or the error; requeue the backtest when the worker stops.

    Raises StaleAttempt. A lost or busy database is raised too: the heartbeat then ends, and the
    reaper requeues the backtest.
    """
    from apps.backtests import execution

    def fail(code: Code, message: str) -> None:
        execution.fail(backtest=backtest, code=code, message=message, now=database_clock.now())

    try:
        with execution.heartbeat(backtest) as is_stale:
            output = execution.run_backtest(backtest, is_stopping=is_stopping, is_stale=is_stale)
            execution.complete(backtest=backtest, output=output, now=database_clock.now())
    except execution.WorkerStopping:
        execution.requeue(backtest=backtest)
    except execution.StaleAttempt:
        raise
    except EngineError as error:
        is_insufficient = isinstance(error, InsufficientBars | TooFewSessions)
        fail(Code.INSUFFICIENT_DATA if is_insufficient else Code.UNPROCESSABLE_ENTITY, str(error))
    except Exception as error:
        if not is_passing(error):
            quoted = request_ids.current()
            message = f"The simulation failed; quote {quoted} when you report it."
            fail(Code.INTERNAL_SERVER_ERROR, message)
        raise


@personal_data.unpacked("trades_of_backtests")
def trades_of_backtests(owner_id: str) -> Iterator[personal_data.DataRow]:
    """Yield every trade of a user's backtests, for the archive of the user's data."""
    from apps.backtests import results  # numeric libraries, which few workers need

    completed = Backtest.objects.filter(owner_id=owner_id, status=BacktestStatus.COMPLETED)
    for backtest in completed.order_by("pk").iterator():
        trades, _ = results.load_result(backtest)
        for trade in trades.to_wire(backtest.symbols):
            yield {"backtestId": backtest.pk, **trade}
