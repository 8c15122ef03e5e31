"""Do the jobs of some queues until a signal to stop, also through an outage of the database.
procrastinate's worker ends when it loses the database.

Here a new one replaces it, with new connections, once the database answers again.
"""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import psycopg
from django.db import Error, connection
from procrastinate import App
from procrastinate.contrib.django import app
from procrastinate.contrib.django.db_cleanup import close_db_connections
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import JobContext
from procrastinate.middleware import AsyncCallNext
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker

from apps.backtests import services as backtests
from apps.core import database
from apps.core.machine import process_name
from apps.ops.database import timeouts
from apps.ops.processes import presence
from apps.ops.processes.reaper import REAPERS, reaping
from apps.ops.processes.supervisor import Backoff, Kill

# A backtest is all computation and gets a process to itself; the small jobs mostly wait. The
# dispatch of webhooks has threads of its own.
QUEUES: Final[Mapping[str, list[str]]] = {
    "small": ["small", "default", "builtin", "replays"],
    "webhooks": ["webhooks"],
    "backtests": ["backtests"],
}
CONCURRENCY: Final[Mapping[str, int]] = {"small": 4, "webhooks": 1, "backtests": 1}
# After that, a backtest that still runs is requeued.
_SECONDS_TO_FINISH: Final = 2.0
_SECONDS_BETWEEN_LOOKS: Final = 1.0
SECONDS_FOR_A_CONNECTION: Final = 3.0
# After this time the backoff starts from the shortest wait again.
_GOOD_RUN: Final = 10.0
# Kilobytes that a worker may hold, after a job, beyond those it began with.
_MOST_GROWTH: Final = 128 * 1024
MEMORY: Final = Path("/proc/self/status")

log = logging.getLogger(__name__)


def work(queues: Sequence[str], *, is_replaced: bool = False) -> None:
    """Work until SIGTERM or SIGINT; running jobs then end or are requeued.

    A worker that `is_replaced` at its end also ends after a job that has made it large.
    """
    timeouts.apply(timeouts.WORKER)
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    workers = [f"procrastinate.worker.{queue}" for queue in queues]  # each has a logger
    for name in ("procrastinate.utils", "procrastinate.worker", *workers):
        logging.getLogger(name).addFilter(_is_no_lost_database)
    if "backtests" in queues:
        os.nice(5)  # on a small machine, web answers first
    growth = Growth(most=_MOST_GROWTH if is_replaced else None)
    with presence.present("+".join(queues)) as report, reaping(report, *REAPERS):
        asyncio.run(_until_signalled(_keep_working(queues, growth)))


def give_up_work(kill: Kill) -> None:
    """Give up the work of the previous, killed worker at once.

    Without the database the reaper does it later, when that worker has been silent for long.
    """
    timeouts.apply(timeouts.WORKER)
    try:
        backtests.give_up_killed(
            process_name(kill.pid), for_memory=kill.for_memory, now=database.now()
        )
    except Error as error:
        log.warning("the jobs of a killed worker are requeued later: %s", error)
    finally:
        connection.close()


class Growth:
    """Stops a worker after a job that has made its process large.

    Memory freed by a job is not always returned to the system; a new process begins small.
    """

    def __init__(self, *, most: int | None) -> None:
        self.is_over = False
        self._most = most
        self._began = memory()

    async def check(self, call_next: AsyncCallNext, context: JobContext, worker: Worker) -> Any:
        """Do a job, as a middleware of its worker."""
        try:
            return await call_next()
        finally:
            growth = memory() - self._began
            if self._most is not None and growth > self._most:
                log.info(
                    "this worker has grown by %d MB: another one takes its place", growth / 1024
                )
                self.is_over = True
                worker.stop()  # type: ignore[no-untyped-call]  # procrastinate left it untyped


def memory() -> int:
    """Return the kilobytes of this process without file pages; 0 if the system does not tell."""
    if not MEMORY.exists():
        return 0
    lines = MEMORY.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def _is_no_lost_database(record: logging.LogRecord) -> bool:
    """Return False for a lost database, which is logged once, below."""
    return not (record.exc_info and isinstance(record.exc_info[1], ConnectorException))


async def _until_signalled(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(work)

    def stop() -> None:
        if not task.cancelling():
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    with suppress(asyncio.CancelledError):
        await task


async def _keep_working(queues: Sequence[str], growth: Growth) -> None:
    """Work in one attempt after another. An outage is logged at its beginning and at its end."""
    backoff = Backoff(good_run=_GOOD_RUN)
    lost_at: float | None = None
    while not growth.is_over:
        started = time.monotonic()
        try:
            await _require_database()
            await _until_fit()
            if lost_at is not None:
                log.warning("the database is back after %.1f s", time.monotonic() - lost_at)
                lost_at = None
            await _work_once(queues, growth)
        except* (ConnectorException, psycopg.Error) as errors:
            if lost_at is None:
                lost_at = time.monotonic()
                log.warning("the database is lost and is tried again: %s", _reason(errors))
        if _is_stopping():
            return
        if not growth.is_over:
            await asyncio.sleep(backoff.ended(started=started, now=time.monotonic()))


def _is_stopping() -> bool:
    """Return True even if an error during shutdown has replaced the cancellation."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _require_database() -> None:
    """Connect, and compare the clocks, before taking the first job.

    Raises psycopg.OperationalError. The pool itself would retry, and log each time.
    """
    connection = await psycopg.AsyncConnection.connect(**connector_params())
    async with connection:
        begun = time.time()
        [database_seconds] = await (await connection.execute(database.CLOCK_QUERY)).fetchone() or [
            0
        ]
        database.machine_clock.note(database_seconds, begun=begun, ended=time.time())


async def _until_fit() -> None:
    """Wait while this machine takes no work, and log that once."""
    reason = presence.idle_reason()
    if not reason:
        return
    log.error("this worker takes no work: %s", reason)
    while presence.idle_reason():
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
    log.warning("this worker takes work again")


async def _until_unfit() -> None:
    while not presence.idle_reason():
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)


async def _work_once(queues: Sequence[str], growth: Growth) -> None:
    """Run a worker for each queue until all are stopped, one has ended, such as by an error, or
    this machine takes no more work.
    """
    connector = PsycopgConnector(
        kwargs=connector_params(), min_size=1, timeout=SECONDS_FOR_A_CONNECTION
    )
    with app.replace_connector(connector) as opened:
        async with opened.open_async(), asyncio.TaskGroup() as group:
            workers = [_worker(opened, queue, growth) for queue in queues]
            tasks = [group.create_task(_run(worker)) for worker in workers]
            unfit = group.create_task(_until_unfit())
            await asyncio.wait([*tasks, unfit], return_when=asyncio.FIRST_COMPLETED)
            unfit.cancel()
            for worker in workers:
                worker.stop()  # type: ignore[no-untyped-call]  # procrastinate left it untyped


def _worker(opened: App, queue: str, growth: Growth) -> Worker:
    return Worker(
        opened,
        name=queue,
        queues=QUEUES[queue],
        concurrency=CONCURRENCY[queue],
        shutdown_graceful_timeout=_SECONDS_TO_FINISH,
        delete_jobs="successful",
        install_signal_handlers=False,
        task_middleware=[close_db_connections],
        worker_middleware=[growth.check],
    )


async def _run(worker: Worker) -> None:
    await worker.run()  # type: ignore[no-untyped-call]  # procrastinate left it untyped


def _reason(errors: BaseExceptionGroup[Exception]) -> str:
    error = errors.exceptions[0]
    return str(error.__cause__ or error).strip().splitlines()[0]
