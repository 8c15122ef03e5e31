"""The Python client writes while processes are killed: every write is done, and none twice."""

import logging
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from apps.client.algotrade_client import Client, sign_up
from apps.client.algotrade_client.errors import AlgotradeError
from tests.faults.clients import DAYS, PASSWORD
from tests.faults.service import Service, service
from tests.faults.test_any_process import is_whole, kill_one, start_again, victims
from tests.processes import until

SEED = 20261129
STEPS: dict[str, Any] = {**DAYS}
KILLS = 20


class LossyWire(httpx.HTTPTransport):
    """Loses a tenth of the good answers on their way.

    It counts answers by status, lost ones, and those that the service gave a second time.
    """

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.rng = rng

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            answer = super().handle_request(request)
        except httpx.TransportError:
            self.counts["lost"] += 1
            raise
        self.counts[str(answer.status_code)] += 1
        self.counts["replayed"] += "Idempotent-Replayed" in answer.headers
        if answer.is_success and self.rng.random() < 0.1:
            answer.close()
            self.counts["lost on its way"] += 1
            raise httpx.ReadError("lost on its way")
        return answer


@dataclass
class PatientWriter:
    """Creates algorithms and submits backtests, each with a name of its own."""

    client: Client
    name: str
    rng: random.Random
    algorithms: list[str] = field(default_factory=list)
    backtests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        algorithm = ""
        number = 0
        while not stop.is_set():
            number += 1
            name = f"{self.name} {number}"
            try:
                if not algorithm or self.rng.random() < 0.6:
                    algorithm = self.client.algorithms.create(name=name, **STEPS).id
                    self.algorithms.append(name)
                else:
                    self.client.backtests.submit(algorithm, "2023-01-01", "2023-12-31", name=name)
                    self.backtests.append(name)
            except AlgotradeError as error:
                self.failures.append(f"{name}: {type(error).__name__} {error}")
            stop.wait(self.rng.uniform(0.0, 0.4))


def writer_of(up: Service, number: int, wire: LossyWire) -> PatientWriter:
    url, name = f"http://127.0.0.1:{up.port}", f"writer{number}"
    key = sign_up(url, f"{name}@example.com", PASSWORD, name="A Writer")
    client = Client(url, key.key, wire=wire)
    return PatientWriter(client, name, random.Random(f"{SEED}.{number}"))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_no_write_of_the_client_is_lost_or_doubled_by_any_kill() -> None:
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs each request
    rng = random.Random(SEED)
    wire = LossyWire(random.Random(SEED))
    # So few backtests a minute that the client must wait for the next window, too.
    with service(
        BACKTEST_WORKERS="1",
        RATE_LIMIT_BACKTESTS="60/m",
        QUOTA_ALGORITHMS="5000",
        QUOTA_BACKTESTS="5000",
    ) as up:
        up.manage("load_candles", "--sample")
        until(lambda: is_whole(up))
        writers = [writer_of(up, number, wire) for number in range(2)]
        stop = threading.Event()
        threads = [threading.Thread(target=writer.run, args=(stop,)) for writer in writers]
        for thread in threads:
            thread.start()
        try:
            for number, role in enumerate(victims(rng)[:KILLS]):
                kill_one(up, role, rng)
                if role == "supervisor":
                    start_again(up, at_once=number % 2 == 0)
                until(lambda: is_whole(up), seconds=90)
                time.sleep(rng.uniform(0.0, 1.0))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        print(f"\nanswers: {dict(wire.counts)}")
        for writer in writers:
            print(f"{writer.name}: {len(writer.algorithms)}, {len(writer.backtests)} backtests")
            stored = Counter(item.name for item in writer.client.algorithms.list())
            assert writer.failures == []
            assert stored == Counter(writer.algorithms)
            submitted = Counter(item.name for item in writer.client.backtests.list())
            assert submitted == Counter(writer.backtests)
            writer.client.close()
        assert wire.counts["lost"] > 0
        assert wire.counts["replayed"] > 0
        assert wire.counts["503"] + wire.counts["429"] > 0
