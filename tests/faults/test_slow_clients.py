"""Clients that are slow on purpose do not delay others: behind nginx, and on the bare port.

A separate process keeps the slow connections up while another client calls as usual, each time over
a new connection.
"""

import http.client
import json
import resource
import signal
import socket
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

from tests.config.proxies import SITE, needs, nginx
from tests.faults.clients import DAYS
from tests.faults.everyday_calls import Client
from tests.faults.service import Caller, Service, free_port, service
from tests.processes import PROJECT
from tests.webhooks.certificates import Authority

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# Slow connections behind nginx, with its limit of 256 concurrent requests per address.
SLOW: Final = 250
SLOW_BARE: Final = 200
PROBES: Final = 100
SECONDS_BETWEEN_PROBES: Final = 0.06
SECONDS_TO_ANSWER: Final = 30.0
FILE: Final = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"


@pytest.fixture(scope="module")
def up() -> Iterator[Service]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with service(
        BACKTEST_WORKERS="1", RATE_LIMIT_PAGES="off", TRUSTED_PROXIES="127.0.0.1"
    ) as started:
        started.manage("load_candles", "--sample")
        yield started


@pytest.fixture(scope="module")
def client(up: Service) -> Client:
    made = Client(Caller(up.port), "prober")
    made.sign_up()
    return made


@pytest.fixture(scope="module")
def proxy(up: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Yield the port of nginx in front of the service, without TLS."""
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    Authority(folder).context(SITE)
    with nginx(folder, up, port, folder / "server.pem", tls=False):
        yield port


@contextmanager
def slow(
    kind: str, port: int, *, count: int = SLOW, address: str = "127.0.0.2", path: str = "/"
) -> Iterator[None]:
    """Keep this many slow connections open during the block."""
    words = [kind, str(count), str(port), address, path]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.slow_clients", *words],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.stdin.close()
            process.kill()


def probe(client: Client, port: int, *, count: int = PROBES) -> list[float]:
    """Return the seconds of each answer; infinity without one."""
    took = []
    caller = Caller(port, token=client.caller.token)
    for number in range(count):
        path = "/healthz" if number % 2 else "/api/trading/algorithms"
        took.append(ask(caller, path))
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


def check(name: str, undisturbed: list[float], took: list[float]) -> None:
    """Check that all are answered within SECONDS_TO_ANSWER; print the times."""
    answered = 100 * sum(map(np.isfinite, took)) / len(took)
    late = 1000 * np.percentile(took, 95, method="lower")
    print(
        f"{name}: {answered:.1f} % answered, half under {1000 * statistics.median(took):.1f} ms,"
        f" 95 % under {late:.1f} ms, all under {1000 * max(took):.0f} ms; undisturbed"
        f" {1000 * np.percentile(undisturbed, 95, method='lower'):.1f} ms"
    )
    assert answered == 100


KINDS: Final = [
    ("slow head", "/"),
    ("slow body", "/"),
    ("body that never comes", "/"),
    ("never reading", "/openapi.json"),
    ("never reading", FILE),
]


@needs("nginx")
@pytest.mark.parametrize(("kind", "path"), KINDS)
def test_slow_clients_behind_nginx_delay_nobody(
    proxy: int, client: Client, kind: str, path: str
) -> None:
    undisturbed = probe(client, proxy)
    with slow(kind, proxy, path=path):
        check(f"nginx, {kind} {path}", undisturbed, probe(client, proxy))


@pytest.mark.parametrize(("kind", "path"), KINDS)
def test_200_slow_clients_of_the_bare_port_delay_nobody(
    up: Service, client: Client, kind: str, path: str
) -> None:
    undisturbed = probe(client, up.port)
    with slow(kind, up.port, count=SLOW_BARE, path=path):
        check(f"bare, {kind} {path}", undisturbed, probe(client, up.port))


@needs("nginx")
def test_nginx_closes_a_connection_without_a_complete_head(proxy: int) -> None:
    """The time is 10 seconds; nginx's default is 60."""
    with closing(socket.create_connection(("127.0.0.1", proxy), timeout=40)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")
        with pytest.raises(ConnectionResetError):
            connection.recv(100)


@needs("nginx")
def test_nginx_refuses_a_body_that_is_too_large_unread(proxy: int) -> None:
    head = b"POST /api/auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 40000000\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", proxy), timeout=60)) as connection:
        connection.sendall(head)
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_shared_report_that_is_never_read_delays_nobody(up: Service, client: Client) -> None:
    path = shared_report(client)
    undisturbed = probe(client, up.port)
    with slow("never reading", up.port, count=SLOW_BARE, path=path):
        check("bare, never reading a shared report", undisturbed, probe(client, up.port))


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
    undisturbed = probe(client, up.port)
    with slow("idle", up.port, count=3_000, address="127.0.0.2"):
        check("3,000 idle connections", undisturbed, probe(client, up.port))


def test_clients_that_wait_for_a_backtest_delay_nobody(up: Service, client: Client) -> None:
    """They wait for a backtest that no worker runs, and are answered when it is cancelled."""
    undisturbed = probe(client, up.port)
    (worker,) = up.running()["backtest-worker"]
    up.kill(worker, number=signal.SIGSTOP)
    try:
        backtest = submit(client)
        with waiting(client.caller, backtest, count=256) as answers:
            check("256 waiting", undisturbed, probe(client, up.port))
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
    """Run this many clients that prefer to wait 30 seconds; at the end all have their answers."""
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
