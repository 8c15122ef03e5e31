"""The memory of all processes of a service, its database included, as users run it."""

import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from apps.ops.demo.walkthrough import DEMO_ALGORITHM
from tests.benchmarks.side_by_side import MEASURED, Row
from tests.benchmarks.test_latency import backtest, signed_up
from tests.faults.service import Service, service

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

BURST = 200
SECONDS_AT_REST = 120.0
FIRST, LAST = "2026-04-08", "2026-06-30"  # the minutes that `load_candles --sample` stores


@pytest.fixture
def running() -> Iterator[Service]:
    with service() as started:
        started.manage("load_candles", "--sample")
        yield started


def test_after_a_first_backtest_and_at_rest_after_many(running: Service) -> None:
    client = signed_up(running.port)
    algorithm = client.call("POST", "/api/trading/algorithms", DEMO_ALGORITHM, expect=201)["id"]
    with closing(HTTPConnection("127.0.0.1", running.port, timeout=60)) as connection:
        backtest(connection, client.token, algorithm, FIRST, LAST)
        first = measure(running, "after the first backtest")
        for _ in range(BURST):
            backtest(connection, client.token, algorithm, FIRST, LAST)
    most = measure(running, f"at the end of {BURST} more")
    time.sleep(SECONDS_AT_REST)
    idle = measure(running, f"{SECONDS_AT_REST / 60:g} minutes later")
    name = f"all processes and the database: after a first backtest, at rest after {BURST} more"
    MEASURED.append(Row(name, f"{first:,.0f} MB", f"{idle:,.0f} MB"))
    assert min(first, most, idle) > 0


def measure(running: Service, moment: str) -> float:
    """Print each role's share of memory, and return the sum in megabytes."""
    shares = {
        role: sum(map(proportional_megabytes, pids)) for role, pids in running.running().items()
    }
    listing = ", ".join(f"{role} {share:,.0f}" for role, share in shares.items())
    total = sum(shares.values())
    print(f"\n{moment}: {total:,.0f} MB ({listing})")
    return total


def proportional_megabytes(pid: int) -> float:
    """Return the process's own pages and its share of shared ones."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # the process has ended
        return 0.0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
