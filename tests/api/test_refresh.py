"""POST /api/auth/refresh-token. accounts/test_rotation tests older cookies."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.login import services, tokens
from apps.accounts.models import LoginSession, SessionEndReason, User
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/refresh-token"
CLEARED = "refreshToken=; HttpOnly; Max-Age=0; Path=/api/auth; SameSite=Strict; Secure"
Refresh = Callable[..., Any]


def opened(user: User, *, days_ago: int = 0) -> tokens.IssuedTokens:
    now = timezone.now() - timedelta(days=days_ago)
    return tokens.issue(user=user, now=now, address=None, user_agent="")


@pytest.fixture
def refresh(api: Api) -> Refresh:
    """`refresh(token, **headers)` sends the token in the cookie; without a token it sends no
    cookie.
    """

    def send(token: str | None = None, **headers: str) -> Any:
        if token is not None:
            headers["HTTP_COOKIE"] = f"theme=dark; refreshToken={token}"
        return api().post(PATH, **headers)  # type: ignore[arg-type]  # headers are extras of the environ

    return send


def test_the_cookie_fetches_a_new_access_token(refresh: Refresh, api: Api, alice: User) -> None:
    issued = opened(alice)
    response = refresh(issued.refresh)
    assert response.status_code == 200
    assert "refreshToken" not in response.cookies
    body = response.json()
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {body.pop('accessToken')}")
    assert client.get("/api/auth/profile").json()["id"] == alice.pk
    assert body == {"success": True, "expiresIn": 900}


def test_the_session_is_seen_to_be_used(refresh: Refresh, alice: User) -> None:
    issued = opened(alice, days_ago=2)
    refresh(issued.refresh)
    session = LoginSession.objects.get()
    assert session.last_used_at - session.created_at >= timedelta(days=2)
    assert session.expires_at == issued.session.expires_at


@pytest.mark.parametrize("token", [None, "", "x", "a.b.c", "..", "x" * 9000, '""', "%00", "\xff"])
def test_a_refresh_without_a_good_cookie_is_refused(
    refresh: Refresh, alice: User, token: str
) -> None:
    assert_refused(refresh(token))


def assert_refused(response: Any) -> None:
    assert_error(response, 401, "UNAUTHORIZED")
    assert response["WWW-Authenticate"] == "Bearer"
    assert response.cookies["refreshToken"].OutputString() == CLEARED


def test_an_access_token_cannot_refresh(refresh: Refresh, alice: User) -> None:
    assert_refused(refresh(opened(alice).access))


def test_a_tampered_cookie_is_refused(refresh: Refresh, alice: User) -> None:
    head, payload, signature = opened(alice).refresh.split(".")
    assert_refused(refresh(f"{head}.{payload}.{signature[::-1]}"))
    assert_refused(refresh(f"{head}.{payload[:-1]}.{signature}"))


def test_the_cookie_of_an_ended_session_is_refused(refresh: Refresh, alice: User) -> None:
    issued = opened(alice)
    services.end(alice.sessions.all(), reason=SessionEndReason.LOGOUT, now=timezone.now())
    assert_refused(refresh(issued.refresh))


def test_after_seven_days_the_session_is_over(refresh: Refresh, alice: User) -> None:
    assert refresh(opened(alice, days_ago=6).refresh).status_code == 200
    assert_refused(refresh(opened(alice, days_ago=7).refresh))


def test_a_user_who_is_switched_off_is_refused(refresh: Refresh, alice: User) -> None:
    issued = opened(alice)
    User.objects.update(is_active=False)
    assert_refused(refresh(issued.refresh))


def test_two_cookies_of_the_name_are_refused(api: Api, alice: User) -> None:
    first, second = opened(alice).refresh, opened(alice).refresh
    cookies = f"refreshToken={first}; refreshToken={second}"
    assert_refused(api().post(PATH, HTTP_COOKIE=cookies))


def test_the_authorization_header_is_ignored(refresh: Refresh, alice: User) -> None:
    response = refresh(opened(alice).refresh, HTTP_AUTHORIZATION="Bearer garbage")
    assert response.status_code == 200


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-nothing"])
def test_the_body_is_ignored(api: Api, alice: User, kind: str) -> None:
    cookie = f"refreshToken={opened(alice).refresh}"
    response = api().post(PATH, "{ no JSON", content_type=kind, HTTP_COOKIE=cookie)
    assert response.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"HTTP_ORIGIN": "https://evil.example"},
        {"HTTP_ORIGIN": "null"},
        {"HTTP_ORIGIN": "http://testserver.evil.example"},
        {"HTTP_SEC_FETCH_SITE": "cross-site"},
        {"HTTP_ORIGIN": "http://testserver", "HTTP_SEC_FETCH_SITE": "cross-site"},
    ],
)
def test_another_site_cannot_refresh(
    refresh: Refresh, alice: User, headers: dict[str, str]
) -> None:
    response = refresh(opened(alice).refresh, **headers)
    assert_error(response, 403, "FORBIDDEN")
    assert "refreshToken" not in response.cookies


@pytest.mark.parametrize(
    "headers",
    [
        {"HTTP_ORIGIN": "http://testserver"},
        {"HTTP_ORIGIN": "https://testserver", "HTTP_SEC_FETCH_SITE": "same-origin"},
        {"HTTP_ORIGIN": "http://localhost:3000", "HTTP_SEC_FETCH_SITE": "same-site"},
        {"HTTP_SEC_FETCH_SITE": "none"},
    ],
)
def test_the_services_own_pages_can(refresh: Refresh, alice: User, headers: dict[str, str]) -> None:
    assert refresh(opened(alice).refresh, **headers).status_code == 200
