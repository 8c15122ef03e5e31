"""POST /api/auth/logout: every case of the two credentials."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.login import services, tokens
from apps.accounts.models import SessionEndReason, User
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/logout"
CLEARED = "refreshToken=; HttpOnly; Max-Age=0; Path=/api/auth; SameSite=Strict; Secure"
DAMAGED = "eyJhbGciOiJIUzI1NiJ9.e30.x"
LogOut = Callable[..., Any]


def opened(user: User, *, age: timedelta = timedelta(0)) -> tokens.IssuedTokens:
    return tokens.issue(user=user, now=timezone.now() - age, address=None, user_agent="")


def expired_access(user: User) -> tokens.IssuedTokens:
    return opened(user, age=timedelta(minutes=16))


def is_over(issued: tokens.IssuedTokens) -> bool:
    issued.session.refresh_from_db()
    return issued.session.ended_at is not None


@pytest.fixture
def log_out(api: Api) -> LogOut:
    """Send the given credentials; every answer must clear the cookie."""

    def send(access: str | None = None, cookie: str | None = None) -> Any:
        headers = {}
        if access is not None:
            headers["HTTP_AUTHORIZATION"] = f"Bearer {access}"
        if cookie is not None:
            headers["HTTP_COOKIE"] = f"refreshToken={cookie}"
        response = api().post(PATH, **headers)  # type: ignore[arg-type]  # headers are extras of the environ
        assert response.cookies["refreshToken"].OutputString() == CLEARED
        return response

    return send


def assert_out(response: Any) -> None:
    assert response.status_code == 200
    assert response.json() == {"success": True, "message": "Logged out."}


def test_both_credentials_of_one_session_end_it(log_out: LogOut, alice: User) -> None:
    issued = opened(alice)
    assert_out(log_out(issued.access, issued.refresh))
    assert is_over(issued)
    assert issued.session.end_reason == SessionEndReason.LOGOUT


@pytest.mark.parametrize("cookie", [None, "", DAMAGED])
def test_the_access_token_alone(log_out: LogOut, alice: User, cookie: str | None) -> None:
    issued, other = opened(alice), opened(alice)
    assert_out(log_out(issued.access, cookie))
    assert is_over(issued)
    assert not is_over(other)


def test_the_access_token_with_an_expired_cookie(log_out: LogOut, alice: User) -> None:
    issued, old = opened(alice), opened(alice, age=timedelta(days=8))
    assert_out(log_out(issued.access, old.refresh))
    assert is_over(issued)
    assert not is_over(old)


def test_credentials_of_two_sessions_end_both(log_out: LogOut, alice: User, bob: User) -> None:
    issued, issued_to_bob = opened(alice), opened(bob)
    assert_out(log_out(issued.access, issued_to_bob.refresh))
    assert is_over(issued)
    assert is_over(issued_to_bob)


def test_an_expired_access_token_with_a_good_cookie(log_out: LogOut, alice: User) -> None:
    issued = expired_access(alice)
    assert_out(log_out(issued.access, issued.refresh))
    assert is_over(issued)


@pytest.mark.parametrize("access", [None, DAMAGED])
def test_the_cookie_alone(log_out: LogOut, alice: User, access: str | None) -> None:
    issued = opened(alice)
    assert_out(log_out(access, issued.refresh))
    assert is_over(issued)


@pytest.mark.parametrize("with_cookie", [True, False])
def test_logging_out_twice_succeeds(log_out: LogOut, alice: User, with_cookie: bool) -> None:
    issued = opened(alice)
    log_out(issued.access, issued.refresh)
    is_over(issued)
    first_end = issued.session.ended_at
    assert_out(log_out(issued.access, issued.refresh if with_cookie else None))
    assert is_over(issued)
    assert issued.session.ended_at == first_end


@pytest.mark.parametrize("cookie", [None, DAMAGED])
def test_an_expired_access_token_alone(log_out: LogOut, alice: User, cookie: str | None) -> None:
    issued = expired_access(alice)
    assert_error(log_out(issued.access, cookie), 401, "TOKEN_EXPIRED")
    assert not is_over(issued)


@pytest.mark.parametrize("cookie", [None, DAMAGED])
def test_a_damaged_access_token_does_not_log_out(log_out: LogOut, cookie: str | None) -> None:
    assert_error(log_out(DAMAGED, cookie), 401, "INVALID_TOKEN")


@pytest.mark.parametrize("cookie", [None, "", DAMAGED])
def test_logging_out_without_credentials_succeeds(log_out: LogOut, cookie: str | None) -> None:
    response = log_out(None, cookie)
    assert_error(response, 401, "UNAUTHORIZED")
    assert response["WWW-Authenticate"] == "Bearer"


def test_swapped_tokens_do_not_log_out(log_out: LogOut, alice: User) -> None:
    issued = opened(alice)
    assert_error(log_out(issued.refresh, issued.access), 401, "INVALID_TOKEN")
    assert not is_over(issued)


def test_after_a_logout_both_tokens_are_refused(log_out: LogOut, api: Api, alice: User) -> None:
    issued = opened(alice)
    log_out(issued.access)
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {issued.access}")
    assert_error(client.get("/api/auth/profile"), 401, "UNAUTHORIZED")
    with pytest.raises(services.RefreshRefused):
        services.refresh(refresh_token=issued.refresh, now=timezone.now())


def test_a_user_who_is_switched_off_can_still_log_out(log_out: LogOut, alice: User) -> None:
    issued = opened(alice)
    User.objects.update(is_active=False)
    assert_out(log_out(issued.access))
    assert is_over(issued)


def test_another_site_cannot_log_a_browser_out(api: Api, alice: User) -> None:
    issued = opened(alice)
    headers = {"HTTP_COOKIE": f"refreshToken={issued.refresh}", "HTTP_SEC_FETCH_SITE": "cross-site"}
    assert_error(api().post(PATH, **headers), 403, "FORBIDDEN")  # type: ignore[arg-type]  # headers are extras of the environ
    assert not is_over(issued)
