"""Alerts of a crowd: none with a good answer is lost or stored twice, whatever is killed."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.faults.clients import PASSWORD
from tests.faults.service import Caller, Service, service
from tests.processes import is_alive, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SEED: Final = 20261129
KILLS: Final = 20
SENDERS: Final = 8
CLIENTS: Final = 50
COPIES: Final = 1_000


def new_hook(up: Service) -> str:
    """Return the path of a hook of a new user."""
    caller = Caller(up.port)
    body = {"email": "alerts@example.com", "password": PASSWORD, "name": "A Trader"}
    assert caller.call("POST", "/api/auth/signup", body).is_good
    created = caller.call("POST", "/api/trading/alert-hooks", {"name": "mine", "format": "json"})
    return urlsplit(str(created["url"])).path


def send(port: int, path: str, body: bytes) -> int:
    """Return the status of the answer, 0 without one."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        try:
            connection.request("POST", path, body)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return 0
        return response.status


@dataclass(slots=True)
class Sender:
    """Sends alerts one after the other; it repeats an alert until its answer is good."""

    number: int
    port: int
    path: str
    acknowledged: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def run(self, stop: threading.Event) -> None:
        count = 0
        while not stop.is_set():
            count += 1
            name = f"{self.number}-{count}"
            body = json.dumps({"name": name, "id": name}).encode()
            while not stop.is_set():
                status = send(self.port, self.path, body)
                self.statuses[status] += 1
                if status == 202:
                    self.acknowledged.append(name)
                    break


@contextmanager
def sending(up: Service, path: str) -> Iterator[list[Sender]]:
    """Send alerts during the block."""
    stop = threading.Event()
    senders = [Sender(number, up.port, path) for number in range(SENDERS)]
    threads = [threading.Thread(target=sender.run, args=(stop,)) for sender in senders]
    for thread in threads:
        thread.start()
    try:
        yield senders
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def stored(up: Service) -> tuple[list[str], int]:
    """Return the names of the stored alerts, and the number of messages."""
    with up.database() as database:
        names = database.execute("SELECT name FROM alerts_receivedalert").fetchall()
        [(messages,)] = database.execute("SELECT count(*) FROM alerts_alertmessage").fetchall()
    return [name for (name,) in names], int(messages)


def test_no_acknowledged_alert_is_lost_when_web_processes_are_killed() -> None:
    rng = random.Random(SEED)
    # The more processes, the shorter are the waits before each is started again.
    with service(BACKTEST_WORKERS="1", WEB_WORKERS="4") as up:
        path = new_hook(up)
        with sending(up, path) as senders:
            for _ in range(KILLS):
                until(lambda: up.running()["web"], seconds=60)
                time.sleep(rng.uniform(0.2, 1.0))
                victim = rng.choice(up.running()["web"])
                up.kill(victim)
                until(lambda victim=victim: not is_alive(victim))  # type: ignore[misc]
            until(up.answers, seconds=60)
            time.sleep(1)
        acknowledged = [name for sender in senders for name in sender.acknowledged]
        statuses = sum((sender.statuses for sender in senders), Counter())
        names, messages = stored(up)
        print(f"\n{len(acknowledged)} alerts, answers by status (0: none): {dict(statuses)}")
        assert len(acknowledged) > 200
        assert statuses[0] >= KILLS / 2  # the kills met clients that waited
        assert set(statuses) <= {0, 202, 503}
        assert max(Counter(names).values()) == 1
        assert set(acknowledged) <= set(names)
        # An alert may be stored without its answer, if the test ended before the repetition.
        assert len(set(names) - set(acknowledged)) <= SENDERS
        assert messages == len(names)
        assert path.rpartition("/")[2] not in up.log.read_text()


def test_a_thousand_copies_of_fifty_clients_are_one_alert() -> None:
    with service(BACKTEST_WORKERS="1", WEB_WORKERS="4") as up:
        path = new_hook(up)
        with ThreadPoolExecutor(CLIENTS) as clients:
            for body in (b'{"name": "by id", "id": 7}', b'{"name": "by body"}'):
                until(lambda: time.time() % 60 < 30, seconds=60)  # all in one minute
                begun = time.monotonic()
                answers = list(
                    clients.map(lambda _, body=body: send(up.port, path, body), range(COPIES))
                )
                print(f"\n{COPIES} copies in {time.monotonic() - begun:.1f} s")
                assert answers == [202] * COPIES
        names, messages = stored(up)
        assert sorted(names) == ["by body", "by id"]
        assert messages == 2
        assert path.rpartition("/")[2] not in up.log.read_text()
