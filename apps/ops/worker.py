"""Does the jobs of one queue until it is told to stop, whatever the database does meanwhile.

procrastinate's worker ends when it loses the database. Here a new one takes its place, with new
connections, once the database answers again.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

import psycopg
from procrastinate.contrib.django import app
from procrastinate.contrib.django.db_cleanup import close_db_connections
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import JobContext
from procrastinate.middleware import AsyncCallNext, WorkerMiddleware
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker

from apps.engine import memory
from apps.ops.supervisor import Backoff

# A backtest is all computation and gets a process to itself; the small jobs mostly wait. A turn at
# webhooks has threads of its own.
QUEUES: Final[Mapping[str, list[str]]] = {
    "small": ["small", "default", "builtin"],
    "webhooks": ["webhooks"],
    "backtests": ["backtests"],
}
CONCURRENCY: Final[Mapping[str, int]] = {"small": 4, "webhooks": 1, "backtests": 1}
# Then a backtest that still runs gives itself back to the queue.
SECONDS_TO_FINISH: Final = 5.0
SECONDS_FOR_A_CONNECTION: Final = 3.0
# Then a worker gives back the memory that its jobs have freed.
SECONDS_IDLE: Final = 2.0
# Seconds after which the waits for the database start from the shortest again.
GOOD_RUN: Final = 10.0

log = logging.getLogger(__name__)


def work(queue: str) -> None:
    """Returns after SIGTERM or SIGINT, when running jobs have ended or given themselves back."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    for name in ("procrastinate.utils", "procrastinate.worker"):
        logging.getLogger(name).addFilter(_is_news)
    asyncio.run(_until_signalled(_keep_working(queue)))


def _is_news(record: logging.LogRecord) -> bool:
    """A lost database is not: it is said once, below, and not by everybody who notices."""
    return not (record.exc_info and isinstance(record.exc_info[1], ConnectorException))


async def _until_signalled(work: Coroutine[Any, Any, None]) -> None:
    """Any: asyncio's own types. A second signal changes nothing."""
    task = asyncio.create_task(work)

    def stop() -> None:
        if not task.cancelling():
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    with suppress(asyncio.CancelledError):
        await task


async def _keep_working(queue: str) -> None:
    """One worker after another. An outage is two lines: when it begins, and when it is over."""
    backoff, gives_back = Backoff(good_run=GOOD_RUN), giving_back()
    lost_at: float | None = None
    while True:
        started = time.monotonic()
        try:
            await _require_database()
            if lost_at is not None:
                log.warning("the database is back after %.1f s", time.monotonic() - lost_at)
                lost_at = None
            await _work_once(queue, gives_back)
        except (ConnectorException, psycopg.Error) as error:
            if lost_at is None:
                lost_at = time.monotonic()
                log.warning("the database is lost and is tried again: %s", _reason(error))
        if _is_stopping():
            return
        await asyncio.sleep(backoff.ended(started=started, now=time.monotonic()))


def _is_stopping() -> bool:
    """Also when an error on the way out took the place of the cancellation."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _require_database() -> None:
    """Raises psycopg.OperationalError: the pool itself would go on trying, and say so each time."""
    connection = await psycopg.AsyncConnection.connect(**connector_params())
    await connection.close()


async def _work_once(queue: str, gives_back: WorkerMiddleware) -> None:
    """Raises what ended the worker."""
    connector = PsycopgConnector(
        kwargs=connector_params(), min_size=1, timeout=SECONDS_FOR_A_CONNECTION
    )
    with app.replace_connector(connector) as opened:
        async with opened.open_async():
            worker = WatchedWorker(
                opened,
                name=queue,
                queues=QUEUES[queue],
                concurrency=CONCURRENCY[queue],
                shutdown_graceful_timeout=SECONDS_TO_FINISH,
                delete_jobs="successful",
                install_signal_handlers=False,
                task_middleware=[close_db_connections],
                worker_middleware=[gives_back],
            )
            await worker.run()


def giving_back() -> WorkerMiddleware:
    """Around every job: when none has run for a while, what they freed is given back.

    Any: what a job returns.
    """
    loop = asyncio.get_running_loop()
    planned: asyncio.TimerHandle | None = None
    running = 0

    async def around(call_next: AsyncCallNext, context: JobContext, worker: Worker) -> Any:
        nonlocal running, planned
        if planned is not None:
            planned.cancel()
        running += 1
        try:
            return await call_next()
        finally:
            running -= 1
            if running == 0:
                planned = loop.call_later(SECONDS_IDLE, memory.give_back)

    return around


class WatchedWorker(Worker):
    """Ends when its listener or its heartbeat does, and keeps what they failed of.

    procrastinate 3.10 stops watching them as soon as any side task has ended, and without periodic
    jobs one ends at once. The worker then goes on deaf, or counts as lost while it is busy.
    """

    failure: BaseException | None = None

    async def run(self) -> None:
        try:
            await super().run()  # type: ignore[no-untyped-call]  # procrastinate left it untyped
        finally:
            # Not what then went wrong on the way out.
            if self.failure is not None:
                raise self.failure

    async def _monitor_side_tasks(self, side_tasks: list[asyncio.Task[Any]]) -> None:
        """Any: as procrastinate has it."""
        await asyncio.wait(side_tasks, return_when=asyncio.FIRST_EXCEPTION)
        failures = (task.exception() for task in side_tasks if task.done())
        self.failure = next(filter(None, failures), None)
        self.stop()  # type: ignore[no-untyped-call]  # procrastinate left it untyped


def _reason(error: BaseException) -> str:
    return str(error.__cause__ or error).strip().splitlines()[0]
