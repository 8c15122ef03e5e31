"""The scope of a request, and its counting."""

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from django.core.cache import caches
from django.db import OperationalError, connection
from pytest_django import Settings

from apps.core.limits import rate_limits
from apps.core.limits.rate_limits import RateLimitScope
from apps.core.models import AuditRecord, Counter

RATES = {
    "auth": "5/15m",
    "failures": "20/15m",
    "trading": "100/m",
    "backtests": "10/m",
    "general": "1000/15m",
    "pages": None,
}


@pytest.fixture(autouse=True)
def on(settings: Settings) -> None:
    settings.RATE_LIMITS = RATES


@contextmanager
def attempt(scope: RateLimitScope) -> Iterator[None]:
    """Count an attempt as a failure unless the block succeeds."""
    rate_limits.refuse_exceeded(rate_limits.count_attempt(scope))
    yield
    rate_limits.count_success(scope)


@pytest.mark.parametrize(
    ("method", "path", "signed_in", "name", "key"),
    [
        ("POST", "/api/auth/signup", False, "signup", "1.2.3.4"),
        ("POST", "/api/auth/login", True, "login", "1.2.3.4"),
        ("POST", "/api/auth/password", True, "password", "1.2.3.4"),
        ("GET", "/api/auth/login", False, "general", "1.2.3.4"),
        ("POST", "/api/auth/refresh-token", False, "general", "1.2.3.4"),
        ("POST", "/api/auth/logout", True, "general", "u"),
        ("POST", "/api/trading/algorithms", True, "trading", "u"),
        ("DELETE", "/api/trading/algorithms/x", True, "trading", "u"),
        ("GET", "/api/trading/algorithms", True, "general", "u"),
        ("POST", "/api/trading/algorithms", False, "general", "1.2.3.4"),
        ("PATCH", "/api/webhooks/x", True, "trading", "u"),
        ("POST", "/api/backtests", True, "backtests", "u"),
        ("DELETE", "/api/backtests/x", True, "backtests", "u"),
        ("PUT", "/api/backtests/x", True, "general", "u"),
        ("GET", "/api/backtests", True, "general", "u"),
        ("POST", "/api/symbols/validate", True, "general", "u"),
        ("POST", "/api/trading/algorithms/validate", True, "trading", "u"),
        ("GET", "/api/nothing", False, "general", "1.2.3.4"),
    ],
)
def test_a_request_counts_in_the_most_specific_scope(
    method: str, path: str, signed_in: bool, name: str, key: str
) -> None:
    user_id = "u" if signed_in else None
    scope = rate_limits.scope_of(method, path, user_id=user_id, address="1.2.3.4")
    assert scope is not None
    assert (scope.name, scope.key) == (name, key)
    assert scope.fails_open == (name not in rate_limits.BEFORE_A_HASH.values())


def test_an_ipv6_network_is_one_client() -> None:
    first, other = (
        rate_limits.scope_of("GET", "/api/x", user_id=None, address=address)
        for address in ("2001:db8::1", "2001:db8::ffff")
    )
    assert first == other


def test_a_limit_that_is_off_has_no_scope(settings: Settings) -> None:
    settings.RATE_LIMITS = {**RATES, "general": None}
    assert rate_limits.scope_of("GET", "/api/x", user_id=None, address="1.2.3.4") is None


@pytest.mark.django_db
def test_headers_give_the_rest_and_the_time_of_the_reset() -> None:
    scope = RateLimitScope("x", "2/m", "k")
    first, second, third = (rate_limits.count_request(scope) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.exceeded, second.exceeded, third.exceeded) == (False, False, True)
    shown = second.headers()
    assert shown["X-RateLimit-Limit"] == "2"
    assert shown["X-RateLimit-Remaining"] == "0"
    assert shown["X-RateLimit-Reset"] == str(second.ends_at)
    assert "Retry-After" not in shown
    assert third.headers()["Retry-After"] == str(third.seconds_left)
    assert 1 <= third.seconds_left <= 61
    with pytest.raises(rate_limits.TooManyRequests) as refusal:
        rate_limits.refuse_exceeded(third)
    assert refusal.value.details["retryAfter"] == third.seconds_left


@pytest.mark.django_db(transaction=True)
def test_of_more_than_the_limit_at_once_exactly_the_limit_passes() -> None:
    scope = RateLimitScope("x", "5/15m", "k")

    def call(_: int) -> bool:
        try:
            usage = rate_limits.count_request(scope)
            return usage is not None and not usage.exceeded
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(call, range(50))) == 5


@pytest.mark.django_db
def test_only_failures_use_up_an_account() -> None:
    scope = RateLimitScope("login-failures", "2/15m", "a@example.com")

    def log_in(password: str) -> str:
        with attempt(scope):
            if password != "right":
                raise PermissionError
        return "in"

    for _ in range(3):
        assert log_in("right") == "in"
    for _ in range(2):
        with pytest.raises(PermissionError):
            log_in("wrong")
    with pytest.raises(rate_limits.TooManyRequests):
        log_in("right")


@pytest.mark.parametrize("fails_open", [True, False])
def test_without_counters_passwords_stay_shut_and_the_rest_opens(
    monkeypatch: pytest.MonkeyPatch, fails_open: bool
) -> None:
    def broken(*args: object, **options: object) -> bool:
        raise OperationalError

    monkeypatch.setattr(caches["default"], "add", broken)
    scope = RateLimitScope("x", "5/m", "k", fails_open=fails_open)
    if fails_open:
        assert rate_limits.count_request(scope) is None
    else:
        with pytest.raises(rate_limits.LimiterDown):
            rate_limits.count_request(scope)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "key", "actor"),
    [
        ("general", "0123456789abcdef01234567", "0123456789abcdef01234567"),
        ("general", "192.0.2.1", ""),
        ("login", "typed where the address stands", ""),
        ("login", "0123456789abcdef01234567", ""),
    ],
)
def test_the_first_request_over_a_limit_is_on_record(name: str, key: str, actor: str) -> None:
    scope = RateLimitScope(name, "2/h", key, fails_open=name == "general")
    for _ in range(5):
        rate_limits.count_request(scope)
    record = AuditRecord.objects.get()
    assert (record.action, record.actor) == ("limit_hit", actor)
    assert record.details == {"bucket": name, "rate": "2/h"}


@pytest.mark.django_db(transaction=True)
def test_of_wrong_passwords_at_once_no_more_than_the_limit_are_tried() -> None:
    """This holds even with right passwords in between."""
    scope = RateLimitScope("x", "5/15m", "a@example.com")
    tried: list[str] = []

    def log_in(password: str) -> None:
        try:
            with suppress(PermissionError, rate_limits.TooManyRequests), attempt(scope):
                tried.append(password)
                if password == "wrong":
                    raise PermissionError
        finally:
            connection.close()

    log_in("right")
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(log_in, ["right", *["wrong"] * 9] * 5))
    assert tried.count("wrong") <= 5


@pytest.mark.django_db
def test_successes_of_the_last_window_do_not_count_in_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scope = RateLimitScope("x", "2/15m", "a@example.com")
    for _ in range(3):
        with attempt(scope):
            pass
    times = itertools.chain([time.time()] * 3, itertools.repeat(time.time() + 900))
    monkeypatch.setattr(time, "time", lambda: next(times))
    usage = rate_limits.count_attempt(scope)
    assert usage is not None
    assert usage.count == 1


@pytest.mark.django_db
def test_a_deleted_counter_starts_again() -> None:
    scope = RateLimitScope("general", "100/h", "somebody")
    counts = [usage.count for _ in range(3) if (usage := rate_limits.count_request(scope))]
    Counter.objects.all().delete()
    usage = rate_limits.count_request(scope)
    assert counts == [1, 2, 3]
    assert usage is not None
    assert usage.count == 1
