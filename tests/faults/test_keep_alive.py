"""Many clients keep their connections: none sees an error, and new connections are
answered soon.
"""

import http.client
import statistics
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.faults.everyday_calls import Client
from tests.faults.service import Caller, service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CLIENTS: Final = 200
SECONDS: Final = 60.0
SECONDS_BETWEEN_CALLS: Final = 1.0
WORST_NEW_CONNECTION: Final = 2.0
PATHS: Final = ("/api/trading/algorithms", "/api/auth/profile", "/api/backtests")


@dataclass(slots=True)
class Answers:
    """The answers to all clients, and the seconds of each first call of a new connection."""

    statuses: Counter[int | str] = field(default_factory=Counter)
    first_calls: list[float] = field(default_factory=list)


def call_until(deadline: float, caller: Caller, answers: Answers) -> None:
    """Call once a second over one connection, without closing it."""
    headers = {"Authorization": f"Bearer {caller.token}"}
    with closing(http.client.HTTPConnection("127.0.0.1", caller.port, timeout=30)) as connection:
        number = 0
        while time.monotonic() < deadline:
            answers.statuses[ask(connection, PATHS[number % len(PATHS)], headers)] += 1
            number += 1
            time.sleep(SECONDS_BETWEEN_CALLS)


def ask(connection: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> int | str:
    """Return the status, or the name of the error."""
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    return response.status


def connect_until(deadline: float, caller: Caller, answers: Answers) -> None:
    """Call over new connections, ten in a second."""
    headers = {"Authorization": f"Bearer {caller.token}"}
    while time.monotonic() < deadline:
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", caller.port, timeout=30)
        with closing(connection):
            answers.statuses[ask(connection, PATHS[0], headers)] += 1
        answers.first_calls.append(time.monotonic() - begun)
        time.sleep(0.1)


def test_200_clients_that_keep_their_connections_for_a_minute() -> None:
    with service(BACKTEST_WORKERS="1") as up:
        client = Client(Caller(up.port), "keeper")
        client.sign_up()
        answers, deadline = Answers(), time.monotonic() + SECONDS
        arguments = (deadline, client.caller, answers)
        threads = [threading.Thread(target=call_until, args=arguments) for _ in range(CLIENTS)]
        threads.append(threading.Thread(target=connect_until, args=arguments))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    taken = sorted(answers.first_calls)
    print(f"\n{answers.statuses.total()} calls: {dict(answers.statuses)}")
    print(
        f"new connections: half under {1000 * statistics.median(taken):.0f} ms, worst"
        f" {1000 * taken[-1]:.0f} ms of {len(taken)}"
    )
    assert set(answers.statuses) == {200}
    assert taken[-1] < WORST_NEW_CONNECTION
