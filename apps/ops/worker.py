"""Do the jobs of one queue until a signal to stop, also when the database is away for a while.

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
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.worker import Worker

from apps.ops.supervisor import Backoff

# A backtest is all computation and gets a process to itself; the small jobs mostly wait. The
# dispatch of webhooks has threads of its own.
QUEUES: Final[Mapping[str, list[str]]] = {
    "small": ["small", "default", "builtin"],
    "webhooks": ["webhooks"],
    "backtests": ["backtests"],
}
CONCURRENCY: Final[Mapping[str, int]] = {"small": 4, "webhooks": 1, "backtests": 1}
# After that, a backtest that still runs is requeued.
_SECONDS_TO_FINISH: Final = 5.0
SECONDS_FOR_A_CONNECTION: Final = 3.0
# Seconds after which the backoff starts from the shortest wait again.
_GOOD_RUN: Final = 10.0

log = logging.getLogger(__name__)


def work(queue: str) -> None:
    """Work until SIGTERM or SIGINT; running jobs then end or are requeued."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    for name in ("procrastinate.utils", "procrastinate.worker"):
        logging.getLogger(name).addFilter(_is_no_lost_database)
    asyncio.run(_until_signalled(_keep_working(queue)))


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


async def _keep_working(queue: str) -> None:
    """Run one worker after another. An outage is logged when it begins and when it is over."""
    backoff = Backoff(good_run=_GOOD_RUN)
    lost_at: float | None = None
    while True:
        started = time.monotonic()
        try:
            await _require_database()
            if lost_at is not None:
                log.warning("the database is back after %.1f s", time.monotonic() - lost_at)
                lost_at = None
            await _work_once(queue)
        except (ConnectorException, psycopg.Error) as error:
            if lost_at is None:
                lost_at = time.monotonic()
                log.warning("the database is lost and is tried again: %s", _reason(error))
        if _is_stopping():
            return
        await asyncio.sleep(backoff.ended(started=started, now=time.monotonic()))


def _is_stopping() -> bool:
    """Return True also when an error on the way out has replaced the cancellation."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _require_database() -> None:
    """Raises psycopg.OperationalError. The pool itself would try on, and log each time."""
    connection = await psycopg.AsyncConnection.connect(**connector_params())
    await connection.close()


async def _work_once(queue: str) -> None:
    """Run a worker; raises the error that ended it."""
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
                shutdown_graceful_timeout=_SECONDS_TO_FINISH,
                delete_jobs="successful",
                install_signal_handlers=False,
                task_middleware=[close_db_connections],
            )
            await worker.run()


class WatchedWorker(Worker):
    """A worker that ends when its listener or its heartbeat does, with their error.

    procrastinate 3.10 stops watching them as soon as any side task has ended, and without periodic
    jobs one ends at once. The worker then hears of no new jobs, or counts as lost while it is busy.
    """

    failure: BaseException | None = None

    async def run(self) -> None:
        try:
            await super().run()  # type: ignore[no-untyped-call]  # procrastinate left it untyped
        finally:
            # Instead of an error that followed from it on the way out.
            if self.failure is not None:
                raise self.failure

    async def _monitor_side_tasks(self, side_tasks: list[asyncio.Task[Any]]) -> None:
        await asyncio.wait(side_tasks, return_when=asyncio.FIRST_EXCEPTION)
        failures = (task.exception() for task in side_tasks if task.done())
        self.failure = next(filter(None, failures), None)
        self.stop()  # type: ignore[no-untyped-call]  # procrastinate left it untyped


def _reason(error: BaseException) -> str:
    return str(error.__cause__ or error).strip().splitlines()[0]
