"""From a fresh clone with installed dependencies to its first results."""

import re
import resource
import shutil
import subprocess
import sys
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import pytest

from tests.benchmarks.side_by_side import MEASURED, Row
from tests.benchmarks.test_latency import EVERY_RULE, SYMBOL, backtest, signed_up, write_minutes
from tests.faults import service as faults
from tests.faults.service import Service, service
from tests.processes import PROJECT

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

# The files that run the service; later files in this checkout are not copied.
CLONED: Final = ("apps", "config", "manage.py", "pyproject.toml")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in CLONED:
        if (PROJECT / name).is_dir():
            shutil.copytree(
                PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(PROJECT / name, folder / name)
    return folder


def test_from_a_fresh_clone_to_first_results(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The five calls of README.md, then a year of minutes; nothing is compiled beforehand."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(faults, "PROJECT", clone)
    minutes = tmp_path / "minutes.csv"
    write_minutes(minutes)
    before = seconds_of_processors()
    begun = time.monotonic()
    with service(options=["--sample"], NUMBA_CACHE_DIR=str(tmp_path / "kernels")) as running:
        ready = time.monotonic() - begun
        follow_readme(running, clone)
        first = time.monotonic() - begun
        running.manage("load_candles", str(minutes), "--symbol", SYMBOL, "--timeframe", "1m")
        client = signed_up(running.port, "another@example.com")
        algorithm = client.call("POST", "/api/trading/algorithms", EVERY_RULE, expect=201)["id"]
        with closing(HTTPConnection("127.0.0.1", running.port, timeout=60)) as connection:
            backtest(connection, client.token, algorithm, "2024-01-01", "2025-04-20")
        year = time.monotonic() - begun
    used = seconds_of_processors() - before
    name = "from a fresh clone to the first backtest of README.md, and of a year of minutes"
    print(f"\n{name}: {first:.1f} s, {first - ready:.1f} s of it after `ready`; {year:.1f} s")
    print(f"all processes but the database's used {used:.1f} s of processors")
    MEASURED.append(Row(name, f"{first:.1f} s", f"{year:.1f} s"))


def follow_readme(running: Service, clone: Path) -> None:
    """Type the commands of the README, from loading candles to the end of the backtest."""
    page = (PROJECT / "README.md").read_text()
    section = page.partition("## Five calls to a report")[2].partition("Get a link")[0]
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))
    for documented, actual in (
        (".venv/bin/python", sys.executable),
        ("localhost:8000", f"127.0.0.1:{running.port}"),
    ):
        assert documented in commands
        commands = commands.replace(documented, actual)
    address = f"127.0.0.1:{running.port}/api/backtests/$BACKTEST"
    asked = f'curl -s {address} -H "Authorization: Bearer $TOKEN"'
    done = subprocess.run(
        ["bash", "-ec", f"{commands}\n{asked} | field status"],
        cwd=clone,
        env=running.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "completed", done.stdout


def seconds_of_processors() -> float:
    """Return the processor time of ended children and their children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
