"""POST /api/auth/login"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import auth
from django.contrib.auth.hashers import make_password

from apps.accounts.credentials.passwords import OwaspArgon2PasswordHasher
from apps.accounts.models import LoginSession, User
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/login"
LogIn = Callable[[object, object], Any]


@pytest.fixture
def log_in(api: Api, alice: User) -> LogIn:
    return lambda email, password: api().post(PATH, {"email": email, "password": password})


def test_the_right_password_opens_a_session(log_in: LogIn, alice: User) -> None:
    response = log_in(alice.email, make.PASSWORD)
    assert response.status_code == 200
    body = response.json()
    assert body.pop("accessToken").count(".") == 2
    assert body == {
        "success": True,
        "message": "Logged in.",
        "user": {
            "id": alice.pk,
            "email": "alice@example.com",
            "name": "Alice",
            "emailVerified": False,
            "role": "user",
        },
        "expiresIn": 900,
    }
    assert response.cookies["refreshToken"]["max-age"] == "604800"
    assert alice.sessions.count() == 1


def test_each_login_opens_its_own_session(log_in: LogIn, alice: User) -> None:
    first, second = (log_in(alice.email, make.PASSWORD).json() for _ in range(2))
    assert first["accessToken"] != second["accessToken"]
    assert alice.sessions.count() == 2


def test_the_case_of_an_address_does_not_count(log_in: LogIn) -> None:
    assert log_in("ALICE@Example.COM", make.PASSWORD).status_code == 200


@pytest.mark.parametrize(
    ("flags", "role"),
    [({"is_staff": True}, "operator"), ({"is_staff": True, "is_superuser": True}, "admin")],
)
def test_the_response_gives_the_role(
    log_in: LogIn, alice: User, flags: dict[str, bool], role: str
) -> None:
    User.objects.filter(pk=alice.pk).update(**flags)
    assert log_in(alice.email, make.PASSWORD).json()["user"]["role"] == role


def test_unknown_wrong_and_disabled_get_the_same_response(log_in: LogIn, alice: User) -> None:
    unknown = assert_error(log_in("nobody@example.com", make.PASSWORD), 401, "UNAUTHORIZED")
    wrong = assert_error(log_in(alice.email, "wrong password"), 401, "UNAUTHORIZED")
    User.objects.update(is_active=False)
    off = assert_error(log_in(alice.email, make.PASSWORD), 401, "UNAUTHORIZED")
    assert unknown["message"] == wrong["message"] == off["message"]
    assert not LoginSession.objects.exists()


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("not an address", "x"),
        ("   ", "   "),
        ("a\tb", "\u202e"),
        ("x" * 5000, "y" * 5000),
        ("\u0130@example.com", "short"),
        (" alice@example.com ", make.PASSWORD),
    ],
)
def test_any_other_pair_of_strings_is_wrong_and_not_malformed(
    log_in: LogIn, email: str, password: str
) -> None:
    response = log_in(email, password)
    assert_error(response, 401, "UNAUTHORIZED")
    assert response["WWW-Authenticate"] == "Bearer"
    assert "refreshToken" not in response.cookies


@pytest.mark.parametrize("bad", ["", None, 5, True, ["x"], {"x": 1}])
def test_a_missing_or_empty_string_is_malformed(log_in: LogIn, alice: User, bad: object) -> None:
    assert_error(log_in(bad, make.PASSWORD), 400, "VALIDATION_ERROR", field="email")
    error = assert_error(log_in(alice.email, bad), 400, "VALIDATION_ERROR", field="password")
    assert "value" not in error["details"]


def test_both_are_required(api: Api) -> None:
    for response in (api().post(PATH, {}), api().post(PATH)):
        error = assert_error(response, 400, "VALIDATION_ERROR", field="email")
        assert [fault["field"] for fault in error["details"]["errors"]] == ["email", "password"]


def test_unknown_keys_are_ignored(api: Api, alice: User) -> None:
    body = {"email": alice.email, "password": make.PASSWORD, "remember": True, "role": "admin"}
    assert api().post(PATH, body).json()["user"]["role"] == "user"


def test_a_form_of_another_site_cannot_log_in_a_browser(api: Api, alice: User) -> None:
    body = '{"email": "alice@example.com", "password": "' + make.PASSWORD + '"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert_error(api().post(PATH, body, content_type=kind), 415, "VALIDATION_ERROR")


def test_a_stale_token_in_the_header_is_ignored(api: Api, alice: User) -> None:
    client = api()
    client.credentials(HTTP_AUTHORIZATION="Bearer stale")
    body = {"email": alice.email, "password": make.PASSWORD}
    assert client.post(PATH, body).status_code == 200


@pytest.mark.parametrize("case", ["right", "wrong", "unknown", "switched off", "unusable"])
def test_every_login_costs_one_hash(
    log_in: LogIn, alice: User, monkeypatch: pytest.MonkeyPatch, settings: Any, case: str
) -> None:
    settings.PASSWORD_HASHERS = ["apps.accounts.credentials.passwords.OwaspArgon2PasswordHasher"]
    alice.set_password(None if case == "unusable" else make.PASSWORD)
    alice.is_active = case != "switched off"
    alice.save()
    hashed = []
    for name in ("encode", "verify"):
        original = getattr(OwaspArgon2PasswordHasher, name)

        def counted(*arguments: Any, original: Any = original) -> Any:
            hashed.append(original)
            return original(*arguments)

        monkeypatch.setattr(OwaspArgon2PasswordHasher, name, counted)
    email = "nobody@example.com" if case == "unknown" else alice.email
    password = "wrong password" if case == "wrong" else make.PASSWORD
    assert log_in(email, password).status_code == (200 if case == "right" else 401)
    assert len(hashed) == 1


def test_a_password_changed_during_a_login_opens_nothing(
    log_in: LogIn, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash was compared in time, but the change has ended all sessions before this one."""
    authenticate = auth.authenticate

    def authenticate_then_change(**credentials: str) -> Any:
        user = authenticate(**credentials)  # type: ignore[arg-type]  # the first parameter is the request, by position
        User.objects.update(password=make_password("another one"))
        return user

    monkeypatch.setattr(auth, "authenticate", authenticate_then_change)
    assert_error(log_in(alice.email, make.PASSWORD), 401, "UNAUTHORIZED")
    assert not LoginSession.objects.exists()


@pytest.mark.parametrize("bad", ["true", 1, None, [True]])
def test_the_field_for_a_session_cookie_must_be_valid(api: Api, alice: User, bad: object) -> None:
    body = {"email": alice.email, "password": make.PASSWORD, "sessionCookie": bad}
    assert_error(api().post(PATH, body), 400, "VALIDATION_ERROR", field="sessionCookie")


@pytest.mark.parametrize("wanted", [{}, {"sessionCookie": False}])
def test_without_being_asked_no_session_cookie_is_set(
    api: Api, alice: User, wanted: dict[str, bool]
) -> None:
    response = api().post(PATH, {"email": alice.email, "password": make.PASSWORD, **wanted})
    assert set(response.cookies) == {"refreshToken"}
