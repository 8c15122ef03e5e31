"""Redis is frozen, then gone: nobody waits for it, and PostgreSQL counts."""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.faults.clients import PASSWORD
from tests.faults.service import Caller, Service, free_port, service
from tests.processes import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server here"),
]

READ: Final = "/api/trading/algorithms"
LINE: Final = "PostgreSQL counts instead of Redis"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        yield process, port
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def up(redis: tuple[subprocess.Popen[bytes], int]) -> Iterator[Service]:
    with service(
        REDIS_URL=f"redis://127.0.0.1:{redis[1]}/0",
        RATE_LIMIT_GENERAL="1000/h",
        WEB_WORKERS="2",
        BACKTEST_WORKERS="1",
    ) as running:
        yield running


def left_after(caller: Caller) -> int:
    """Call once; return the remainder of the limit."""
    return int(caller.call("GET", READ).headers["X-RateLimit-Remaining"])


def counts_of(caller: Caller, calls: int) -> list[int]:
    """Call this often; return the remainder of the limit after each call, and print the slowest."""
    left, slowest = [], 0.0
    for _ in range(calls):
        begun = time.monotonic()
        answer = caller.call("GET", READ)
        slowest = max(slowest, time.monotonic() - begun)
        assert answer.status == 200
        left.append(int(answer.headers["X-RateLimit-Remaining"]))
    print(f"{calls} calls, the slowest in {slowest:.2f} s, left {left[0]} to {left[-1]}")
    assert slowest < 1.0
    return left


def test_a_frozen_or_missing_redis_slows_nobody_down(
    up: Service, redis: tuple[subprocess.Popen[bytes], int]
) -> None:
    process, _ = redis
    caller = Caller(up.port)
    body = {"email": "alice@example.com", "password": PASSWORD, "name": "A"}
    assert caller.call("POST", "/api/auth/signup", body).status == 201
    print()
    before = counts_of(caller, 20)
    assert before == list(range(before[0], before[0] - 20, -1))
    process.send_signal(signal.SIGSTOP)
    frozen = counts_of(caller, 100)
    assert frozen == list(range(frozen[0], frozen[0] - 100, -1))  # counted, by both processes
    assert up.said(lines=10_000).count(LINE) <= 3  # once of each process, that is
    process.send_signal(signal.SIGCONT)

    until(lambda: left_after(caller) > frozen[0] - 60, seconds=15)  # where Redis had left off
    process.kill()
    gone = counts_of(caller, 40)
    assert gone == list(range(gone[0], gone[0] - 40, -1))
    assert gone[0] < frozen[-1]  # where PostgreSQL had
    assert up.said(lines=10_000).count(LINE) <= 3
    assert "Traceback" not in up.said(lines=10_000)
