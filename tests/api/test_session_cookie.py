"""POST /api/auth/login with `sessionCookie`, and calls with only the cookie."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.login import services, tokens
from apps.accounts.models import LoginSession, SessionEndReason, User
from tests import make
from tests.error_responses import assert_error

ALGORITHMS = "/api/trading/algorithms"


class Browser(APIClient):
    """A browser that keeps cookies and is checked for CSRF; its page sends `token` as
    X-CSRFToken.
    """

    default_format = "json"

    def __init__(self) -> None:
        super().__init__(enforce_csrf_checks=True, raise_request_exception=False)

    def log_in(self, user: User) -> Any:
        body = {"email": user.email, "password": make.PASSWORD, "sessionCookie": True}
        response = self.post("/api/auth/login", body)
        assert response.status_code == 200, response.content
        return response

    def forget(self, *cookies: str) -> None:
        for name in cookies:
            del self.cookies[name]

    @property
    def token(self) -> str:
        return self.cookies["csrftoken"].value


@pytest.fixture
def browser(alice: User) -> Browser:
    """Return a browser logged in with only the session cookie."""
    made = Browser()
    made.log_in(alice)
    made.forget("refreshToken")
    return made


def is_signed_in(browser: Browser) -> bool:
    response = browser.get("/api/auth/profile")
    if response.status_code != 200:
        assert_error(response, 401, "UNAUTHORIZED")
        assert response["WWW-Authenticate"] == "Bearer"
    return response.status_code == 200


# In and calls.


def test_the_cookie_is_hidden_from_scripts_and_other_sites(alice: User) -> None:
    cookie = Browser().log_in(alice).cookies["sessionid"]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Strict")
    assert cookie["max-age"] == 604800


def test_a_script_can_read_the_csrf_token(alice: User) -> None:
    cookie = Browser().log_in(alice).cookies["csrftoken"]
    assert (cookie["httponly"], cookie["secure"]) == ("", True)


def test_the_body_and_the_refresh_cookie_are_as_ever(alice: User) -> None:
    response = Browser().log_in(alice)
    assert set(response.json()) == {"success", "message", "user", "accessToken", "expiresIn"}
    assert response.cookies["refreshToken"]["max-age"] == "604800"
    assert LoginSession.objects.count() == 1


def test_reading_needs_only_the_cookie(browser: Browser) -> None:
    assert is_signed_in(browser)
    assert browser.get(ALGORITHMS).status_code == 200


def test_writing_needs_the_csrf_token_too(browser: Browser) -> None:
    assert browser.post(ALGORITHMS, {}, HTTP_X_CSRFTOKEN=browser.token).status_code == 201


@pytest.mark.parametrize("token", [None, "", "x", "x" * 32, "x" * 64, "\xff"])
def test_a_request_without_a_good_cookie_is_forbidden(browser: Browser, token: str | None) -> None:
    headers = {} if token is None else {"HTTP_X_CSRFTOKEN": token}
    assert_error(browser.post(ALGORITHMS, {}, **headers), 403, "FORBIDDEN")  # type: ignore[arg-type]  # headers are extras of the environ


def test_a_request_without_the_csrf_cookie_is_forbidden(browser: Browser) -> None:
    token = browser.token
    browser.forget("csrftoken")
    assert_error(browser.post(ALGORITHMS, {}, HTTP_X_CSRFTOKEN=token), 403, "FORBIDDEN")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://testserver", 201),
        ("http://localhost:3000", 201),
        ("https://localhost", 201),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_allowed_origins_are_the_service_and_its_applications(
    browser: Browser, origin: str, status: int
) -> None:
    headers = {"HTTP_X_CSRFTOKEN": browser.token, "HTTP_ORIGIN": origin}
    assert browser.post(ALGORITHMS, {}, **headers).status_code == status  # type: ignore[arg-type]  # headers are extras of the environ


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("multipart/form-data", 415, "VALIDATION_ERROR"),
        ("multipart/form-data; boundary=x", 415, "VALIDATION_ERROR"),
        ("application/x-www-form-urlencoded; charset=latin-1", 415, "VALIDATION_ERROR"),
        ("application/x-www-form-urlencoded", 415, "VALIDATION_ERROR"),
        ("text/plain", 403, "FORBIDDEN"),
    ],
)
def test_a_form_of_another_site_does_nothing(
    browser: Browser, kind: str, status: int, code: str
) -> None:
    response = browser.post(ALGORITHMS, b"--x\r\n\xff", content_type=kind)
    assert_error(response, status, code)


def test_an_authorization_header_counts_before_the_cookie(browser: Browser) -> None:
    response = browser.get("/api/auth/profile", HTTP_AUTHORIZATION="Bearer x")
    assert_error(response, 401, "INVALID_TOKEN")


def test_a_request_with_a_token_needs_no_csrf(alice: User) -> None:
    browser = Browser()
    access = browser.log_in(alice).json()["accessToken"]
    response = browser.post(ALGORITHMS, {}, HTTP_AUTHORIZATION=f"Bearer {access}")
    assert response.status_code == 201


@pytest.mark.parametrize("cookie", ["", "x", "x" * 32, '"\\000bcdefgh"', "\xff" * 32, "a" * 9000])
@pytest.mark.django_db
def test_a_malformed_session_cookie_is_ignored(cookie: str) -> None:
    headers = {"HTTP_COOKIE": f"sessionid={cookie}"}
    assert_error(Browser().get("/api/auth/profile", **headers), 401, "UNAUTHORIZED")  # type: ignore[arg-type]  # headers are extras of the environ


@pytest.mark.parametrize("cookie", ["x", "x" * 32, '"\\000bcdefgh"'])
def test_logging_in_with_a_strange_cookie_gives_a_good_one(alice: User, cookie: str) -> None:
    body = {"email": alice.email, "password": make.PASSWORD, "sessionCookie": True}
    browser = Browser()
    response = browser.post("/api/auth/login", body, HTTP_COOKIE=f"sessionid={cookie}")
    assert response.cookies["sessionid"].value != cookie
    assert is_signed_in(browser)


def test_a_key_from_before_the_login_opens_nothing(browser: Browser, bob: User) -> None:
    planted = browser.cookies["sessionid"].value
    browser.log_in(bob)
    assert not BrowserSession.objects.filter(session_key=planted).exists()
    assert browser.get("/api/auth/profile").json()["id"] == bob.pk


def test_the_cookie_does_not_open_the_admin(alice: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    browser = Browser()
    browser.log_in(alice)
    assert browser.get("/admin/").status_code == 302


def test_a_login_to_the_admin_does_not_count_here_and_stays(alice: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    browser = Browser()
    assert Client.login(browser, email=alice.email, password=make.PASSWORD)
    assert not is_signed_in(browser)
    browser.log_in(alice)
    assert is_signed_in(browser)
    browser.post("/api/auth/logout", HTTP_X_CSRFTOKEN=browser.token)
    assert not is_signed_in(browser)
    assert browser.get("/admin/").status_code == 200


# The end.


def test_logging_out_by_the_cookie_alone(browser: Browser) -> None:
    response = browser.post("/api/auth/logout", HTTP_X_CSRFTOKEN=browser.token)
    assert response.status_code == 200
    assert response.cookies["sessionid"]["max-age"] == 0
    assert response.cookies["refreshToken"]["max-age"] == "0"
    assert LoginSession.objects.get().end_reason == SessionEndReason.LOGOUT
    assert not BrowserSession.objects.exists()


def test_logging_out_by_the_cookie_alone_needs_the_csrf_token(browser: Browser) -> None:
    assert_error(browser.post("/api/auth/logout"), 403, "FORBIDDEN")
    assert is_signed_in(browser)


def test_logging_out_by_the_refresh_cookie_logs_the_browser_out_too(alice: User) -> None:
    browser = Browser()
    browser.log_in(alice)
    assert browser.post("/api/auth/logout").status_code == 200
    assert not is_signed_in(browser)


def test_a_copy_of_an_ended_cookie_is_refused(browser: Browser) -> None:
    copy = browser.cookies["sessionid"].value
    browser.post("/api/auth/logout", HTTP_X_CSRFTOKEN=browser.token)
    thief = Browser()
    thief.cookies["sessionid"] = copy
    assert not is_signed_in(thief)


def test_the_cookie_ends_with_its_session(browser: Browser, alice: User) -> None:
    services.end_session(user=alice, session_id=LoginSession.objects.get().pk, now=timezone.now())
    assert not is_signed_in(browser)


def test_the_cookie_ends_with_all_sessions(browser: Browser) -> None:
    response = browser.delete("/api/auth/sessions", HTTP_X_CSRFTOKEN=browser.token)
    assert response.status_code == 204
    assert response.cookies["sessionid"]["max-age"] == 0
    assert not is_signed_in(browser)


def test_the_cookie_ends_when_the_password_changes_elsewhere(browser: Browser, alice: User) -> None:
    services.change_password(
        user=alice,
        session=tokens.issue(user=alice, now=timezone.now(), address=None, user_agent="").session,
        new_password="another password",
        now=timezone.now(),
    )
    assert not is_signed_in(browser)


def test_the_cookie_outlives_its_own_change_of_password(browser: Browser) -> None:
    body = {"currentPassword": make.PASSWORD, "newPassword": "another password"}
    response = browser.post("/api/auth/password", body, HTTP_X_CSRFTOKEN=browser.token)
    assert response.status_code == 200
    assert is_signed_in(browser)


def test_the_cookie_ends_when_an_operator_ends_its_session(browser: Browser) -> None:
    services.end(LoginSession.objects.all(), reason=SessionEndReason.OPERATOR, now=timezone.now())
    assert not is_signed_in(browser)


def test_the_cookie_ends_when_its_user_is_disabled(browser: Browser) -> None:
    User.objects.update(is_active=False)
    assert not is_signed_in(browser)


def test_the_cookie_ends_after_seven_days(browser: Browser) -> None:
    LoginSession.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert not is_signed_in(browser)


def test_an_ended_session_is_unauthorized_and_not_forbidden(browser: Browser) -> None:
    services.end(LoginSession.objects.all(), reason=SessionEndReason.OPERATOR, now=timezone.now())
    assert_error(browser.post(ALGORITHMS, {}), 401, "UNAUTHORIZED")
