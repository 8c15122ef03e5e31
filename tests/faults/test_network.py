"""The network to PostgreSQL is cut: clients get an answer within 8 s, and everything recovers."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from apps.ops.database.local_postgres import DATABASE, running, socket_folder
from tests.faults.clients import DAYS, PASSWORD
from tests.faults.network import Network, network_to
from tests.faults.service import Caller, Service, fresh_folder, service
from tests.processes import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SECONDS_TO_ANSWER: Final = 8.0
THREADS: Final = 4  # of one web process
READ: Final = "/api/trading/algorithms"


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    directory = fresh_folder()
    with (
        running(directory, durable=False),
        network_to(socket_folder(directory) / ".s.PGSQL.5432") as made,
    ):
        yield made


@pytest.fixture(scope="module")
def up(network: Network) -> Iterator[Service]:
    url = f"postgresql://{DATABASE}@{network.host}:{network.port}/{DATABASE}"
    with service(DATABASE_URL=url, WEB_WORKERS="1", BACKTEST_WORKERS="1") as running:
        yield running


@pytest.fixture(scope="module")
def alice(up: Service) -> Caller:
    caller = Caller(up.port)
    body = {"email": "alice@example.com", "password": PASSWORD, "name": "A"}
    assert caller.call("POST", "/api/auth/signup", body).status == 201
    return caller


def test_a_cut_network_is_reported_within_eight_seconds_and_frees_the_threads(
    network: Network, up: Service, alice: Caller
) -> None:
    def read(_: int) -> tuple[int, float]:
        begun = time.monotonic()
        status = alice.call("GET", READ).status
        return status, time.monotonic() - begun

    with ThreadPoolExecutor(4 * THREADS) as pool:
        assert {status for status, _ in pool.map(read, range(4 * THREADS))} == {200}
        network.cut()
        try:
            lost = list(pool.map(read, range(THREADS)))
            again = list(pool.map(read, range(THREADS)))
            begun = time.monotonic()
            assert up.get("/healthz")[0] == 200
            healthy = time.monotonic() - begun
            status, ready = up.get("/readyz")
        finally:
            network.mend()
    print(f"\nlost {lost}\nagain {again}\nhealthz {healthy:.1f} s, readyz {status} {ready}")
    assert {status for status, _ in [*lost, *again]} == {503}
    assert max(seconds for _, seconds in [*lost, *again]) < SECONDS_TO_ANSWER
    assert healthy < SECONDS_TO_ANSWER
    assert (status, '"database":"unreachable"' in ready.replace(" ", "")) == (503, True)
    until(lambda: alice.call("GET", READ).status == 200, seconds=10)
    assert alice.call("POST", READ, DAYS).status == 201
    assert "Traceback" not in up.said(lines=10_000)
