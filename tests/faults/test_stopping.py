"""SIGTERM under load: waiting clients are answered, work is requeued, and everything ends within 5
s.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import pytest

from apps.ops.database import local_postgres
from tests.faults.clients import writing
from tests.faults.everyday_calls import MINUTES, Client
from tests.faults.service import Caller, Service, service
from tests.processes import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MOST_SECONDS: Final = 5.0
WAITING: Final = 32
SEARCH: Final = {
    "windows": 4,
    "trainRatio": 0.7,
    "objective": "netProfit",
    "parameters": [
        {"path": "entryConditions.conditions[0].indicator1.period", "from": 2, "to": 41, "step": 1},
        {"path": "exitConditions.stopLoss.percentage", "from": 0.1, "to": 5, "step": 0.1},
    ],
}
# Requeued work has cost no worker: it does not count as lost.
WORK: Final = """
    SELECT (SELECT count(*) FROM backtests_studyshard WHERE state = 'running'),
        (SELECT coalesce(sum(losses), 0) FROM backtests_studyshard),
        (SELECT coalesce(sum(losses), 0) FROM backtests_backtest),
        (SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'),
        (SELECT count(*) FROM trading_barstream WHERE leased_until IS NOT NULL),
        (SELECT coalesce(string_agg(role, ', '), '') FROM ops_serviceprocess)
"""


@pytest.fixture
def up() -> Iterator[Service]:
    with service(BACKTEST_WORKERS="1") as running:
        running.manage("load_candles", "--sample")
        yield running


def submit_search(client: Client) -> str:
    created = client.caller.call("POST", "/api/trading/algorithms", {"name": "minutes", **MINUTES})
    assert created.status == 201, created
    body = {
        "algorithmId": created["id"],
        "startDate": "2026-04-08",
        "endDate": "2026-06-30",
        "kind": "walk_forward",
        "walkForwardConfig": SEARCH,
    }
    submitted = client.caller.call("POST", "/api/backtests", body)
    assert submitted.status == 201, submitted
    return str(submitted["id"])


@contextmanager
def waiting(caller: Caller, path: str) -> Iterator[list[int]]:
    """Run clients that prefer to wait for 30 seconds; yield their statuses, 0 for no answer."""
    statuses: list[int] = []

    def wait() -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", caller.port, timeout=60)) as held:
            headers = {"Authorization": f"Bearer {caller.token}", "Prefer": "wait=30"}
            try:
                held.request("GET", path, headers=headers)
                response = held.getresponse()
                assert json.loads(response.read())["status"] in ("queued", "running")
                statuses.append(response.status)
            except (OSError, http.client.HTTPException):
                statuses.append(0)

    threads = [threading.Thread(target=wait) for _ in range(WAITING)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    try:
        yield statuses
    finally:
        for thread in threads:
            thread.join()


def begin_to_send(caller: Caller, body: bytes) -> socket.socket:
    """Send the head of a request and all of its body but the last byte."""
    connection = socket.create_connection(("127.0.0.1", caller.port), timeout=30)
    connection.sendall(
        b"POST /api/trading/algorithms HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Type: application/json\r\n"
        + f"Authorization: Bearer {caller.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body[:-1]
    )
    return connection


def test_waiting_requests_are_answered_and_work_is_given_back_within_five_seconds(
    up: Service,
) -> None:
    client = Client(Caller(up.port), "stopper")
    client.sign_up()
    search = submit_search(client)
    path = f"/api/backtests/{search}"
    until(lambda: client.caller.call("GET", path)["status"] == "running", seconds=30)
    body = json.dumps({"name": "sent while it stops", **MINUTES}).encode()
    with (
        writing(up.port, count=4, seed=24) as writers,
        waiting(client.caller, path) as statuses,
        closing(begin_to_send(client.caller, body)) as half_sent,
    ):
        until(lambda: all(len(writer.journal.good) > 3 for writer in writers))
        assert not statuses
        assert client.caller.call("GET", path)["status"] == "running"
        begun = time.monotonic()
        assert up.process is not None
        up.process.terminate()
        time.sleep(0.5)
        half_sent.sendall(body[-1:])
        answer = half_sent.makefile("rb").readline()
        up.process.wait(30)
        seconds = time.monotonic() - begun
    print(f"\nended after {seconds:.2f} s; {len(statuses)} that waited: {set(statuses)}")
    print(f"answers by status (0: none): {[dict(w.journal.statuses) for w in writers]}")
    assert statuses == [200] * WAITING
    assert answer == b"HTTP/1.1 201 Created\r\n"
    assert not [call for writer in writers for call in writer.journal.unexpected]
    assert seconds < MOST_SECONDS
    check_what_was_given_back(up, client, search)


def check_what_was_given_back(up: Service, client: Client, search: str) -> None:
    """Check that nothing looks lost, and that the next start continues the work at once."""
    with local_postgres.running(up.directory), up.database() as database:
        assert database.execute(WORK).fetchone() == (0, 0, 0, 0, 0, "")
    up.start()
    path = f"/api/backtests/{search}"
    until(lambda: client.caller.call("GET", path)["status"] == "completed", seconds=120)
