"""Connections are cut and rows stay locked: clients get a time to retry, and never a 500."""

import http.client
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

import psycopg
import pytest

from tests.faults.clients import DAYS, PASSWORD, writing
from tests.faults.service import Answer, Caller, Service, service
from tests.processes import is_alive, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SEED: Final = 20261121
CUTS: Final = 200
CUT_ANY: Final = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1
"""
READ: Final = ("/api/auth/profile", "/api/trading/algorithms", "/api/backtests", "/readyz")
ADMIN: Final = ("/admin/", "/admin/accounts/user/")
THREADS: Final = 8  # of web: two processes of four


@pytest.fixture(scope="module")
def up() -> Iterator[Service]:
    with service(WEB_WORKERS="2", BACKTEST_WORKERS="1") as running:
        running.manage("load_candles", "--sample")
        yield running


@pytest.fixture
def alice(up: Service) -> Caller:
    caller = Caller(up.port)
    body = {"email": f"alice{time.monotonic_ns()}@example.com", "password": PASSWORD, "name": "A"}
    assert caller.call("POST", "/api/auth/signup", body).status == 201
    return caller


def drafted(caller: Caller) -> str:
    return str(caller.call("POST", "/api/trading/algorithms", DAYS)["id"])


@dataclass(slots=True)
class Operator:
    """A browser at the admin: it keeps cookies and posts forms."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    def log_in(self, email: str) -> None:
        self.get("/admin/login/")
        form = {"username": email, "password": PASSWORD}
        form["csrfmiddlewaretoken"] = self.cookies["csrftoken"]
        assert self._ask("POST", "/admin/login/", urlencode(form)) == 302

    def get(self, path: str) -> int:
        return self._ask("GET", path)

    def _ask(self, method: str, path: str, form: str | None = None) -> int:
        headers = {"Cookie": "; ".join(f"{name}={text}" for name, text in self.cookies.items())}
        if form:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, path, body=form, headers=headers)
            response = connection.getresponse()
            response.read()
        for cookie in response.headers.get_all("Set-Cookie", ()):
            name, text = re.findall(r"^([^=]+)=([^;]*)", cookie)[0]
            self.cookies[name] = text
        return response.status


@pytest.fixture
def operator(up: Service, alice: Caller) -> Operator:
    email = str(alice.call("GET", "/api/auth/profile")["email"])
    with up.database() as connection:
        raise_to = "UPDATE accounts_user SET is_staff = true, is_superuser = true WHERE email = %s"
        assert connection.execute(raise_to, [email]).rowcount == 1
    browser = Operator(up.port)
    browser.log_in(email)
    return browser


@contextmanager
def repeating(ask: Callable[[str], int], paths: tuple[str, ...]) -> Iterator[Counter[int]]:
    """Request each path in turn, about five times a second; return the answers by status."""
    statuses: Counter[int] = Counter()
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            for path in paths:
                statuses[ask(path)] += 1
                stop.wait(0.2)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield statuses
    finally:
        stop.set()
        thread.join()


def test_cut_connections_are_never_a_crash(up: Service, alice: Caller, operator: Operator) -> None:
    with (
        repeating(lambda path: alice.call("GET", path).status, READ) as read,
        repeating(operator.get, ADMIN) as managed,
        writing(up.port, count=4, seed=SEED) as writers,
        up.database() as connection,
    ):
        until(lambda: all(writer.journal.names for writer in writers))
        for _ in range(CUTS):
            connection.execute(CUT_ANY)
            time.sleep(0.1)
    written = sum((writer.journal.statuses for writer in writers), Counter[int]())
    print(f"\nread {dict(read)}, admin {dict(managed)}, written {dict(written)}")
    assert set(read) <= {200, 503}
    assert set(managed) <= {200, 302, 503}
    assert not [line for writer in writers for line in writer.journal.unexpected]
    assert min(read[200], managed[200], written[201]) > 0
    assert 0 not in written


def test_every_thread_answers_at_once_when_the_database_is_back(up: Service, alice: Caller) -> None:
    """Each web thread holds a connection to the lost server."""
    assert set(together(alice, calls=5 * THREADS)) == {200}
    killed = up.postmaster()
    up.kill(killed)
    until(lambda: not is_alive(killed))
    until(lambda: accepts_connections(up))
    assert set(together(alice, calls=5 * THREADS)) == {200}


def together(caller: Caller, *, calls: int) -> list[int]:
    with ThreadPoolExecutor(THREADS) as pool:
        paths = ["/api/trading/algorithms"] * calls
        return list(pool.map(lambda path: caller.call("GET", path).status, paths))


def accepts_connections(up: Service) -> bool:
    try:
        up.database().close()
    except psycopg.OperationalError:
        return False
    return True


def test_a_row_that_stays_locked_is_refused_and_others_continue(up: Service, alice: Caller) -> None:
    stuck, free = drafted(alice), drafted(alice)
    with up.database() as connection, connection.transaction():
        connection.execute("SELECT FROM algorithms_algorithm WHERE id = %s FOR UPDATE", [stuck])
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(renamed, alice, stuck) for _ in range(2)]
            assert renamed(alice, free).status == 200
            assert alice.call("GET", f"/api/trading/algorithms/{stuck}").status == 200
            refused = [future.result() for future in waiting]
    assert [answer.status for answer in refused] == [503, 503]
    assert [answer.headers["Retry-After"] for answer in refused] == ["5", "5"]
    assert renamed(alice, stuck).status == 200


def renamed(caller: Caller, algorithm: str) -> Answer:
    return caller.call("PATCH", f"/api/trading/algorithms/{algorithm}", {"name": "Renamed"})
