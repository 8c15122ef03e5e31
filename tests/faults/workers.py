"""Worker processes that a test may kill and freeze, and the database's own record of their
writes.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Final
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import connection

from tests.faults.service import COMPILED
from tests.processes import PROJECT

RECORD: Final = """
CREATE TABLE record (
    at timestamptz DEFAULT clock_timestamp(),
    writer text DEFAULT current_setting('application_name'),
    backtest text, old_status text, new_status text, old_attempt int, new_attempt int
);
CREATE FUNCTION record_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO record (backtest, old_status, new_status, old_attempt, new_attempt)
    VALUES (OLD.id, OLD.status, NEW.status, OLD.attempt, NEW.attempt);
    RETURN NULL;
END $$;
CREATE TRIGGER record_write AFTER UPDATE ON backtests_backtest
    FOR EACH ROW EXECUTE FUNCTION record_write();
"""
FORGET: Final = """
DROP TRIGGER record_write ON backtests_backtest;
DROP FUNCTION record_write;
DROP TABLE record;
TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE;
"""
# Writes to a running backtest by another process than the one that began the attempt; requeueing is
# excluded, because the sweep runs in every worker.
FOREIGN: Final = """
SELECT count(*) FROM record AS written
JOIN record AS begun ON begun.backtest = written.backtest
    AND begun.new_attempt = written.old_attempt AND begun.old_status = 'queued'
    AND begun.new_status = 'running'
WHERE written.old_status = 'running' AND written.new_status <> 'queued'
    AND written.writer <> begun.writer
"""
RUNS: Final = """
SELECT backtests_backtest.id, attempt, losses FROM backtests_backtest
JOIN record ON record.backtest = backtests_backtest.id AND record.new_attempt = attempt
    AND record.old_status = 'queued' AND record.new_status = 'running'
WHERE status = 'running' AND writer = %s
"""
BEGAN: Final = """
SELECT count(*) FROM record
WHERE old_status = 'queued' AND new_status = 'running' AND writer = %s AND at > %s
"""


@contextmanager
def recorded() -> Iterator[None]:
    """During the block, the database records every change of a backtest with its process."""
    with connection.cursor() as cursor:
        cursor.execute(RECORD)
        try:
            yield
        finally:
            cursor.execute(FORGET)


def foreign_writes() -> int:
    return _count(FOREIGN)


@dataclass(frozen=True, slots=True)
class Run:
    """The present run of a worker."""

    backtest: str
    attempt: int
    losses: int


@dataclass(slots=True)
class Worker:
    """Successive processes that work on a queue; each has its own name."""

    number: int
    log: IO[bytes]
    queue: str = "backtests"
    started: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return f"worker-{self.number}-{self.started}"

    def start(self) -> None:
        self.started += 1
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "work", "--queue", self.queue],
            cwd=PROJECT,
            env=environment_of_test_database(self.name),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def has_ended(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None

    def runs(self) -> Run | None:
        with connection.cursor() as cursor:
            cursor.execute(RUNS, [self.name])
            row = cursor.fetchone()
        return Run(*row) if row else None

    def has_begun_another(self, since: datetime) -> bool:
        return _count(BEGAN, self.name, since) > 0


@contextmanager
def working(count: int, directory: Path, queue: str = "backtests") -> Iterator[list[Worker]]:
    """Run workers of the test's own database."""
    with (directory / "workers.log").open("wb") as log:
        workers = [Worker(number, log, queue) for number in range(count)]
        try:
            for worker in workers:
                worker.start()
            yield workers
        finally:
            for worker in workers:
                worker.kill()


def environment_of_test_database(name: str) -> Mapping[str, str]:
    database = connection.settings_dict
    server = {"host": database["HOST"], "port": database["PORT"] or "5432"}
    account = ":".join(quote(database[part], safe="") for part in ("USER", "PASSWORD"))
    query = urlencode({**server, "application_name": name})
    address = f"postgresql://{account}@/{database['NAME']}?{query}"
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": address,
        "SECRET_KEY": settings.SECRET_KEY,
        "NUMBA_CACHE_DIR": str(COMPILED),
    }


def _count(query: str, *values: str | datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        (count,) = cursor.fetchone()
    return int(count)
