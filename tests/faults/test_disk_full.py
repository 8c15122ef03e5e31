"""The disk is full: reads continue, writes are refused with the reason, and it recovers by
itself.
"""

import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.faults.clients import DAYS, PASSWORD
from tests.faults.service import Caller, Service, fresh_folder, service
from tests.processes import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MEGABYTE: Final = 1024 * 1024
READS: Final = ("/healthz", "/readyz", "/metrics", "/api/auth/profile", "/api/trading/algorithms")


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """Return a folder on a separate file system."""
    directory = fresh_folder()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", str(directory)]
    try:
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("no file system can be mounted here: that takes root")
        try:
            yield directory
        finally:
            subprocess.run(["umount", "-l", str(directory)], check=True)
    finally:
        shutil.rmtree(directory)


def fill(directory: Path, *, leaving: int) -> Path:
    """Fill the folder's file system up to this number of bytes."""
    filler = directory / "filler"
    with filler.open("wb") as file:
        free = shutil.disk_usage(directory).free - leaving
        os.posix_fallocate(file.fileno(), 0, free)
    return filler


@pytest.fixture
def up() -> Iterator[Service]:
    with (
        small_disk(640) as directory,
        service(directory=directory, BACKTEST_WORKERS="1") as running,
    ):
        yield running


@pytest.fixture
def alice(up: Service) -> Caller:
    caller = Caller(up.port)
    body = {"email": "alice@example.com", "password": PASSWORD, "name": "A"}
    assert caller.call("POST", "/api/auth/signup", body).status == 201
    assert caller.call("POST", "/api/trading/algorithms", DAYS).status == 201
    return caller


@pytest.mark.parametrize("leaving", [100 * MEGABYTE, 0])
def test_reads_continue_and_writes_get_an_error(up: Service, alice: Caller, leaving: int) -> None:
    before = up.all_pids()
    filler = fill(up.directory, leaving=leaving)
    read: Counter[tuple[str, int]] = Counter()
    written: Counter[tuple[int, object]] = Counter()
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        for path in READS:
            is_api = path.startswith("/api")
            status = alice.call("GET", path).status if is_api else up.get(path)[0]
            read[path, status] += 1
        answer = alice.call("POST", "/api/trading/algorithms", DAYS)
        error = answer.body.get("error", {}) if isinstance(answer.body, dict) else {}
        written[answer.status, error.get("details", {}).get("reason")] += 1
        time.sleep(0.1)
    print(f"\n{leaving} bytes left: read {dict(read)}, written {dict(written)}")
    filler.unlink()
    until(lambda: alice.call("POST", "/api/trading/algorithms", DAYS).status == 201, seconds=15)
    assert {status for _, status in read} == {200}
    assert set(written) == {(503, "disk_full")}
    assert up.running()["web"] == [pid for pid in up.running()["web"] if pid in before]
    assert "Traceback" not in up.said(lines=10_000)
