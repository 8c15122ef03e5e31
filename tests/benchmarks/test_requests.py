"""Three everyday calls, answered by FastAPI with SQLAlchemy and by us.

Both are one process, with the same token, session, rows and PostgreSQL, kept busy by eight
connections in turns. Both give the same answers and write a log line for each request. They are
compared twice: without limits, and with requests counted in the database. Processor time is that of
the web process and of PostgreSQL's processes.
"""

import hashlib
import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psycopg
import pytest

from apps.ops.database.local_postgres import socket_folder
from apps.ops.demo.walkthrough import DEMO_ALGORITHM
from tests.benchmarks.json_client import JsonClient
from tests.benchmarks.load import CONNECTIONS, ask
from tests.benchmarks.load import request as request_of
from tests.benchmarks.peers.environments import PeersMissing
from tests.benchmarks.peers.web import fastapi
from tests.benchmarks.side_by_side import MEASURED, Row, report
from tests.faults.service import Service, service

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

SECRET = "a secret that both services know"
SIGNING_KEY = hashlib.blake2b(b"access and refresh tokens", key=SECRET.encode()).hexdigest()
ALGORITHMS_OF_TRADER, ALGORITHMS_OF_OTHER = 1_000, 9_000
TURNS, REQUESTS = 8, 400
LOGINS = 18  # fewer than the sessions a user may have
TICKS = os.sysconf("SC_CLK_TCK")

COPIES = """
    INSERT INTO algorithms_algorithm (id, {columns})
    SELECT substr(md5(original.id || n), 1, 24), {columns}
    FROM algorithms_algorithm original, generate_series(2, %s) n WHERE original.id = %s
"""
COLUMNS = """
    SELECT string_agg(column_name, ', ') FROM information_schema.columns
    WHERE table_name = 'algorithms_algorithm' AND is_generated = 'NEVER' AND column_name <> 'id'
"""


class Side(NamedTuple):
    """A compared service: its port, and its processes."""

    port: int
    web: list[int]


class Sides(NamedTuple):
    django_side: Side
    fastapi_side: Side
    service: Service
    token: str
    algorithm: str
    # Whether requests count against limits, which are never reached.
    are_counted: bool


@pytest.fixture(scope="module", params=[False, True], ids=["uncounted", "counted"])
def sides(request: pytest.FixtureRequest) -> Iterator[Sides]:
    are_counted: bool = request.param
    limit = "1000000/m" if are_counted else "off"
    with ExitStack() as running:
        started = running.enter_context(
            service(
                WEB_WORKERS="1",
                BACKTEST_WORKERS="1",
                SECRET_KEY=SECRET,
                RATE_LIMIT_GENERAL=limit,
                RATE_LIMIT_TRADING=limit,
            )
        )
        token, algorithm = _filled(started)
        socket = socket_folder(started.directory)
        database = f"postgresql+asyncpg://algotrade@/algotrade?host={socket}&port=5432"
        try:
            peer = running.enter_context(
                fastapi(
                    {
                        "SIGNING_KEY": SIGNING_KEY,
                        "DATABASE": database,
                        "COUNTED": str(int(are_counted)),
                    }
                )
            )
        except PeersMissing as missing:
            pytest.skip(str(missing))
        django_side = Side(started.port, started.running()["web"])
        fastapi_side = Side(peer.port, [peer.pid])
        yield Sides(django_side, fastapi_side, started, token, algorithm, are_counted)


def _filled(started: Service) -> tuple[str, str]:
    """Make algorithms of two users; return a token of the first, and one of their algorithms."""
    client = JsonClient(f"http://127.0.0.1:{started.port}")
    for name, count in (("other", ALGORITHMS_OF_OTHER), ("trader", ALGORITHMS_OF_TRADER)):
        body = {"email": f"{name}@example.com", "password": "a long password", "name": name}
        client.token = ""
        client.token = client.call("POST", "/api/auth/signup", body, expect=201)["accessToken"]
        algorithm = client.call("POST", "/api/trading/algorithms", DEMO_ALGORITHM, expect=201)["id"]
        with started.database() as database:
            _copy(database, algorithm, count)
    return client.token, algorithm


def _copy(database: psycopg.Connection, algorithm: str, count: int) -> None:
    row = database.execute(COLUMNS).fetchone()
    assert row is not None
    database.execute(COPIES.format(columns=row[0]), [count, algorithm])
    database.execute("VACUUM ANALYZE algorithms_algorithm")


class Turn(NamedTuple):
    """Seconds a request: the client's wait, and the work of each part of the service."""

    elapsed: float
    web: float
    database: float
    latencies: list[float]


def turn(side: Side, sides: Sides, sent: bytes) -> Turn:
    backends = sides.service.running()["backend"]
    web, database = _processor(side.web), _processor(backends)
    load = ask(side.port, sent, times=REQUESTS)
    web, database = _processor(side.web) - web, _processor(backends) - database
    return Turn(load.seconds / REQUESTS, web / REQUESTS, database / REQUESTS, load.latencies)


def _processor(pids: list[int]) -> float:
    """Return the processor time of these processes; ended ones count 0."""
    paths = [Path(f"/proc/{pid}/stat") for pid in pids]
    fields = [path.read_text().rpartition(")")[2].split() for path in paths if path.exists()]
    return sum(int(user) + int(system) for *_, user, system in (row[:13] for row in fields)) / TICKS


def compare(
    name: str, sides: Sides, method: str, path: str, *, peer_path: str | None = None
) -> None:
    """Compare turns without the first of each side.

    One ratio is of requests a second. The other is of the processor time of web and database, which
    other load on the machine does not change. The answers are equal, unless the peer gets another
    path, `peer_path`.
    """
    django_side, fastapi_side = sides.django_side, sides.fastapi_side
    if peer_path is None:
        django_client, fastapi_client = (
            JsonClient(f"http://127.0.0.1:{side.port}", token=sides.token)
            for side in (django_side, fastapi_side)
        )
        assert django_client.call(method, path) == fastapi_client.call(method, path)
    sent = request_of(method, path, token=sides.token)
    sent_to_peer = request_of(method, peer_path or path, token=sides.token)
    pairs = [
        (turn(django_side, sides, sent), turn(fastapi_side, sides, sent_to_peer))
        for _ in range(TURNS)
    ]
    if sides.are_counted:
        name = f"{name}, counted"
    django_turns, fastapi_turns = zip(*pairs[1:], strict=True)
    report(
        f"{name}, ours against FastAPI",
        [turn.elapsed for turn in django_turns],
        [turn.elapsed for turn in fastapi_turns],
    )
    report(
        f"{name}, processor time of ours against FastAPI's",
        [turn.web + turn.database for turn in django_turns],
        [turn.web + turn.database for turn in fastapi_turns],
    )
    print(f"web and database work {_work(django_turns)} a request, theirs {_work(fastapi_turns)}")
    print(f"theirs: {_tail(fastapi_turns)}")
    MEASURED.append(Row(f"{name}, {CONNECTIONS} at a time", _tail(django_turns)))
    print(f"ours: {MEASURED[-1].first}")


def _work(turns: Sequence[Turn]) -> str:
    web, database = (
        1000 * statistics.median(getattr(turn, part) for turn in turns)
        for part in ("web", "database")
    )
    return f"{web:.2f} + {database:.2f} ms"


def _tail(turns: Sequence[Turn]) -> str:
    waited = [1000 * seconds for turn in turns for seconds in turn.latencies]
    middle, late = np.percentile(waited, (50, 99))
    return f"half under {middle:.1f} ms, 99 % under {late:.1f} ms, {late / middle:.1f} times that"


def test_logins(sides: Sides) -> None:
    """Logins come one after another, because the user's row is locked; the hash takes most of the
    time.
    """
    if sides.are_counted:
        pytest.skip("one measurement of logins is enough")
    client = JsonClient(f"http://127.0.0.1:{sides.django_side.port}")
    login = {"email": "trader@example.com", "password": "a long password"}
    before = _processor(sides.django_side.web)
    for _ in range(LOGINS):
        client.call("POST", "/api/auth/login", login)
    seconds = (_processor(sides.django_side.web) - before) / LOGINS
    MEASURED.append(Row("a login, processor time of the web process", f"{1000 * seconds:.1f} ms"))
    print(f"\n{MEASURED[-1].name}: {MEASURED[-1].first}")


def test_a_list(sides: Sides) -> None:
    compare(f"20 of {ALGORITHMS_OF_TRADER:,} algorithms", sides, "GET", "/api/trading/algorithms")


def test_one(sides: Sides) -> None:
    compare("an algorithm", sides, "GET", f"/api/trading/algorithms/{sides.algorithm}")


def test_validation(sides: Sides) -> None:
    path = f"/api/trading/algorithms/{sides.algorithm}/validate"
    compare("an algorithm judged", sides, "POST", path)


def test_validation_beside_less(sides: Sides) -> None:
    """The peer omits the coverage of the symbols, which our contract requires."""
    path = f"/api/trading/algorithms/{sides.algorithm}"
    compare(
        "an algorithm judged with coverage beside one without",
        sides,
        "POST",
        f"{path}/validate",
        peer_path=f"{path}/judge",
    )
