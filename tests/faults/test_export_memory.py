"""The export of a large account takes little memory of the worker and of the web process."""

import http.client
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.faults.service import Caller, Service, service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MEGABYTES: Final = 500
VERSIONS: Final = 2_000
MOST_OF_WORKER: Final = 100  # megabytes above an idle process
MOST_OF_WEB: Final = 20
# Hexadecimal digits: a ZIP file keeps half of them.
FILL: Final = """
    INSERT INTO algorithms_version (algorithm_id, number, configuration, created_at)
    SELECT %s, 1 + n, jsonb_build_object('digits', (
        SELECT string_agg(md5(n || '-' || part), '') FROM generate_series(1, %s) AS part
    )), now()
    FROM generate_series(1, %s) AS n
"""


def megabytes(pid: int) -> float:
    """Return the resident memory of the process."""
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kilobytes) / 1024


class Growth:
    """The largest growth among some processes, in megabytes."""

    def __init__(self, pids: list[int]) -> None:
        self._idle = {pid: megabytes(pid) for pid in pids}
        self.most = 0.0

    def look(self) -> None:
        self.most = max(self.most, *(megabytes(pid) - idle for pid, idle in self._idle.items()))


@contextmanager
def watched(pids: list[int]) -> Iterator[Growth]:
    growth, is_over = Growth(pids), threading.Event()

    def watch() -> None:
        while not is_over.wait(0.05):
            growth.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield growth
    finally:
        is_over.set()
        watcher.join()


def fill(up: Service, algorithm_id: str) -> None:
    digests = MEGABYTES * 2**20 // VERSIONS // 32
    with closing(up.database()) as database, database.transaction():
        database.execute(FILL, [algorithm_id, digests, VERSIONS])


def fetch(port: int, token: str, path: str, into: Path) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        assert response.status == 200
        with into.open("wb") as file:
            while piece := response.read(64 * 1024):
                file.write(piece)
        assert str(into.stat().st_size) == response.headers["Content-Length"]


def test_the_export_of_a_large_account_needs_little_memory(tmp_path: Path) -> None:
    with service() as up:
        caller = Caller(up.port)
        user = {"email": "a@example.com", "password": "a long password", "name": "A"}
        assert caller.call("POST", "/api/auth/signup", user).is_good
        algorithm = caller.call("POST", "/api/trading/algorithms", {})
        fill(up, str(algorithm["id"]))
        running = up.running()
        with watched(running["small-worker"]) as worker:
            export = caller.call("POST", "/api/auth/export")
            path = f"/api/auth/export/{export['id']}"
            while caller.call("GET", path)["readyAt"] is None:
                time.sleep(0.2)
        for _ in range(20):
            caller.call("GET", "/api/auth/profile")  # a process keeps memory after it
        with watched(running["web"]) as web:
            fetch(up.port, caller.token, f"{path}/archive", tmp_path / "archive.zip")
        with zipfile.ZipFile(tmp_path / "archive.zip") as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
        assert sizes["algorithms_version.json"] > MEGABYTES * 2**20
        size = (tmp_path / "archive.zip").stat().st_size / 2**20
        print(f"\narchive {size:.0f} MB, worker +{worker.most:.0f} MB, web +{web.most:.0f} MB")
        assert worker.most <= MOST_OF_WORKER
        assert web.most <= MOST_OF_WEB
