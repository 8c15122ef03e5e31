"""GET and PATCH /api/auth/profile, and the errors of every call that needs a token."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from apps.accounts.login import tokens
from apps.accounts.models import User
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/profile"
Present = Callable[[str], Any]


@pytest.fixture
def present(api: Api) -> Present:
    """Send this Authorization header."""
    return lambda header: api().get(PATH, HTTP_AUTHORIZATION=header)


def opened(user: User, *, age: timedelta = timedelta(0)) -> tokens.IssuedTokens:
    return tokens.issue(user=user, now=timezone.now() - age, address=None, user_agent="")


# The profile.


def test_the_profile_shows_the_user(api: Api, alice: User) -> None:
    response = api(alice).get(PATH)
    assert response.status_code == 200
    assert response.json() == {
        "id": alice.pk,
        "email": "alice@example.com",
        "name": "Alice",
        "emailVerified": False,
        "role": "user",
        "displayName": "",
        "createdAt": "2026-11-02T04:00:00.000Z",
    }


def test_the_name_can_be_changed(api: Api, alice: User, bob: User) -> None:
    response = api(alice).patch(PATH, {"name": "  Alice B. "})
    assert response.status_code == 200
    assert response.json()["name"] == "Alice B."
    assert api(alice).get(PATH).json() == response.json()
    assert api(bob).get(PATH).json()["name"] == "Bob"


def test_no_other_field_can_be_changed(api: Api, alice: User) -> None:
    before = api(alice).get(PATH).json()
    body = before | {"email": "x@y.com", "role": "admin", "emailVerified": True, "id": "0" * 24}
    assert api(alice).patch(PATH, body).json() == before
    assert api(alice).patch(PATH, {}).json() == before


@pytest.mark.parametrize("name", ["", "  ", None, 5, "x" * 101, "a\x07b", ["x"]])
def test_a_bad_name_changes_nothing(api: Api, alice: User, name: object) -> None:
    assert_error(api(alice).patch(PATH, {"name": name}), 400, "VALIDATION_ERROR", field="name")
    alice.refresh_from_db()
    assert alice.name == "Alice"


def test_the_profile_takes_one_query(
    api: Api, alice: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    client = api(alice)
    with django_assert_num_queries(1):
        client.get(PATH)


# Headers without a credential.


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Token x", "Bearer", "Bearer   ", "Bearerx"])
def test_no_bearer_token_is_unauthorized(present: Present, alice: User, header: str) -> None:
    response = present(header)
    assert_error(response, 401, "UNAUTHORIZED")
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_token_counts_nowhere_else(api: Api, alice: User) -> None:
    access = opened(alice).access
    for response in (
        api().get(f"{PATH}?access_token={access}"),
        api().get(PATH, HTTP_COOKIE=f"accessToken={access}; refreshToken={access}"),
        api().patch(PATH, {"accessToken": access, "name": "x"}),
    ):
        assert_error(response, 401, "UNAUTHORIZED")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_case_of_the_scheme_does_not_count(present: Present, alice: User, scheme: str) -> None:
    assert present(f"{scheme} {opened(alice).access}").status_code == 200


@pytest.mark.parametrize(
    "token", ["x", "a.b", "a.b.c.d", "..", "a b", "!!.??.##", "x" * 60_000, "\xff\xfe", "null"]
)
def test_a_malformed_token_is_invalid(present: Present, alice: User, token: str) -> None:
    response = present(f"Bearer {token}")
    assert_error(response, 401, "INVALID_TOKEN")
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_refresh_token_gives_no_access(present: Present, alice: User) -> None:
    assert_error(present(f"Bearer {opened(alice).refresh}"), 401, "INVALID_TOKEN")
    old = opened(alice, age=timedelta(days=8))
    assert_error(present(f"Bearer {old.refresh}"), 401, "INVALID_TOKEN")


def test_a_token_past_its_time_is_expired(present: Present, alice: User) -> None:
    young = opened(alice, age=timedelta(seconds=895))
    old = opened(alice, age=timedelta(seconds=901))
    assert present(f"Bearer {young.access}").status_code == 200
    assert_error(present(f"Bearer {old.access}"), 401, "TOKEN_EXPIRED")


def test_a_token_from_the_future_is_invalid(present: Present, alice: User) -> None:
    early = opened(alice, age=timedelta(hours=-1))
    assert_error(present(f"Bearer {early.access}"), 401, "INVALID_TOKEN")


def test_a_user_who_is_switched_off_or_gone_is_unauthorized(
    present: Present, alice: User, bob: User
) -> None:
    off, gone = opened(alice).access, opened(bob).access
    User.objects.filter(pk=alice.pk).update(is_active=False)
    bob.delete()
    assert_error(present(f"Bearer {off}"), 401, "UNAUTHORIZED")
    assert_error(present(f"Bearer {gone}"), 401, "UNAUTHORIZED")


# Forged tokens.


def encoded(part: object) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(header: object, payload: object, *, key: str | None = None) -> str:
    """Return a token with any header and payload, and an HMAC-SHA256 of our key or of another."""
    key = key or str(settings.SIMPLE_JWT["SIGNING_KEY"])
    text = f"{encoded(header)}.{encoded(payload)}"
    return text + "." + encoded(hmac.digest(key.encode(), text.encode(), hashlib.sha256))


HEADER = {"alg": "HS256", "typ": "JWT"}


@pytest.fixture
def claims(alice: User) -> dict[str, Any]:
    """Return the claims of a good access token."""
    payload = opened(alice).access.split(".")[1]
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return decoded


def test_the_forger_below_can_make_good_tokens(present: Present, claims: dict[str, Any]) -> None:
    assert present(f"Bearer {signed(HEADER, claims)}").status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        [],
        {},
        {"typ": "JWT"},
        {"alg": "none"},
        {"alg": "None", "typ": "JWT"},
        {"alg": ["HS256"]},
        {"alg": {}},
        {"alg": "HS512", "typ": "JWT"},
        {"alg": "RS256", "typ": "JWT"},
        HEADER | {"kid": 1},
        HEADER | {"crit": ["x"]},
        b"\xff\xfe",
        b"",
        b"[" * 2000 + b"]" * 2000,
        b'{"x":' + b"9" * 5000 + b"}",
    ],
    ids=repr,
)
def test_a_token_with_another_header_is_invalid(
    present: Present, claims: dict[str, Any], header: object
) -> None:
    assert_error(present(f"Bearer {signed(header, claims)}"), 401, "INVALID_TOKEN")


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": None},
        {"exp": "zzz"},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": [1]},
        {"exp": {}},
        {"exp": True},
        {"sub": "\x00"},
        {"sub": "x"},
        {"sub": [1]},
        {"sub": {}},
        {"sub": None},
        {"sub": 5},
        {"sid": "\x00"},
        {"sid": "x"},
        {"sid": [1]},
        {"sid": {}},
        {"sid": None},
        {"iat": 10**30},
        {"iat": "x"},
        {"nbf": 10**12},
        {"nbf": []},
        {"jti": 5},
        {"token_type": None},
        {"token_type": "refresh"},
        {"token_type": ["access"]},
    ],
    ids=repr,
)
def test_odd_claims_are_refused_however_well_signed(
    present: Present, claims: dict[str, Any], changed: dict[str, Any]
) -> None:
    response = present(f"Bearer {signed(HEADER, claims | changed)}")
    code = "TOKEN_EXPIRED" if changed == {"exp": True} else "INVALID_TOKEN"
    assert_error(response, 401, code)


@pytest.mark.parametrize("claim", ["exp", "sub", "sid", "jti", "token_type"])
def test_a_claim_that_is_missing_is_refused(
    present: Present, claims: dict[str, Any], claim: str
) -> None:
    del claims[claim]
    assert_error(present(f"Bearer {signed(HEADER, claims)}"), 401, "INVALID_TOKEN")


@pytest.mark.parametrize("payload", [[], "x", 5, None, b"", b"{", b"[" * 5000], ids=repr)
def test_a_payload_that_is_not_an_object_is_invalid(
    present: Present, alice: User, payload: object
) -> None:
    assert_error(present(f"Bearer {signed(HEADER, payload)}"), 401, "INVALID_TOKEN")


def test_a_token_of_another_key_is_invalid(present: Present, claims: dict[str, Any]) -> None:
    for key in ("x" * 64, settings.SECRET_KEY):
        assert_error(present(f"Bearer {signed(HEADER, claims, key=key)}"), 401, "INVALID_TOKEN")


def test_a_token_with_any_changed_character_is_invalid(present: Present, alice: User) -> None:
    """A character's first bit always counts: the last character of a signature carries two bits
    less.
    """
    token = opened(alice).access
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for index in [*range(0, len(token), 29), *range(len(token) - 3, len(token))]:
        if token[index] != ".":
            other = alphabet[alphabet.index(token[index]) ^ 32]
            forged = token[:index] + other + token[index + 1 :]
            assert_error(present(f"Bearer {forged}"), 401, "INVALID_TOKEN")
    assert_error(present(f"Bearer {token.rpartition('.')[0]}."), 401, "INVALID_TOKEN")


def test_a_session_of_another_user_is_unauthorized(
    present: Present, claims: dict[str, Any], bob: User
) -> None:
    assert_error(present(f"Bearer {signed(HEADER, claims | {'sub': bob.pk})}"), 401, "UNAUTHORIZED")
