"""Rate limits as a client sees them"""

import time
from typing import Any

import pytest
from django.core.cache import caches
from pytest_django import Settings

from apps.accounts.models import User
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

LOG_IN = "/api/auth/login"
ALGORITHMS = "/api/trading/algorithms"
NAMES = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.fixture(autouse=True)
def on(settings: Settings) -> None:
    """Limit each scope by the day: a minute may end between the first requests of a test, as the
    first answer waits for the OpenAPI document.
    """
    settings.RATE_LIMITS = {
        "auth": "2/d",
        "failures": "3/d",
        "trading": "3/d",
        "backtests": "2/d",
        "general": "5/d",
        "pages": None,
    }


def shown(response: Any) -> tuple[int, int]:
    return int(response["X-RateLimit-Limit"]), int(response["X-RateLimit-Remaining"])


def test_every_response_gives_the_rest_of_its_own_scope(api: Api, alice: User) -> None:
    client = api(alice)
    assert shown(client.get("/api/auth/profile")) == (5, 4)
    assert shown(client.post(ALGORITHMS, {})) == (3, 2)
    assert shown(client.post("/api/backtests", {})) == (2, 1)
    assert shown(client.get("/api/nothing")) == (5, 3)
    assert shown(client.generic("PROPFIND", ALGORITHMS)) == (5, 2)
    huge = client.generic("POST", ALGORITHMS, "x" * (2 * 1024 * 1024), "application/json")
    assert (huge.status_code, shown(huge)) == (413, (3, 1))
    anonymous = api()
    assert shown(anonymous.get(ALGORITHMS)) == (5, 4)
    assert shown(anonymous.post(ALGORITHMS, {})) == (5, 3)
    assert shown(anonymous.options(ALGORITHMS)) == (5, 2)
    assert shown(anonymous.options("/api/nothing")) == (5, 1)
    assert not set(NAMES) & set(anonymous.get("/healthz").headers)


def test_requests_over_the_limit_are_refused_until_the_window_ends(api: Api, alice: User) -> None:
    client = api(alice)
    for _ in range(3):
        assert client.post(ALGORITHMS, {}).status_code == 201
    response = client.post(ALGORITHMS, {})
    seconds = int(response["Retry-After"])
    error = assert_error(response, 429, "TOO_MANY_REQUESTS", retryAfter=seconds)
    assert error["retryAfter"] == seconds
    assert 1 <= seconds <= 24 * 60 * 60 + 1
    assert abs(int(response["X-RateLimit-Reset"]) - (time.time() + seconds)) <= 2
    assert shown(response) == (3, 0)
    assert client.get(ALGORITHMS).status_code == 200


def test_users_are_counted_by_themselves(api: Api, alice: User, bob: User) -> None:
    for _ in range(4):
        last = api(alice).post(ALGORITHMS, {})
    assert last.status_code == 429
    assert api(bob).post(ALGORITHMS, {}).status_code == 201


def test_no_password_is_hashed_before_the_limiter_has_spoken(
    api: Api, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, body = api(), {"email": alice.email, "password": "wrong password"}
    for _ in range(2):
        assert_error(client.post(LOG_IN, body), 401, "UNAUTHORIZED")
    monkeypatch.setattr("apps.accounts.login.services.log_in", None)
    assert_error(client.post(LOG_IN, body), 429, "TOO_MANY_REQUESTS", limit=2)
    assert client.post("/api/auth/signup", {}).status_code == 400  # a scope of its own


def test_addresses_behind_a_trusted_proxy_count_separately(api: Api, settings: Settings) -> None:
    from ipaddress import ip_network

    def left(forwarded: str) -> int:
        return shown(api().get("/api/x", headers={"X-Forwarded-For": forwarded}))[1]

    assert [left("1.1.1.1"), left("2.2.2.2")] == [4, 3]
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.0/8")]
    assert [left("1.1.1.1"), left("2.2.2.2"), left("1.1.1.1")] == [4, 4, 3]


def test_a_disabled_limit_sends_no_headers(api: Api, alice: User, settings: Settings) -> None:
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    response = api(alice).get(ALGORITHMS)
    assert response.status_code == 200
    assert not set(NAMES) & set(response.headers)


def test_without_counters_logins_wait_and_other_calls_continue(
    api: Api, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **options: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(caches["default"], "add", broken)
    client = api(alice)
    assert client.get(ALGORITHMS).status_code == 200
    response = client.post(LOG_IN, {"email": alice.email, "password": make.PASSWORD})
    assert_error(response, 503, "SERVICE_UNAVAILABLE", retryAfter=5)
