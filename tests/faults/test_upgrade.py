"""The release before is stopped; this version takes over its database and its queue."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg
import pytest

from apps.ops.database import local_postgres
from apps.ops.database.local_postgres import DATABASE
from apps.ops.demo import walkthrough
from apps.ops.demo.webhook_receiver import receiving
from tests.faults.service import COMPILED, Caller, Service, fresh_folder, service
from tests.processes import PROJECT, until

# Release 1.0.0.
RELEASE_BEFORE: Final = "b28e6e1c6000a6318dae7b46a500666b4b111353"


def has_release_before() -> bool:
    command = ["git", "cat-file", "-e", f"{RELEASE_BEFORE}^{{commit}}"]
    return (
        shutil.which("git") is not None
        and subprocess.run(command, cwd=PROJECT, capture_output=True, check=False).returncode == 0
    )


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not has_release_before(), reason="the history of git does not reach to the release before"
    ),
]


@pytest.fixture
def old_code() -> Iterator[Path]:
    folder = fresh_folder()
    folder.chmod(0o755)
    archive = subprocess.run(
        ["git", "archive", RELEASE_BEFORE], cwd=PROJECT, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def database() -> Iterator[str]:
    directory = fresh_folder()
    with local_postgres.running(directory, durable=False) as server:
        yield f"postgresql://{DATABASE}@/{DATABASE}?host={quote(str(server.socket), safe='')}"
    shutil.rmtree(directory)


@pytest.fixture
def old(old_code: Path, database: str) -> Iterator[Service]:
    settings = {
        "BACKTEST_WORKERS": "1",
        "WEB_WORKERS": "1",
        "WEBHOOK_ALLOW_CIDRS": "127.0.0.1/32",
        "WEBHOOK_ALLOW_HTTP": "1",
        "NUMBA_CACHE_DIR": str(old_code / "numba"),
    }
    with service(old_code, directory=None, DATABASE_URL=database, **settings) as running:
        yield running


def manage(running: Service, *words: str) -> None:
    """Run a command of the service's own code beside it."""
    subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=running.code,
        env=running.environment(),
        capture_output=True,
        check=True,
    )


def backtests(caller: Caller) -> dict[str, str]:
    """Return the status of each backtest keyed by id."""
    answer = caller.call("GET", "/api/backtests?limit=100")
    assert isinstance(answer.body, dict), answer
    return {row["id"]: row["status"] for row in answer.body["data"]}


def waiting_jobs(running: Service) -> set[str]:
    with psycopg.connect(running.settings["DATABASE_URL"]) as connection:
        rows = connection.execute("SELECT DISTINCT task_name FROM procrastinate_jobs").fetchall()
    return {name for (name,) in rows}


def error_of_migrate(running: Service) -> bytes:
    """Migrate by this version; return what it says if it refuses."""
    try:
        running.manage("migrate", "--verbosity=0")
    except subprocess.CalledProcessError as error:
        return bytes(error.stderr)
    return b""


def test_this_version_takes_over_from_the_release_before(old: Service) -> None:
    manage(old, "load_candles", "--sample")
    caller = Caller(old.port)
    body = {"email": "before@example.com", "password": "a long password", "name": "Before"}
    assert caller.call("POST", "/api/auth/signup", body).status == 201
    algorithm = caller.call("POST", "/api/trading/algorithms", walkthrough.DEMO_ALGORITHM)["id"]
    submitted = {"algorithmId": algorithm, "startDate": "2026-01-01", "endDate": "2026-06-30"}

    assert b"release 1.0.0 still runs" in error_of_migrate(old)
    assert old.answers()

    for worker in old.running()["backtest-worker"]:
        old.kill(worker, signal.SIGSTOP)  # its backtests stay in the queue
    ids = {caller.call("POST", "/api/backtests", submitted)["id"] for _ in range(2)}
    assert "completed" not in backtests(caller).values()
    for worker in old.running()["backtest-worker"]:
        old.kill(worker)
    old.stop()
    assert "backtests.take_turn" in waiting_jobs(old)
    until(lambda: not error_of_migrate(old), seconds=60)  # killed workers count for 30 seconds
    assert "backtests.run_next" in waiting_jobs(old)

    new = Service(old.directory, old.port, {**old.settings, "NUMBA_CACHE_DIR": str(COMPILED)})
    try:
        new.start()
        assert caller.call("GET", f"/api/trading/algorithms/{algorithm}").status == 200
        until(lambda: backtests(caller) == dict.fromkeys(ids, "completed"), seconds=120)

        def feed(symbol: str, timeframe: str, first: date) -> None:
            past = ("--symbols", symbol, "--timeframe", timeframe, "--from", str(first))
            manage(new, "feed", *past, "--speed", "max")

        address = f"http://127.0.0.1:{new.port}"
        with receiving() as receiver:
            walkthrough.run_demo(
                address, print, password="a long password", feed=feed, receiver=receiver
            )
    finally:
        new.stop()
