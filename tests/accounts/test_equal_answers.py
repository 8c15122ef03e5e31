"""Neither an answer nor its time reveals whether an account exists.

These tests count the cost of an answer: hashes and statements. The slow proof measures its time,
with the hasher of production.
"""

import re
import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.credentials.passwords import OwaspArgon2PasswordHasher
from apps.accounts.login import two_factor
from apps.accounts.models import User
from apps.accounts.own_data import closing
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.conftest import Api

LOG_IN, RESET, ADMIN = "/api/auth/login", "/api/auth/password-reset", "/admin/login/"
UNKNOWN = "nobody@example.com"
TRIES = 300
# Of all pairs of a known and an unknown address: in how many more than half the one may be slower.
# Of TRIES each, chance alone gives 0.1 once in 50,000 runs.
MOST_SEPARABLE = 0.1

Send = Callable[[str, str, str], Any]


@pytest.fixture(autouse=True)
def production(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PASSWORD_HASHERS = ["apps.accounts.credentials.passwords.OwaspArgon2PasswordHasher"]
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "failures": "1000000/15m"}
    monkeypatch.setattr("apps.accounts.login.login_limits.NETWORK_RATE", "1000000/15m")


def turn_on(user: User) -> None:
    totp = authenticator(two_factor.begin_two_factor(user=user, now=timezone.now()))
    two_factor.confirm_two_factor(user=user, code=code_of(totp), now=timezone.now())


def change(**values: object) -> Callable[[User], object]:
    return lambda user: User.objects.filter(pk=user.pk).update(**values)


KINDS: dict[str, Callable[[User], object]] = {
    "plain": lambda user: None,
    "verified": change(email_verified=True),
    "with a second factor": turn_on,
    "operator": change(is_staff=True),
    "deactivated": change(is_active=False),
    "closed": lambda user: closing.close_account(user=user, now=timezone.now()),
}


@pytest.fixture
def send(api: Api) -> Send:
    """Send a call about an address with a wrong password, from a separate network."""

    def send(path: str, email: str, address: str) -> Any:
        client = api()
        if path == ADMIN:
            form = {"username": email, "password": "a guess"}
            return client.post(path, form, format="multipart", REMOTE_ADDR=address)
        body = {"email": email} if path == RESET else {"email": email, "password": "a guess"}
        return client.post(path, body, REMOTE_ADDR=address)

    return send


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each hashed password; counted hashes may be cheap."""
    monkeypatch.setattr(OwaspArgon2PasswordHasher, "memory_cost", 64)
    hashed: list[str] = []
    for name in ("encode", "verify"):
        original = getattr(OwaspArgon2PasswordHasher, name)

        def counted(*arguments: Any, original: Any = original, name: str = name) -> Any:
            hashed.append(name)
            return original(*arguments)

        monkeypatch.setattr(OwaspArgon2PasswordHasher, name, counted)
    return hashed


def shape(sql: str) -> str:
    """Return a statement without its values."""
    return re.sub(r"'(?:[^']|'')*'|\b\d+\b|NULL", "?", sql)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", [LOG_IN, RESET, ADMIN])
def test_responses_cost_the_same_with_or_without_an_account(
    send: Send, alice: User, hashes: list[str], path: str, kind: str
) -> None:
    alice.set_password(make.PASSWORD)
    alice.save()
    KINDS[kind](alice)
    send(path, "another@example.com", "192.0.2.1")  # create the rows that the first call creates
    answers, costs = [], []
    for address, email in (("198.51.100.1", UNKNOWN), ("203.0.113.1", alice.email)):
        hashes.clear()
        with CaptureQueriesContext(connection) as statements:
            response = send(path, email, address)
        costs.append((len(hashes), [shape(statement["sql"]) for statement in statements]))
        text = response.content.decode().replace(response.get("X-Request-ID", ""), "")
        answers.append((response.status_code, sorted(response.headers), text.replace(email, "")))
    assert costs[0] == costs[1]
    assert costs[0][0] == (0 if path == RESET else 1)
    if path == ADMIN:  # each form has a token of its own
        answers = [(status, names, len(text)) for status, names, text in answers]
    assert answers[0] == answers[1]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", [LOG_IN, RESET, ADMIN])
def test_the_response_time_does_not_reveal_an_account(send: Send, alice: User, path: str) -> None:
    """Tries alternate, so that other load on the machine slows both kinds alike."""
    alice.set_password(make.PASSWORD)
    alice.save()
    seconds: dict[str, list[float]] = {UNKNOWN: [], alice.email: []}
    for number in range(2 * TRIES + 20):
        # The order within a pair takes turns too.
        email = (UNKNOWN, alice.email)[(number + number // 2) % 2]
        begun = time.perf_counter()
        send(path, email, "198.51.100.1")
        if number >= 20:
            seconds[email].append(time.perf_counter() - begun)
    unknown, known = seconds[UNKNOWN], seconds[alice.email]
    slower = sum((k > u) + (k == u) / 2 for k in known for u in unknown)
    separable = slower / (len(known) * len(unknown)) - 0.5
    medians = [statistics.median(times) * 1000 for times in (known, unknown)]
    print(f"\n{path}: {medians[0]:.2f} ms known, {medians[1]:.2f} ms unknown, {separable:+.3f}")
    assert abs(separable) < MOST_SEPARABLE
