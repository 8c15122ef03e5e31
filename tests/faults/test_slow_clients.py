"""Clients that are slow on purpose do not hold up others (apps/ops/web).

The service is a started one; the slow connections are kept up by a process of their own while
another client asks as usual, each time over a new connection.
"""

import http.client
import json
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import numpy as np
import pytest

from tests.faults.clients import DAYS
from tests.faults.everyday import Client
from tests.faults.service import Caller, Service, service
from tests.processes import PROJECT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SLOW: Final = 400
PROBES: Final = 200
SECONDS_BETWEEN_PROBES: Final = 0.06
SECONDS_TO_ANSWER: Final = 5.0
# Seconds that the 95th percentile of the probes may be above the undisturbed one.
MOST_MORE: Final = 0.050
FILE: Final = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"


@pytest.fixture(scope="module")
def up() -> Iterator[Service]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with service(BACKTEST_WORKERS="1", RATE_LIMIT_PAGES="off") as started:
        started.manage("load_candles", "--sample")
        yield started


@pytest.fixture(scope="module")
def client(up: Service) -> Client:
    made = Client(Caller(up.port), "prober")
    made.sign_up()
    return made


@contextmanager
def slow(
    kind: str, port: int, *, count: int = SLOW, address: str = "127.0.0.1", path: str = "/"
) -> Iterator[None]:
    """So many slow connections for as long as this lasts."""
    words = [kind, str(count), str(port), address, path]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.slow_clients", *words],
        cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.stdin.close()
            process.kill()


def probe(client: Client, *, count: int = PROBES) -> list[float]:
    """Seconds that each answer took; infinity for none."""
    took = []
    for number in range(count):
        path = "/healthz" if number % 2 else "/api/trading/algorithms"
        took.append(ask(client.caller, path))
        time.sleep(SECONDS_BETWEEN_PROBES)
    return took


def ask(caller: Caller, path: str) -> float:
    begun = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", caller.port, timeout=SECONDS_TO_ANSWER)
    with closing(connection):
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {caller.token}"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return float("inf")
    return time.perf_counter() - begun if answer.status == 200 else float("inf")


def late(took: list[float]) -> float:
    return float(np.percentile(took, 95, method="lower"))


def check(name: str, undisturbed: list[float], took: list[float]) -> None:
    """All answered, and hardly later than without them."""
    answered = 100 * sum(map(np.isfinite, took)) / len(took)
    print(
        f"{name}: {answered:.1f} % answered, half under {1000 * statistics.median(took):.1f} ms,"
        f" 95 % under {1000 * late(took):.1f} ms; undisturbed {1000 * late(undisturbed):.1f} ms"
    )
    assert answered == 100
    assert late(took) < late(undisturbed) + MOST_MORE


@pytest.mark.parametrize("kind", ["slow head", "slow body", "body that never comes"])
def test_requests_that_are_slow_to_come(up: Service, client: Client, kind: str) -> None:
    undisturbed = probe(client)
    with slow(kind, up.port):
        check(kind, undisturbed, probe(client))


def test_documents_and_files_that_are_never_read(up: Service, client: Client) -> None:
    for path in ("/openapi.json", FILE):
        undisturbed = probe(client)
        with slow("never reading", up.port, path=path):
            check(f"never reading {path}", undisturbed, probe(client))


def test_a_shared_report_that_is_never_read(up: Service, client: Client) -> None:
    path = shared_report(client)
    undisturbed = probe(client)
    with slow("never reading", up.port, path=path):
        check("never reading a shared report", undisturbed, probe(client))


def shared_report(client: Client) -> str:
    backtest = completed(client)
    link = client.caller.call("POST", f"/api/backtests/{backtest}/report-link")
    assert link.is_good, link
    return "/reports/" + str(link["url"]).rpartition("/")[2]


def completed(client: Client) -> str:
    submitted = submit(client)
    while (status := client.caller.call("GET", f"/api/backtests/{submitted}")["status"]) in (
        "queued",
        "running",
    ):
        time.sleep(0.2)
    assert status == "completed"
    return submitted


def submit(client: Client) -> str:
    made = client.caller.call("POST", "/api/trading/algorithms", {"name": "days", **DAYS})
    body = {"algorithmId": made["id"], "startDate": "2023-01-01", "endDate": "2023-12-31"}
    submitted = client.caller.call("POST", "/api/backtests", body)
    assert submitted.status == 201, submitted
    return str(submitted["id"])


def test_idle_connections_of_one_address_do_not_delay_another(up: Service, client: Client) -> None:
    undisturbed = probe(client)
    with slow("idle", up.port, count=3_000, address="127.0.0.2"):
        check("3,000 idle connections", undisturbed, probe(client))


def test_clients_that_wait_for_a_backtest_hold_up_nobody(up: Service, client: Client) -> None:
    """They wait for one that nobody runs, and are answered when it is cancelled."""
    undisturbed = probe(client)
    (worker,) = up.running()["backtest-worker"]
    up.kill(worker, number=signal.SIGSTOP)
    try:
        backtest = submit(client)
        with waiting(client.caller, backtest, count=256) as answers:
            check("256 waiting", undisturbed, probe(client))
            assert not answers  # all of them wait
            begun = time.monotonic()
            assert client.caller.call("POST", f"/api/backtests/{backtest}/cancel").is_good
        print(f"all woken after {time.monotonic() - begun:.2f} s")
        assert answers == ["cancelled"] * 256
        assert time.monotonic() - begun < 3
    finally:
        up.kill(worker, number=signal.SIGCONT)


@contextmanager
def waiting(caller: Caller, backtest: str, *, count: int) -> Iterator[list[str]]:
    """So many clients that prefer to wait 30 seconds; at the end each has its answer."""
    answers: list[str] = []

    def wait() -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", caller.port, timeout=60)) as held:
            headers = {"Authorization": f"Bearer {caller.token}", "Prefer": "wait=30"}
            held.request("GET", f"/api/backtests/{backtest}", headers=headers)
            answers.append(json.loads(held.getresponse().read())["status"])

    threads = [threading.Thread(target=wait) for _ in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(3)
    yield answers
    for thread in threads:
        thread.join()
