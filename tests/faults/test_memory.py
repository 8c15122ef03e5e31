"""A backtest exceeds the memory of its control group: the system kills its worker, and the owner
gets an error with the number of bars that would fit.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from django.utils import timezone

from apps.backtests.models import Backtest, BacktestStatus
from apps.backtests.running import estimates
from apps.backtests.running.submissions import read_date_range
from apps.core.machine.process import CGROUP
from tests import make
from tests.backtests.submissions import submit
from tests.faults.random_history import FIRST, LAST, NOW, SYMBOLS, store_random_walks
from tests.faults.workers import environment_of_test_database
from tests.processes import PROJECT, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True),
]

# For all processes of the group, which start with about 250.
MEGABYTES: Final = 330
UP: Final = ["manage.py", "up", "--web", "0", "--runners", "0", "--workers", "1"]


@contextmanager
def limited_group(megabytes: int) -> Iterator[Path]:
    """Yield the file for adding processes to a new control group."""
    version_1 = (CGROUP / "memory").is_dir()
    group = CGROUP / ("memory" if version_1 else "") / f"algotrade-{os.getpid()}"
    try:
        group.mkdir()
        limit = group / ("memory.limit_in_bytes" if version_1 else "memory.max")
        limit.write_text(str(megabytes * 2**20))
    except OSError as error:
        pytest.skip(f"No control group can be made here: {error}")
    try:
        yield group / "cgroup.procs"
    finally:
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@contextmanager
def up(group: Path, folder: Path) -> Iterator[None]:
    """Yield the workers of a machine with this memory, on the test's own database."""
    join = f'echo $$ > {group}; exec "$@"'
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-c", join, "sh", sys.executable, *UP],
            cwd=PROJECT,
            env={
                **environment_of_test_database("up"),
                "DATA_DIR": str(folder),
                "BACKTEST_WORKERS": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def test_a_backtest_that_is_too_large_for_the_machine_says_so(tmp_path: Path) -> None:
    store_random_walks()
    owner = make.user("alice")
    large, small = (
        make.algorithm(
            owner,
            **make.steps(
                basicInfo={"strategyType": "momentum", "timeframe": "1m", "symbols": symbols}
            ),
        )
        for symbols in (list(SYMBOLS), [SYMBOLS[0]])
    )
    span = read_date_range(FIRST, LAST, now=NOW)
    with limited_group(MEGABYTES) as group, up(group, tmp_path):
        killed = submit(owner, large.pk, date_range=span, now=timezone.now())
        until(lambda: has_ended(killed), seconds=120, every=0.2)
        passed = submit(owner, small.pk, date_range=span, now=timezone.now())
        until(lambda: has_ended(passed), seconds=120, every=0.2)
    log = (tmp_path / "up.log").read_text()
    print(f"\n{killed.error}")
    assert killed.completed_at is not None
    seconds = (killed.completed_at - killed.created_at).total_seconds()
    print(f"{seconds:.1f} s after it was submitted")
    assert killed.status == BacktestStatus.FAILED, log
    message = str(killed.error)
    assert "2 workers were killed for lack of memory" in message
    assert f"The machine has {MEGABYTES * 2**20 / estimates.BYTES_OF_A_MEGABYTE:.0f} MB" in message
    assert re.search(r"about [\d,]+ bars would fit", message)
    assert log.count("ended (SIGKILL for lack of memory)") == 2
    assert passed.status == BacktestStatus.COMPLETED, passed.error


def has_ended(backtest: Backtest) -> bool:
    backtest.refresh_from_db()
    return backtest.completed_at is not None
