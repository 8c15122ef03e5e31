"""GET and DELETE /api/auth/sessions, and their limit"""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.login import services, tokens
from apps.accounts.login.services import MOST_SESSIONS
from apps.accounts.models import LoginSession, SessionEndReason, User
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/sessions"


def opened(user: User, *, ago: timedelta = timedelta(0)) -> LoginSession:
    now = timezone.now() - ago
    return tokens.issue(user=user, now=now, address="203.0.113.9", user_agent="phone").session


def log_in(user: User) -> LoginSession:
    return services.log_in(
        email=user.email,
        password=make.PASSWORD,
        now=timezone.now(),
        address=None,
        user_agent="",
    ).session


# List.


def test_live_sessions_are_listed_newest_first(api: Api, alice: User) -> None:
    older = opened(alice, ago=timedelta(hours=1))
    body = api(alice).get(PATH).json()
    assert body["pagination"] == {"page": 1, "limit": 20, "total": 2, "totalPages": 1}
    current, other = body["data"]
    assert current["current"] is True
    assert other == {
        "id": older.pk,
        "createdAt": other["createdAt"],
        "lastUsedAt": other["createdAt"],
        "address": "203.0.113.9",
        "userAgent": "phone",
        "current": False,
    }
    assert other["createdAt"] < current["createdAt"]


def test_ended_expired_and_foreign_sessions_are_not_listed(
    api: Api, alice: User, bob: User
) -> None:
    opened(bob)
    opened(alice, ago=timedelta(days=7))
    services.end(
        LoginSession.objects.filter(pk=opened(alice).pk),
        reason=SessionEndReason.LOGOUT,
        now=timezone.now(),
    )
    assert api(alice).get(PATH).json()["pagination"]["total"] == 1


def test_the_list_is_paged(api: Api, alice: User) -> None:
    client = api(alice)
    opened(alice)
    assert len(client.get(PATH, {"limit": 1, "page": 2}).json()["data"]) == 1
    assert_error(client.get(PATH, {"limit": 101}), 400, "VALIDATION_ERROR", field="limit")


@pytest.mark.parametrize(("idle", "is_written"), [(30, False), (90, True)])
def test_use_is_recorded_at_most_once_a_minute(
    api: Api, alice: User, idle: int, is_written: bool
) -> None:
    client = api(alice)
    before = timezone.now() - timedelta(seconds=idle)
    LoginSession.objects.update(last_used_at=before)
    client.get("/api/auth/profile")
    assert (LoginSession.objects.get().last_used_at > before) is is_written


# End.


def test_a_session_is_ended(api: Api, alice: User) -> None:
    client, other = api(alice), opened(alice)
    response = client.delete(f"{PATH}/{other.pk}")
    assert (response.status_code, response.content) == (204, b"")
    other.refresh_from_db()
    assert other.end_reason == SessionEndReason.REVOKED
    assert "refreshToken" not in response.cookies
    assert client.get("/api/auth/profile").status_code == 200


def test_the_current_session_can_be_ended(api: Api, alice: User) -> None:
    client = api(alice)
    response = client.delete(f"{PATH}/{LoginSession.objects.get().pk}")
    assert response.status_code == 204
    assert response.cookies["refreshToken"]["max-age"] == "0"
    assert_error(client.get("/api/auth/profile"), 401, "UNAUTHORIZED")


@pytest.mark.parametrize("session_id", ["0" * 24, "x", "%00", "F" * 24])
def test_an_unknown_session_is_not_found(api: Api, alice: User, session_id: str) -> None:
    assert_error(api(alice).delete(f"{PATH}/{session_id}"), 404, "NOT_FOUND")


def test_foreign_ended_and_expired_are_not_found(api: Api, alice: User, bob: User) -> None:
    client, session_of_bob, ended = api(alice), opened(bob), opened(alice)
    expired = opened(alice, ago=timedelta(days=8))
    client.delete(f"{PATH}/{ended.pk}")
    for session in (session_of_bob, ended, expired):
        assert_error(client.delete(f"{PATH}/{session.pk}"), 404, "NOT_FOUND")
    session_of_bob.refresh_from_db()
    assert session_of_bob.ended_at is None


def test_all_sessions_end_including_the_current_one(api: Api, alice: User, bob: User) -> None:
    client = api(alice)
    opened(alice)
    session_of_bob = opened(bob)
    response = client.delete(PATH)
    assert (response.status_code, response.content) == (204, b"")
    assert response.cookies["refreshToken"]["max-age"] == "0"
    assert not LoginSession.objects.filter(user=alice, ended_at=None).exists()
    assert LoginSession.objects.get(pk=session_of_bob.pk).ended_at is None
    assert_error(client.get("/api/auth/profile"), 401, "UNAUTHORIZED")


# How many.


def test_a_login_over_the_limit_ends_the_oldest_session(alice: User, bob: User) -> None:
    sessions = [opened(alice, ago=timedelta(minutes=age)) for age in range(MOST_SESSIONS)]
    session_of_bob = opened(bob, ago=timedelta(hours=1))
    newest = log_in(alice)
    live = set(LoginSession.objects.live(now=timezone.now()).values_list("pk", flat=True))
    assert live == {newest.pk, session_of_bob.pk} | {session.pk for session in sessions[:-1]}
    sessions[-1].refresh_from_db()
    assert sessions[-1].end_reason == SessionEndReason.LIMIT


def test_ended_sessions_do_not_count(alice: User) -> None:
    for _ in range(MOST_SESSIONS):
        opened(alice, ago=timedelta(days=8))
    kept = opened(alice)
    log_in(alice)
    kept.refresh_from_db()
    assert kept.ended_at is None


@pytest.mark.django_db(transaction=True)
def test_concurrent_logins_count_each_other() -> None:
    user = make.user("racer")
    for _ in range(MOST_SESSIONS):
        opened(user)
    ready = Barrier(10)

    def open_session(number: int) -> str:
        ready.wait()
        try:
            return str(log_in(user).pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        newest = set(pool.map(open_session, range(10)))
    live = set(LoginSession.objects.live(now=timezone.now()).values_list("pk", flat=True))
    assert len(live) == MOST_SESSIONS
    assert newest <= live
