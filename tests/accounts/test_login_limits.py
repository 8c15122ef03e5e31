"""Limits on wrong passwords stop attackers, not the owner."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.login import services, two_factor
from apps.accounts.login.login_limits import AuthRealm, NotAFailure, count_failure
from apps.accounts.models import LoginNetwork, SessionEndReason, User
from tests import make
from tests.accounts.test_email_links import send_mails
from tests.conftest import Api
from tests.error_responses import assert_error

LOG_IN = "/api/auth/login"
WINDOW = 15 * 60
HOME = "203.0.113.7"
LogIn = Callable[..., Any]


@pytest.fixture(autouse=True)
def on(settings: Settings) -> None:
    settings.RATE_LIMITS = {
        "auth": "1000/15m",
        "failures": "3/15m",
        "trading": None,
        "backtests": None,
        "general": None,
        "pages": None,
    }


@pytest.fixture
def log_in(api: Api, alice: User) -> LogIn:
    def log_in(address: str, password: str = make.PASSWORD, email: str = alice.email) -> Any:
        return api().post(LOG_IN, {"email": email, "password": password}, REMOTE_ADDR=address)

    return log_in


def guess_from_many_networks(log_in: LogIn) -> None:
    """Let a stranger use up the account's failures from anywhere."""
    for number in range(5):
        log_in(f"198.51.{number}.1", "wrong password")


def test_no_stranger_shuts_the_owner_out(log_in: LogIn) -> None:
    assert log_in(HOME).status_code == 200
    guess_from_many_networks(log_in)
    assert_error(log_in("198.51.100.9"), 429, "TOO_MANY_REQUESTS")
    assert log_in(HOME).status_code == 200
    assert log_in("203.0.113.250").status_code == 200  # another address of the same network


def test_a_network_is_known_for_thirty_days(log_in: LogIn) -> None:
    log_in(HOME)
    LoginNetwork.objects.update(last_login_at=timezone.now() - timedelta(days=31))
    guess_from_many_networks(log_in)
    assert_error(log_in(HOME), 429, "TOO_MANY_REQUESTS")


def test_a_stranger_in_the_owners_network_is_counted_there(log_in: LogIn) -> None:
    log_in(HOME)
    statuses = [log_in("203.0.113.99", "wrong password").status_code for _ in range(4)]
    assert statuses == [401, 401, 401, 429]


def test_an_unknown_account_answers_as_a_known_one(log_in: LogIn) -> None:
    def statuses(email: str) -> list[int]:
        return [
            log_in(f"192.0.{number}.1", "wrong password", email).status_code for number in range(5)
        ]

    assert statuses("nobody@example.com") == statuses("alice@example.com") == [401] * 3 + [429] * 2


def test_a_network_tries_so_many_passwords_over_all_accounts(
    log_in: LogIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.accounts.login.login_limits.NETWORK_RATE", "4/15m")
    for number in range(4):
        assert log_in(HOME, "wrong password", f"user{number}@example.com").status_code == 401
    assert_error(log_in("203.0.113.99", "wrong", "user9@example.com"), 429, "TOO_MANY_REQUESTS")


def test_the_admin_has_counters_of_its_own(log_in: LogIn, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    guess_from_many_networks(log_in)
    body = {"username": alice.email, "password": make.PASSWORD}
    assert Client(REMOTE_ADDR=HOME).post("/admin/login/", body).status_code == 302


def test_no_stranger_shuts_an_operator_out_of_the_admin(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)

    def log_in(address: str, password: str = make.PASSWORD) -> int:
        body = {"username": alice.email, "password": password}
        return Client(REMOTE_ADDR=address).post("/admin/login/", body).status_code

    assert log_in(HOME) == 302
    for number in range(5):
        log_in(f"198.51.{number}.1", "wrong password")
    assert log_in("198.51.100.9") == 200  # the form again, with the refusal
    assert log_in(HOME) == 302


def test_a_wrong_current_password_counts_as_a_login_does(api: Api, alice: User) -> None:
    client = api(alice)
    body = {"currentPassword": "wrong password", "newPassword": "a new password"}
    statuses = [client.post("/api/auth/password", body).status_code for _ in range(4)]
    assert statuses == [400, 400, 400, 429]


@pytest.mark.django_db
def test_a_right_password_without_its_code_is_not_a_failure() -> None:
    for _ in range(5):
        with (
            pytest.raises(NotAFailure),
            count_failure(email="a@example.com", realm=AuthRealm.API, now=make.NOW),
        ):
            raise services.TwoFactorRequired


# A stranger guesses at an account by the limits of production, from more networks than it takes.


@pytest.fixture
def limits_of_production(settings: Settings) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "auth": "5/15m", "failures": "20/15m"}


@pytest.mark.usefixtures("limits_of_production")
def test_a_stranger_has_1920_guesses_a_day_and_shuts_the_owner_out_0_times(
    log_in: LogIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log_in(HOME).status_code == 200
    begun = int(time.time()) // WINDOW * WINDOW
    monkeypatch.setattr("time.time", lambda: float(begun))  # all of it is in one window
    guessed, shut_out = 0, 0
    for number in range(120):
        address = f"198.51.{number}.1"
        guessed += log_in(address, f"guess {number}").status_code == 401
        if number % 30 == 10:
            shut_out += log_in(HOME).status_code != 200
    windows_of_a_day = 24 * 60 * 60 // WINDOW
    assert (guessed * windows_of_a_day, shut_out) == (1_920, 0)


# A thief has stolen an access token; then the owner reacts.


def test_a_thief_has_nothing_after_the_owner_has_reacted(api: Api, alice: User) -> None:
    thief = api(alice)
    alice.sessions.update(proved_at=timezone.now() - timedelta(minutes=11))
    keys, body = "/api/auth/keys", {"name": "Kept", "scopes": ["read"]}
    for refused in (
        thief.post(keys, body),
        thief.post("/api/auth/two-factor"),
        thief.post("/api/auth/email", {"email": "thief@example.com"}),
        thief.post("/api/webhooks", {"url": "https://thief.example.com", "events": ["*"]}),
    ):
        assert_error(refused, 403, "FORBIDDEN", reason="recent_proof_required")
    proof = thief.post("/api/auth/proof", {"password": "a guess"})
    assert_error(proof, 400, "VALIDATION_ERROR", field="password")
    owner = api(alice)
    changed = owner.post(
        "/api/auth/password", {"currentPassword": make.PASSWORD, "newPassword": "a new password"}
    )
    assert changed.status_code == 200
    assert_error(thief.get("/api/auth/profile"), 401, "UNAUTHORIZED")
    assert not alice.keys.exists()
    assert not two_factor.has_two_factor(alice)
    ended = alice.sessions.exclude(ended_at=None)
    assert {session.end_reason for session in ended} == {SessionEndReason.PASSWORD}


def test_not_even_a_key_is_left_to_a_thief_of_the_first_minutes(api: Api, alice: User) -> None:
    """A login, and so its token, is a proof for ten minutes; the owner's reset revokes
    everything.
    """
    login = api().post(LOG_IN, {"email": alice.email, "password": make.PASSWORD})
    thief, with_key = api(), api()
    thief.credentials(HTTP_AUTHORIZATION=f"Bearer {login.json()['accessToken']}")
    thief.cookies["refreshToken"] = login.cookies["refreshToken"].value
    key = thief.post("/api/auth/keys", {"name": "Kept", "scopes": ["trade"]}).json()["key"]
    with_key.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    assert with_key.post("/api/trading/algorithms", {}).status_code == 201
    api().post("/api/auth/password-reset", {"email": alice.email})
    (path,) = send_mails()
    Client().post(path, {"newPassword": "a new password", "endKeys": "on"})
    for refused in (
        thief.get("/api/auth/profile"),
        thief.post("/api/auth/refresh-token"),
        with_key.post("/api/trading/algorithms", {}),
        api().post(LOG_IN, {"email": alice.email, "password": make.PASSWORD}),
    ):
        assert_error(refused, 401, "UNAUTHORIZED")
