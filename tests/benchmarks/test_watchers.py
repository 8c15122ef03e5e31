"""The time from a commit to the update on the live boards of fifty watchers, against a service as
users run it: the event arrives by the stream, and the board is fetched again.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection

import numpy as np
import psycopg
import pytest

from apps.core.database.ids import NEW_ID
from apps.trading.models import Position
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from tests import make
from tests.benchmarks.side_by_side import MEASURED, Row
from tests.faults.service import Service, service
from tests.trading.live.many_runs import make_runs
from tests.trading.live.market_day import FIRST, crossing_steps

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

OWNERS, SESSIONS, ALGORITHMS = 10, 5, 25  # sessions and algorithms of an owner
UNTIMED, ROUNDS, SECONDS_APART = 2, 12, 3.0
SEED = "from tests.benchmarks.test_watchers import make_traders; make_traders()"
UPDATE = "UPDATE trading_position SET unrealised = %s"
# An event of each algorithm, as written by a bar in which all of them trade.
EVENTS = f"""
    INSERT INTO webhooks_event
        (id, owner_id, type, algorithm_id, backtest_id, sequence, created_at, data)
    SELECT {NEW_ID}, owner_id, %s, id, '', %s, now(), %s FROM algorithms_algorithm
"""


def make_traders() -> None:
    """Give each owner a page of trading algorithms, each with a position."""
    owners = [make.user(f"watcher{n}") for n in range(OWNERS)]
    configuration = crossing_steps(["NSE:RELIANCE"], "5m")
    runs = make_runs(owners, [configuration] * (OWNERS * ALGORITHMS), since=FIRST)
    Position.objects.bulk_create(
        Position(run=run, symbol="NSE:RELIANCE", quantity=1, entry_price=100, opened_at=make.NOW)
        for run in runs
    )


@dataclass(slots=True)
class Watcher:
    """A browser with the live board, which it fetches again when its stream announces a change."""

    port: int
    cookie: str
    amount: str = ""
    shown_at: list[float] = field(default_factory=list)
    heard_at: list[float] = field(default_factory=list)

    async def watch(self) -> None:
        """Fetch the board on each change, and record when it first shows `amount`."""
        async with self._connection() as (events, ask_events), self._connection() as (pages, ask):
            ask_events("/api/events")
            shown = ""
            while heard := await events.read(65536):
                if b"event:" not in heard or shown == self.amount:
                    continue
                heard_at = time.perf_counter()
                ask("/app/live")
                if self.amount.encode() in await _answer(pages):
                    shown = self.amount
                    self.heard_at.append(heard_at)
                    self.shown_at.append(time.perf_counter())

    @asynccontextmanager
    async def _connection(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, Callable[[str], None]]]:
        """Yield the answers, and a function that requests a path."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = ["Host: 127.0.0.1", f"Cookie: {self.cookie}", "HX-Request: true", "", ""]
        head = "\r\n".join(lines)
        try:
            yield reader, lambda path: writer.write(f"GET {path} HTTP/1.1\r\n{head}".encode())
        finally:
            writer.transport.abort()
            writer.close()


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = re.search(rb"\r\ncontent-length: *([0-9]+)", head, re.IGNORECASE)
    assert length
    return await reader.readexactly(int(length[1]))


def sign_in(port: int, number: int) -> Watcher:
    body = {
        "email": f"watcher{number}@example.com",
        "password": make.PASSWORD,
        "sessionCookie": True,
    }
    headers = {"Content-Type": "application/json"}
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("POST", "/api/auth/login", json.dumps(body), headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        cookies = response.headers.get_all("Set-Cookie", [])
    return Watcher(port, "; ".join(cookie.partition(";")[0] for cookie in cookies))


def commit(database: psycopg.Connection, number: int) -> float:
    """Change the position of every algorithm, and write an event for each; return the time of
    sending.
    """
    amount = 1000 + number
    event = EVENT_SCHEMAS[EventType.TRADE_EXECUTED].example
    with database.transaction():
        database.execute(UPDATE, [amount])
        database.execute(EVENTS, [EventType.TRADE_EXECUTED, number, json.dumps(event)])
        return time.perf_counter()


async def follow(running: Service, watchers: list[Watcher]) -> tuple[list[float], list[float]]:
    """Return the seconds from each commit until watchers got the event, and until they
    showed it.
    """
    arrivals: list[float] = []
    updates: list[float] = []
    tasks = [asyncio.create_task(watcher.watch()) for watcher in watchers]
    await asyncio.sleep(SECONDS_APART)
    with running.database() as database:
        for number in range(1, UNTIMED + ROUNDS + 1):
            for watcher in watchers:
                watcher.amount = f"₹{1000 + number:,}"
            committed = commit(database, number)
            await asyncio.sleep(SECONDS_APART)
            assert all(len(watcher.shown_at) == number for watcher in watchers)
            if number > UNTIMED:
                arrivals += [watcher.heard_at[-1] - committed for watcher in watchers]
                updates += [watcher.shown_at[-1] - committed for watcher in watchers]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return arrivals, updates


def test_an_update_on_the_boards_of_fifty_watchers() -> None:
    with service() as running:
        running.manage("shell", "-c", SEED)
        watchers = [sign_in(running.port, n) for n in range(OWNERS) for _ in range(SESSIONS)]
        arrivals, updates = asyncio.run(follow(running, watchers))
    words = [
        "half within {:.2f} s, 95 % within {:.2f} s, all within {:.2f} s".format(
            *np.quantile(seconds, [0.5, 0.95, 1])
        )
        for seconds in (arrivals, updates)
    ]
    watched = f"{len(watchers)} live boards of {ALGORITHMS} algorithms"
    MEASURED.append(Row(f"from a commit to its events at {watched}", words[0]))
    MEASURED.append(Row(f"from a commit to its update on {watched}", words[1]))
    print(f"\n{MEASURED[-2]}\n{MEASURED[-1]}")
