"""With more concurrent calls than a limit, over four web processes, exactly the limit passes."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.clients import PASSWORD
from tests.faults.service import Caller, Service, service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MORE = 45
PROCESSES = 4
SIGN_UP, LOG_IN, CHANGE = "/api/auth/signup", "/api/auth/login", "/api/auth/password"


@pytest.fixture(scope="module")
def limited() -> Iterator[Service]:
    """Yield a service with windows of a day, so that none ends during the test."""
    with service(
        WEB_WORKERS=str(PROCESSES),
        BACKTEST_WORKERS="1",
        TRUSTED_PROXIES="127.0.0.0/8",
        RATE_LIMIT_AUTH="5/d",
        RATE_LIMIT_TRADING="20/d",
        RATE_LIMIT_BACKTESTS="10/d",
        RATE_LIMIT_GENERAL="60/d",
        RATE_LIMIT_PAGES="40/d",
    ) as made:
        assert len(made.running()["web"]) == PROCESSES
        yield made


def signed_up(limited: Service, name: str, address: str) -> Caller:
    caller = Caller(limited.port, address=address)
    body = {"email": f"{name}@example.com", "password": PASSWORD, "name": name}
    assert caller.call("POST", SIGN_UP, body).status == 201
    return caller


def passed(limit: int, call: Callable[[int], int]) -> int:
    """Return how many of limit + 45 calls by sixteen clients were not refused."""
    with ThreadPoolExecutor(16) as clients:
        statuses = list(clients.map(call, range(limit + MORE)))
    assert 0 not in statuses
    assert not [status for status in statuses if status >= 500]
    return sum(status != 429 for status in statuses)


@pytest.mark.parametrize("path", [SIGN_UP, LOG_IN])
def test_many_clients_from_one_address(limited: Service, path: str) -> None:
    caller = Caller(limited.port, address="192.0.2.1")
    assert passed(5, lambda n: caller.call("POST", path, {}).status) == 5


def test_changes_of_a_password(limited: Service) -> None:
    caller = signed_up(limited, "changer", "192.0.2.2")
    body = {"currentPassword": "wrong password", "newPassword": PASSWORD}
    assert passed(5, lambda n: caller.call("POST", CHANGE, body).status) == 5


def test_failures_of_one_account_from_everywhere(limited: Service) -> None:
    """This limit is 20 in a quarter of an hour whenever limits are on."""
    body = {"email": "nobody@example.com", "password": "wrong password"}

    def call(n: int) -> int:
        return Caller(limited.port, address=f"198.51.100.{n}").call("POST", LOG_IN, body).status

    assert passed(20, call) == 20


@pytest.mark.parametrize(
    ("name", "limit", "method", "path"),
    [
        ("trader", 20, "POST", "/api/trading/algorithms"),
        ("tester", 10, "POST", "/api/backtests"),
        ("reader", 60, "GET", "/api/auth/profile"),
    ],
)
def test_the_calls_of_one_user(
    limited: Service, name: str, limit: int, method: str, path: str
) -> None:
    caller = signed_up(limited, name, f"192.0.2.{limit}")
    body: dict[str, object] | None = {} if method == "POST" else None
    assert passed(limit, lambda n: caller.call(method, path, body).status) == limit


def test_anonymous_calls_from_one_address(limited: Service) -> None:
    caller = Caller(limited.port, address="203.0.113.9")
    assert passed(60, lambda n: caller.call("GET", "/api/nothing").status) == 60


@pytest.mark.parametrize("path", ["/openapi.json", "/static/admin/css/base.css"])
def test_the_pages_read_from_one_address(limited: Service, path: str) -> None:
    caller = Caller(limited.port, address=f"203.0.113.{len(path)}")
    assert passed(40, lambda n: caller.call("HEAD", path).status) == 40
