"""A machine of the previous release continues during the migration to this version."""

import shutil
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
from apps.ops.demo.client import Client
from apps.ops.demo.webhook_receiver import receiving
from tests.faults.service import Caller, Service, fresh_folder, service
from tests.processes import PROJECT

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
    """Run a command of the old code beside it."""
    subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=running.code,
        env=running.environment(),
        capture_output=True,
        check=True,
    )


def applied(running: Service) -> set[tuple[str, str]]:
    with psycopg.connect(running.settings["DATABASE_URL"]) as connection:
        rows = connection.execute("SELECT app, name FROM django_migrations").fetchall()
    return {(app, name) for app, name in rows}


def test_the_previous_release_continues_on_the_new_schema(old: Service) -> None:
    manage(old, "load_candles", "--sample")
    before = applied(old)
    client = Client(f"http://127.0.0.1:{old.port}", print)
    old_caller = Caller(old.port)
    body = {"email": "before@example.com", "password": "a long password", "name": "Before"}
    assert old_caller.call("POST", "/api/auth/signup", body).status == 201

    old.manage("migrate", "--verbosity=0")  # by this version, while the old one answers

    new = applied(old) - before
    print(f"\n{len(new)} migrations beside the old code: {sorted(new)}")
    assert new
    assert old_caller.call("GET", "/api/trading/algorithms").status == 200
    assert old.answers()

    def feed(symbol: str, timeframe: str, first: date) -> None:
        past = ("--symbols", symbol, "--timeframe", timeframe, "--from", str(first))
        manage(old, "feed", *past, "--speed", "max")

    with receiving() as receiver:
        walkthrough.run_demo(client, password="a long password", feed=feed, receiver=receiver)
