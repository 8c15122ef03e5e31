"""Workers and the runner are frozen: monitoring reports it, with the reason."""

import json
import signal
from collections.abc import Iterator

import pytest

from tests.faults.service import WORKERS, Service, service
from tests.processes import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def up() -> Iterator[Service]:
    with service(BACKTEST_WORKERS="1") as running:
        yield running


def silent(up: Service) -> str:
    status, text = up.get("/readyz")
    assert status == 200
    return str(json.loads(text)["checks"].get("processes", ""))


def test_frozen_workers_are_named_and_heard_of_again(up: Service) -> None:
    def alive() -> int:
        return up.get("/metrics")[1].count('state="alive"} ')

    until(lambda: alive() == 4)  # web, runner, and two kinds of workers
    assert silent(up) == ""
    pids = [pid for role in WORKERS for pid in up.running()[role]]
    for pid in pids:
        up.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: silent(up).count(" on ") == len(pids), seconds=60)
        print(f"\n{silent(up)}")
        assert all(str(pid) in silent(up) for pid in pids)
    finally:
        for pid in pids:
            up.kill(pid, signal.SIGCONT)
    until(lambda: silent(up) == "")
