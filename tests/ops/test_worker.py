"""A worker outlives its database, and ends on a signal, whatever it is doing."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from procrastinate import App, testing
from procrastinate.worker import Worker

from apps.ops.database.local_postgres import LocalServer, running
from apps.ops.processes.worker import MEMORY, Growth, memory
from tests.ops.servers import connect, postmaster, scratch
from tests.processes import PROJECT, is_alive, until

pytestmark = pytest.mark.timeout(180)

STOPS = (signal.SIGINT, signal.SIGTERM)
WORK = [sys.executable, "manage.py", "work", "--queue", "small"]
A_JOB = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, args)
    VALUES ('builtin', 'builtin:procrastinate.builtin_tasks.remove_old_jobs', '{"max_hours": 72}')
"""
OTHER_CONNECTIONS = """
    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A separate database, and the log file of its workers."""

    directory: Path
    server: LocalServer

    @property
    def log(self) -> Path:
        return self.directory / "worker.log"

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        own = {"DATA_DIR": str(self.directory), "DJANGO_SETTINGS_MODULE": "config.settings"}
        return inherited | own

    def manage(self, *words: str) -> None:
        command = [sys.executable, "manage.py", *words]
        subprocess.run(command, cwd=PROJECT, env=self.environment(), check=True)

    def times_said(self, words: str) -> int:
        return self.log.read_text().count(words)

    def kill_database(self) -> None:
        pid = postmaster(self.server)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_alive(pid))

    def ask(self, question: str) -> list[tuple[object, ...]]:
        with connect(self.server) as connection:
            return connection.execute(question).fetchall()

    def listeners(self) -> int:
        return len(self.ask(f"SELECT 1 {OTHER_CONNECTIONS} AND query LIKE 'LISTEN%'"))

    def does_a_job(self) -> None:
        """Enqueue a job and wait until it is done and its row deleted."""
        with connect(self.server) as connection:
            connection.execute(A_JOB)
        until(lambda: not self.ask("SELECT 1 FROM procrastinate_jobs"))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with scratch() as directory, running(directory, durable=False) as server:
        made = Site(directory, server)
        made.manage("migrate", "--verbosity", "0")
        yield made


@contextmanager
def working(site: Site) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker; kill it at the end if it has not ended."""
    with (
        site.log.open("wb") as log,
        subprocess.Popen(WORK, cwd=PROJECT, env=site.environment(), stderr=log) as worker,
    ):
        try:
            yield worker
        finally:
            worker.kill()


@pytest.mark.slow
def test_a_worker_survives_a_cut_of_each_of_its_connections(site: Site) -> None:
    with working(site) as worker:
        until(site.listeners)
        site.does_a_job()
        for (pid,) in site.ask(f"SELECT pid {OTHER_CONNECTIONS}"):
            site.ask(f"SELECT pg_terminate_backend({pid})")
            until(lambda pid=pid: (pid,) not in site.ask(f"SELECT pid {OTHER_CONNECTIONS}"))  # type: ignore[misc]  # mypy infers no lambda with a default
            until(site.listeners)
            site.does_a_job()
        assert worker.poll() is None


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 4.0])
def test_a_worker_waits_for_a_missing_database(site: Site, seconds: float) -> None:
    with working(site) as worker:
        until(site.listeners)
        site.kill_database()
        time.sleep(seconds)
        site.server.start()
        until(site.listeners)
        site.does_a_job()
        assert worker.poll() is None
        assert site.times_said("the database is lost") <= 1
        assert site.times_said("the database is back") == site.times_said("the database is lost")
        assert "Traceback" not in site.log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", STOPS)
@pytest.mark.parametrize("seconds", [0.5, 5.0])
def test_a_worker_ends_cleanly_on_sigterm_while_the_database_is_away(
    site: Site, number: signal.Signals, seconds: float
) -> None:
    with working(site) as worker:
        until(site.listeners)
        site.kill_database()
        time.sleep(seconds)
        worker.send_signal(number)
        try:
            assert worker.wait(20) == 0
        finally:
            site.server.start()


@pytest.mark.slow
def test_a_worker_takes_no_job_while_its_disk_is_nearly_full(site: Site) -> None:
    environment = site.environment() | {"DISK_RESERVE_MEGABYTES": "1000000"}
    with (
        site.log.open("wb") as log,
        subprocess.Popen(WORK, cwd=PROJECT, env=environment, stderr=log) as worker,
    ):
        until(lambda: site.times_said("takes no work: disk_full"))
        with connect(site.server) as connection:
            connection.execute(A_JOB)
        try:
            idle_reason = [("small", "disk_full")]
            until(
                lambda: site.ask("SELECT role, idle_reason FROM ops_serviceprocess") == idle_reason
            )
            assert site.ask("SELECT status FROM procrastinate_jobs") == [("todo",)]
            worker.terminate()
            assert worker.wait(10) == 0
        finally:
            worker.kill()
    with working(site):
        until(lambda: not site.ask("SELECT 1 FROM procrastinate_jobs"))


@pytest.mark.slow
def test_a_worker_ends_cleanly_if_it_never_had_a_database(site: Site) -> None:
    environment = site.environment() | {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
    with subprocess.Popen(
        WORK, cwd=PROJECT, env=environment, stderr=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stderr is not None
        assert "the database is lost" in worker.stderr.readline()
        worker.terminate()
        assert worker.wait(20) == 0


@pytest.mark.parametrize(("most", "done"), [(None, [1, 2]), (50_000, [1])])
def test_a_worker_ends_after_a_job_that_made_it_large(
    most: int | None,
    done: list[int],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker ends if it will be replaced; the waiting job is then the next worker's."""
    begun: list[int] = []
    monkeypatch.setattr("apps.ops.processes.worker.memory", lambda: 60_000 * len(begun))

    async def job(number: int) -> None:
        begun.append(number)

    async def work() -> None:
        app, growth = App(connector=testing.InMemoryConnector()), Growth(most=most)
        app.task(name="job")(job)
        for number in (1, 2):
            await app.configure_task("job").defer_async(number=number)
        await Worker(
            app,
            install_signal_handlers=False,
            listen_notify=False,
            wait=False,
            worker_middleware=[growth.check],
        ).run()  # type: ignore[no-untyped-call]  # procrastinate left it untyped
        assert growth.is_over == (done == [1])

    with caplog.at_level("INFO"):
        asyncio.run(work())
    assert begun == done
    assert ("another one takes its place" in caplog.text) == (done == [1])


@pytest.mark.skipif(not MEMORY.exists(), reason="this system does not say")
def test_memory_is_the_resident_size_of_the_process() -> None:
    before = memory()
    held = b"1" * 300_000_000
    assert memory() - before > len(held) / 2048
