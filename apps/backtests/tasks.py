"""The jobs of this app."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from procrastinate import JobContext
from procrastinate.contrib.django import app

from apps.backtests.models import Backtest, BacktestKind, BacktestStatus, StudyShard
from apps.backtests.running import queue
from apps.core import database, files, jobs
from apps.core import requests as request_ids
from apps.core.database import is_passing
from apps.core.errors import Code
from apps.engine import EngineError

if TYPE_CHECKING:
    from apps.backtests.running.shards import LoadedStudy

log = logging.getLogger(__name__)

TOO_LITTLE_MEMORY: Final = (
    "A worker has not enough memory for it. Shorten the range, or name fewer symbols or a longer"
    " timeframe."
)


@app.task(name=queue.JOB, queue=queue.QUEUE, pass_context=True)
def use_slot(context: JobContext) -> None:
    run_next(is_stopping=context.should_abort)


def run_next(*, is_stopping: Callable[[], bool]) -> None:
    """Do the next work in the queue, if any.

    Then continue with shards of the same loaded study, while they are next and no evidence waits.
    """
    # This import loads the compiler: web processes and commands import the jobs and never run them.
    from apps.backtests.running import execution

    loaded = None
    work = queue.begin_next(now=database.now())
    while work is not None:
        backtest = queue.backtest_of(work)
        request_ids.begin_request_id(backtest.request_id)
        began = time.monotonic()
        try:
            loaded = run_attempt(work, loaded, is_stopping=is_stopping)
        except execution.StaleAttempt:
            log.info("backtest %s: attempt %d is stale", backtest.pk, backtest.attempt)
            loaded = None
        queue.charge(backtest.owner_id, time.monotonic() - began)
        if loaded is None or is_stopping() or jobs.waiting(queue.QUEUE, name=queue.EVIDENCE_JOB):
            return
        work = queue.begin_next(study=loaded.backtest, now=database.now())


def run_attempt(
    work: queue.Work, loaded: "LoadedStudy | None", *, is_stopping: Callable[[], bool]
) -> "LoadedStudy | None":
    """Simulate, and record the result or the error; requeue the work when the worker stops.

    Return a study with shards left to do; `loaded` is the study returned before. Raises
    StaleAttempt, and errors of a lost or busy database: the heartbeat then ends, and the reaper
    requeues the work.
    """
    from apps.backtests.running import execution, shards, simulating

    backtest = queue.backtest_of(work)

    def fail(code: Code, message: str) -> None:
        execution.fail(backtest=backtest, code=code, message=message, now=database.now())

    try:
        with execution.heartbeat(work) as is_stale:
            report = execution.progress_reporter(work, is_stopping=is_stopping, is_stale=is_stale)
            if isinstance(work, StudyShard):
                return shards.run_shard(work, loaded, report)
            if work.kind != BacktestKind.BACKTEST:
                return shards.run_study(work, report)
            output = simulating.run_backtest(work, report)
            execution.complete(backtest=work, output=output, now=database.now())
    except execution.WorkerStopping:
        execution.requeue(work=work)
    except execution.StaleAttempt:
        raise
    except EngineError as error:
        code = Code.INSUFFICIENT_DATA if error.is_insufficient else Code.UNPROCESSABLE_ENTITY
        fail(code, str(error))
    except MemoryError:
        fail(Code.UNPROCESSABLE_ENTITY, TOO_LITTLE_MEMORY)
    except Exception as error:
        if not is_passing(error):
            quoted = request_ids.current_request_id()
            message = f"The simulation failed; quote {quoted} when you report it."
            fail(Code.INTERNAL_SERVER_ERROR, message)
        raise
    return None


@app.task(name=queue.EVIDENCE_JOB, queue=queue.QUEUE)
def run_evidence_job(backtest_id: str) -> None:
    """Make the evidence on a backtest.

    A failure is recorded for the client; after a loss of the database the reaper requeues the job.
    """
    from apps.backtests.analysis.evidence import making
    from apps.backtests.analysis.evidence import services as evidence
    from apps.backtests.running import results

    begun = evidence.begin(backtest_id)
    if begun is None:
        return

    def fail(code: Code, message: str) -> None:
        error = {"code": code.value, "message": message}
        evidence.record_end(begun, error=error, now=database.now())

    try:
        document, fills = making.make_evidence(begun.backtest)
    except EngineError as error:
        fail(Code.UNPROCESSABLE_ENTITY, str(error))
    except Exception as error:
        if not is_passing(error):
            fail(Code.INTERNAL_SERVER_ERROR, "The evidence could not be made.")
        raise
    else:
        packed, now = results.pack_array(fills), database.now()
        evidence.record_end(begun, document=document, fills=packed, now=now)


@files.unpacked("trades_of_backtests")
def trades_of_backtests(owner_id: str) -> Iterator[files.DataRow]:
    """Yield every trade of a user's backtests, for the archive of the user's data."""
    from apps.backtests.running import results  # numeric libraries, needed by few workers

    completed = Backtest.objects.filter(owner_id=owner_id, status=BacktestStatus.COMPLETED)
    for backtest in completed.order_by("pk").only("pk", "symbols").iterator():
        for trades in results.trade_blocks(backtest):
            yield from ({"backtestId": backtest.pk, **trade} for trade in trades)
