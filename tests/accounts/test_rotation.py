"""Refresh tokens are replaced lazily, each by one successor; an older one ends its session."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework_simplejwt.tokens import RefreshToken

from apps.accounts.login import services, tokens
from apps.accounts.login.services import REUSE_GRACE_PERIOD, ROTATED_AFTER
from apps.accounts.models import LoginSession, SessionEndReason, User
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

DUE = ROTATED_AFTER + timedelta(seconds=1)
SECOND = timedelta(seconds=1)
PATH = "/api/auth/refresh-token"


class Holder:
    """The holder of a session, with its tokens at moments after the login."""

    def __init__(self, user: User) -> None:
        self.login = timezone.now() - timedelta(days=2)
        self.first = tokens.issue(user=user, now=self.login, address=None, user_agent="").refresh

    def refresh(self, token: str, after: timedelta) -> str | None:
        """Return the successor, if there is one."""
        return services.refresh(refresh_token=token, now=self.login + after).refresh

    def successor(self, token: str, after: timedelta) -> str:
        successor = self.refresh(token, after)
        assert successor is not None
        return successor


@pytest.fixture
def holder(alice: User) -> Holder:
    return Holder(alice)


def test_a_young_token_stays(holder: Holder) -> None:
    assert holder.refresh(holder.first, timedelta(0)) is None
    assert holder.refresh(holder.first, ROTATED_AFTER) is None
    assert LoginSession.objects.get().previous_token_id == ""


def test_an_old_refresh_token_is_replaced(holder: Holder) -> None:
    second = holder.successor(holder.first, DUE)
    assert second != holder.first
    assert holder.refresh(second, DUE + ROTATED_AFTER) is None
    assert holder.successor(second, DUE + DUE) not in (holder.first, second)


def test_for_a_minute_its_predecessor_leads_to_the_same_successor(holder: Holder) -> None:
    second = holder.successor(holder.first, DUE)
    assert holder.refresh(holder.first, DUE + 30 * SECOND) == second
    assert holder.refresh(second, DUE + 40 * SECOND) is None
    assert holder.refresh(holder.first, DUE + REUSE_GRACE_PERIOD) == second


def test_a_clock_that_is_behind_finds_the_successor_too(holder: Holder) -> None:
    second = holder.successor(holder.first, DUE)
    assert holder.refresh(holder.first, DUE - 5 * SECOND) == second


def test_after_the_minute_the_predecessor_ends_the_session(holder: Holder) -> None:
    second = holder.successor(holder.first, DUE)
    with pytest.raises(services.RefreshRefused):
        holder.refresh(holder.first, DUE + REUSE_GRACE_PERIOD + SECOND)
    assert LoginSession.objects.get().end_reason == SessionEndReason.REUSE
    with pytest.raises(services.RefreshRefused):
        holder.refresh(second, DUE + REUSE_GRACE_PERIOD + SECOND)


def test_a_refresh_token_older_than_the_previous_one_ends_the_session(holder: Holder) -> None:
    second = holder.successor(holder.first, DUE)
    holder.successor(second, DUE + DUE)
    with pytest.raises(services.RefreshRefused):
        holder.refresh(holder.first, DUE + DUE)
    assert LoginSession.objects.get().end_reason == SessionEndReason.REUSE


def test_only_its_own_session_ends(holder: Holder, alice: User) -> None:
    other = tokens.issue(user=alice, now=holder.login, address=None, user_agent="").refresh
    holder.successor(holder.first, DUE)
    with pytest.raises(services.RefreshRefused):
        holder.refresh(holder.first, DUE + DUE)
    assert holder.successor(other, DUE + DUE)


def test_a_session_ends_seven_days_after_its_login_however_often_it_rotates(
    holder: Holder,
) -> None:
    token = holder.first
    for hours in range(2, 48, 5):
        token = holder.successor(token, timedelta(hours=hours))
    with pytest.raises(services.RefreshRefused):
        holder.refresh(token, tokens.REFRESH_LIFETIME)
    ends = [RefreshToken(text)["exp"] for text in (holder.first, token)]  # type: ignore[arg-type]
    assert ends[0] == ends[1]


def test_a_row_gives_the_same_token_at_every_reading(holder: Holder) -> None:
    row = LoginSession.objects.get()
    assert (
        tokens.refresh_token(row)
        == tokens.refresh_token(LoginSession.objects.get())
        == holder.first
    )


# Over the wire.


def send(api: Api, cookie: str) -> Any:
    return api().post(PATH, HTTP_COOKIE=f"refreshToken={cookie}")


def opened(user: User, *, ago: timedelta) -> tokens.IssuedTokens:
    return tokens.issue(user=user, now=timezone.now() - ago, address=None, user_agent="")


def test_a_new_cookie_lives_for_the_remaining_time(api: Api, alice: User) -> None:
    response = send(api, opened(alice, ago=timedelta(days=6)).refresh)
    assert response.status_code == 200
    assert set(response.json()) == {"success", "accessToken", "expiresIn"}
    morsel = response.cookies["refreshToken"]
    assert 86_390 <= int(morsel["max-age"]) <= 86_400
    written = [part.split("=")[0] for part in morsel.OutputString().split("; ")]
    assert sorted(written) == ["HttpOnly", "Max-Age", "Path", "SameSite", "Secure", "refreshToken"]
    assert (morsel["path"], morsel["samesite"]) == ("/api/auth", "Strict")
    assert send(api, morsel.value).status_code == 200


def test_a_reused_cookie_is_refused_and_cleared(api: Api, alice: User) -> None:
    first = opened(alice, ago=timedelta(hours=2)).refresh
    second = send(api, first).cookies["refreshToken"].value
    past = timezone.now() - REUSE_GRACE_PERIOD - SECOND
    LoginSession.objects.update(rotated_at=past)
    response = send(api, first)
    assert_error(response, 401, "UNAUTHORIZED")
    assert response["WWW-Authenticate"] == "Bearer"
    assert response.cookies["refreshToken"]["max-age"] == "0"
    assert_error(send(api, second), 401, "UNAUTHORIZED")


def test_the_end_of_a_session_ends_successor_and_predecessor(api: Api, alice: User) -> None:
    first = opened(alice, ago=timedelta(hours=2)).refresh
    second = send(api, first).cookies["refreshToken"].value
    services.end(LoginSession.objects.all(), reason=SessionEndReason.LOGOUT, now=timezone.now())
    for token in (first, second):
        assert_error(send(api, token), 401, "UNAUTHORIZED")
    assert LoginSession.objects.get().end_reason == SessionEndReason.LOGOUT


# All at once.


def together(token: str, *, now: datetime, callers: int) -> set[tuple[str, str | None]]:
    """Return the answers to concurrent calls with one token: sessions and successors."""
    ready = Barrier(callers)

    def refresh_with(number: int) -> tuple[str, str | None]:
        ready.wait()
        try:
            renewal = services.refresh(refresh_token=token, now=now)
            return renewal.session.pk, renewal.refresh
        finally:
            connection.close()

    with ThreadPoolExecutor(callers) as pool:
        return set(pool.map(refresh_with, range(callers)))


def race(rounds: int) -> None:
    user = make.user("racer")
    for _ in range(rounds):
        issued = opened(user, ago=timedelta(hours=2))
        answers = together(issued.refresh, now=timezone.now(), callers=50)
        session = LoginSession.objects.get(pk=issued.session.pk)
        assert answers == {(session.pk, tokens.refresh_token(session))}
        assert session.previous_token_id == issued.session.token_id


@pytest.mark.django_db(transaction=True)
def test_fifty_concurrent_refreshes_make_one_successor() -> None:
    race(rounds=2)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_fifty_concurrent_refreshes_make_one_successor_every_time() -> None:
    race(rounds=20)
