"""POST /api/auth/signup"""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.models import LoginSession, User
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/signup"
GOOD = {"email": "asha@example.com", "password": "monsoon-2026", "name": "Asha Rao"}
SignUp = Callable[..., Any]


@pytest.fixture
def sign_up(api: Api) -> SignUp:
    """Send a good body, with fields replaced or added by the keywords."""
    return lambda **changed: api().post(PATH, GOOD | changed)


def test_a_user_is_made_and_signed_in(sign_up: SignUp) -> None:
    response = sign_up()
    assert response.status_code == 201
    body = response.json()
    user = User.objects.get(email="asha@example.com")
    assert user.check_password(GOOD["password"])
    assert body.pop("accessToken").count(".") == 2
    assert re.fullmatch(r"2\d{3}-\d\d-\d\dT[\d:.]+Z", body["user"].pop("createdAt"))
    assert body == {
        "success": True,
        "message": "Welcome.",
        "user": {
            "id": user.pk,
            "email": "asha@example.com",
            "name": "Asha Rao",
            "emailVerified": False,
        },
        "expiresIn": 900,
    }


@pytest.mark.parametrize("password", ["password", "Password1", "12345678", "qwertyuiop"])
def test_a_common_password_is_accepted_with_a_warning(
    sign_up: SignUp, api: Api, password: str
) -> None:
    response = sign_up(password=password)
    assert response.status_code == 201
    assert response.json()["message"] == (
        "Welcome. Your password is one of the 1,000 most common: choose another."
    )
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {response.json()['accessToken']}")
    (row,) = client.get("/api/auth/activity").json()["data"]
    assert (row["action"], row["details"]) == ("signup", {"commonPassword": True})


def test_changing_to_a_common_password_gives_a_warning(api: Api, alice: User) -> None:
    body = {"currentPassword": make.PASSWORD, "newPassword": "password1"}
    answer = api(alice).post("/api/auth/password", body).json()
    assert answer["message"].endswith("one of the 1,000 most common: choose another.")


def test_the_refresh_cookie_is_exactly_this(sign_up: SignUp) -> None:
    header = sign_up().cookies["refreshToken"].OutputString()
    first, *attributes = header.split("; ")
    assert re.fullmatch(r"refreshToken=[\w-]+\.[\w-]+\.[\w-]+", first)
    assert sorted(attributes) == [
        "HttpOnly",
        "Max-Age=604800",
        "Path=/api/auth",
        "SameSite=Strict",
        "Secure",
    ]


def test_the_access_token_works_at_once(sign_up: SignUp, api: Api) -> None:
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {sign_up().json()['accessToken']}")
    assert client.get("/api/auth/profile").json()["email"] == "asha@example.com"


def test_the_session_records_its_address_and_browser(api: Api) -> None:
    agent = "curl/8\x00.1" + "x" * 300
    response = api().post(PATH, GOOD, HTTP_USER_AGENT=agent, REMOTE_ADDR="2001:db8::7")
    assert response.status_code == 201
    session = LoginSession.objects.get()
    assert session.address == "2001:db8::7"
    assert session.user_agent == ("curl/8.1" + "x" * 300)[:200]


def test_a_caller_without_an_address_can_sign_up(api: Api) -> None:
    """A Unix socket has no client address."""
    assert api().post(PATH, GOOD, REMOTE_ADDR="").status_code == 201
    assert LoginSession.objects.get().address is None


@pytest.mark.parametrize(
    "email",
    [
        None,
        "",
        "a",
        "a@",
        "@b.c",
        "a@b",
        "a b@c.de",
        "a@b..c",
        "a@-b.com",
        "a@b-.com",
        "a@b.com\n",
        "x" * 64 + "@" + "y" * 60 + "." + "z" * 63 + "." + "w" * 63 + ".com",
        "x" * 65 + "@b.com",
        ["a@b.com"],
        {"a": 1},
        7,
        True,
        "a@[127.0.0.1]",
        '"a b"@c.com',
        "a@b.com,c@d.com",
        " a@b.com ",
        "\uff41@b.com",
        "m\u0131ke@example.org",
        "a@b.1",
        "a@1.2.3.4",
        ".a@b.com",
        "a.@b.com",
        "a..b@c.com",
        "a@b.com.",
    ],
)
def test_an_invalid_address_is_refused(sign_up: SignUp, email: object) -> None:
    error = assert_error(sign_up(email=email), 400, "VALIDATION_ERROR", field="email")
    assert "email" in error["message"]
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "email", ["a@b.co", "first.last+tag@sub.example.co.in", "o'neil@x-y.org", "1@2.xn--p1ai"]
)
def test_a_valid_address_is_accepted(sign_up: SignUp, email: str) -> None:
    assert sign_up(email=email).json()["user"]["email"] == email


def test_an_address_is_unique_in_any_case(sign_up: SignUp) -> None:
    assert sign_up(email="Asha@Example.com").json()["user"]["email"] == "asha@example.com"
    assert_error(sign_up(email="ASHA@EXAMPLE.COM"), 409, "CONFLICT", field="email")
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "password", [None, "", "seven77", 12345678, ["monsoon-2026"], "x" * 129, "\x00" * 8]
)
def test_a_bad_password_is_refused_and_not_echoed(sign_up: SignUp, password: object) -> None:
    error = assert_error(sign_up(password=password), 400, "VALIDATION_ERROR", field="password")
    assert "value" not in error["details"]
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "password", ["eight888", "x" * 128, "password", "पासवर्ड-१२३", "\t tabs \n"]
)
def test_passwords_have_no_other_rules(sign_up: SignUp, password: str) -> None:
    assert sign_up(password=password).status_code == 201


def test_blanks_around_a_password_belong_to_it(sign_up: SignUp, api: Api) -> None:
    sign_up(password="  two blanks  ")
    exact, trimmed = (
        api().post("/api/auth/login", {"email": GOOD["email"], "password": password})
        for password in ("  two blanks  ", "two blanks")
    )
    assert exact.status_code == 200
    assert_error(trimmed, 401, "UNAUTHORIZED")


@pytest.mark.parametrize("name", [None, "", "   ", "x" * 101, "a\x00b", "a\nb", {"a": 1}, 5])
def test_a_bad_name_is_refused(sign_up: SignUp, name: object) -> None:
    assert_error(sign_up(name=name), 400, "VALIDATION_ERROR", field="name")
    assert not User.objects.exists()


def test_a_name_is_trimmed_and_composed(sign_up: SignUp) -> None:
    assert sign_up(name="  Rene\u0301 <script>  ").json()["user"]["name"] == "René <script>"


def test_all_errors_come_at_once(api: Api) -> None:
    response = api().post(PATH, {"email": "a@b", "password": "short"})
    error = assert_error(response, 400, "VALIDATION_ERROR", field="email", value="a@b")
    assert [fault["field"] for fault in error["details"]["errors"]] == ["email", "password", "name"]
    assert "short" not in response.content.decode()


def test_a_body_cannot_give_powers(sign_up: SignUp) -> None:
    powers = {"role": "admin", "emailVerified": True, "isStaff": True, "is_superuser": True}
    body = sign_up(**powers, id="0" * 24, createdAt="2020-01-01T00:00:00Z").json()["user"]
    user = User.objects.get()
    assert (user.role, user.is_staff, user.is_superuser) == ("user", False, False)
    assert body["emailVerified"] is False
    assert body["id"] == user.pk != "0" * 24


def test_a_body_that_is_not_a_json_object_is_refused(api: Api) -> None:
    for text in ("[]", '"x"', "{", ""):
        response = api().post(PATH, text, content_type="application/json")
        assert_error(response, 400, "VALIDATION_ERROR")
    form = api().post(PATH, "email=a@b.com", content_type="application/x-www-form-urlencoded")
    assert_error(form, 415, "VALIDATION_ERROR", reason="unsupported_media_type")


@pytest.mark.django_db(transaction=True)
def test_of_twenty_concurrent_sign_ups_one_gets_the_address() -> None:
    ready = Barrier(20)

    def sign_up(number: int) -> int:
        client = APIClient(raise_request_exception=False)
        ready.wait()
        try:
            return client.post(PATH, GOOD | {"name": str(number)}, format="json").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        statuses = sorted(pool.map(sign_up, range(20)))
    assert statuses == [201] + [409] * 19
    assert LoginSession.objects.count() == 1


STRICT = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "name")},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]


@pytest.mark.parametrize("password", ["password", "asha@example.com", "Asha Rao"])
def test_strict_validators_are_asked(sign_up: SignUp, settings: Any, password: str) -> None:
    settings.AUTH_PASSWORD_VALIDATORS = STRICT
    error = assert_error(sign_up(password=password), 400, "VALIDATION_ERROR", field="password")
    assert "value" not in error["details"]
    assert sign_up(password="monsoon-2026").status_code == 201
