"""The second factor."""

import re
from base64 import b32decode
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from apps.accounts.login import two_factor
from apps.accounts.models import RecoveryCode, SecondFactor, User
from apps.core.audit import Action
from apps.core.models import AuditRecord
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/two-factor"


def turn_on(user: User) -> tuple[TOTP, list[str]]:
    """Turn the factor on with a code of the previous step, so that the present code is unused."""
    totp = authenticator(two_factor.begin_two_factor(user=user, now=timezone.now()))
    codes = two_factor.confirm_two_factor(user=user, code=code_of(totp, -1), now=timezone.now())
    return totp, codes


def log_in(api: Api, user: User, **more: str) -> Any:
    body = {"email": user.email, "password": make.PASSWORD, **more}
    return api().post("/api/auth/login", body)


def prove(client: APIClient) -> None:
    assert client.post("/api/auth/proof", {"password": make.PASSWORD}).status_code == 200


def test_turning_it_on_needs_a_recent_proof_besides_the_login(api: Api, alice: User) -> None:
    """A thief of the token would lock the owner out for good."""
    login = log_in(api, alice).json()
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {login['accessToken']}")
    refused = client.post(PATH)
    assert_error(refused, 403, "FORBIDDEN", reason="recent_proof_required")
    prove(client)
    assert client.post(PATH).status_code == 200
    alice.sessions.update(proved_at=timezone.now() - timedelta(minutes=11))
    assert_error(client.post(PATH), 403, "FORBIDDEN", reason="recent_proof_required")


def test_the_first_code_turns_it_on(api: Api, alice: User) -> None:
    client = api(alice)
    assert client.get(PATH).json() == {"enabled": False, "since": None, "recoveryCodesLeft": 0}
    prove(client)
    totp = authenticator(client.post(PATH).json()["uri"])
    assert log_in(api, alice).status_code == 200  # not confirmed yet
    wrong = client.post(f"{PATH}/confirm", {"code": "000000"})
    assert_error(wrong, 400, "VALIDATION_ERROR", field="code")
    confirmed = client.post(f"{PATH}/confirm", {"code": code_of(totp)})
    assert len(set(confirmed.json()["recoveryCodes"])) == 10
    state = client.get(PATH).json()
    assert (state["enabled"], state["recoveryCodesLeft"]) == (True, 10)
    assert_error(client.post(PATH), 422, "UNPROCESSABLE_ENTITY")
    assert AuditRecord.objects.filter(action=Action.SECOND_FACTOR_ON).count() == 1


def test_a_login_asks_for_a_code(api: Api, alice: User) -> None:
    totp, _ = turn_on(alice)
    assert_error(log_in(api, alice), 401, "UNAUTHORIZED", reason="two_factor_required")
    wrong = log_in(api, alice, code="000000")
    assert_error(wrong, 401, "UNAUTHORIZED", reason="two_factor_failed")
    code = code_of(totp)
    assert log_in(api, alice, code=code).status_code == 200
    assert_error(log_in(api, alice, code=code), 401, "UNAUTHORIZED", reason="two_factor_failed")


def test_a_wrong_password_is_reported_without_asking_for_a_code(api: Api, alice: User) -> None:
    turn_on(alice)
    body = {"email": alice.email, "password": "a guess"}
    error = assert_error(api().post("/api/auth/login", body), 401, "UNAUTHORIZED")
    assert "details" not in error


def test_a_recovery_code_works_once(api: Api, alice: User) -> None:
    _, codes = turn_on(alice)
    assert log_in(api, alice, code=codes[0].upper()).status_code == 200
    assert log_in(api, alice, code=codes[0]).status_code == 401
    assert two_factor.two_factor_state_of(alice)["recovery_codes_left"] == 9


def test_new_recovery_codes_replace_the_old_codes(api: Api, alice: User) -> None:
    _, codes = turn_on(alice)
    renewed = api(alice).post(f"{PATH}/recovery-codes").json()["recoveryCodes"]
    assert log_in(api, alice, code=codes[0]).status_code == 401
    assert log_in(api, alice, code=renewed[0]).status_code == 200


def test_neither_secret_nor_codes_can_be_read_from_the_database(alice: User) -> None:
    uri = two_factor.begin_two_factor(user=alice, now=timezone.now())
    totp = authenticator(uri)
    codes = two_factor.confirm_two_factor(user=alice, code=code_of(totp), now=timezone.now())
    secret = b32decode(re.search(r"secret=([A-Z2-7]+)", uri)[1])  # type: ignore[index]  # it matches
    assert secret not in bytes(SecondFactor.objects.get().secret)
    digests = set(RecoveryCode.objects.values_list("digest", flat=True))
    assert not digests & {code.replace("-", "") for code in codes}


def test_a_login_needs_no_code_once_it_is_turned_off(api: Api, alice: User) -> None:
    turn_on(alice)
    client = api(alice)
    assert client.delete(PATH).status_code == 204
    assert log_in(api, alice).status_code == 200
    assert_error(client.delete(PATH), 422, "UNPROCESSABLE_ENTITY")


def test_a_proof_needs_a_code_too(api: Api, alice: User) -> None:
    totp, _ = turn_on(alice)
    client = api(alice)
    alice.sessions.update(proved_at=timezone.now() - timedelta(hours=1))
    body = {"currentPassword": make.PASSWORD, "newPassword": "a new password"}
    refused = client.post("/api/auth/password", body)
    assert_error(refused, 403, "FORBIDDEN", reason="recent_proof_required")
    without = client.post("/api/auth/proof", {"password": make.PASSWORD})
    assert_error(without, 400, "VALIDATION_ERROR", field="code")
    proof = {"password": make.PASSWORD, "code": code_of(totp)}
    assert client.post("/api/auth/proof", proof).status_code == 200
    assert client.post("/api/auth/password", body).status_code == 200


def test_a_proof_lasts_ten_minutes(api: Api, alice: User) -> None:
    client, body = api(alice), {"name": "A key", "scopes": ["read"]}
    alice.sessions.update(proved_at=timezone.now() - timedelta(minutes=9, seconds=50))
    assert client.post("/api/auth/keys", body).status_code == 201
    alice.sessions.update(proved_at=timezone.now() - timedelta(minutes=10, seconds=1))
    assert_error(client.post("/api/auth/keys", body), 403, "FORBIDDEN")


@pytest.mark.parametrize("code", ["", 5, None, "x" * 41])
def test_a_malformed_code_is_refused(api: Api, alice: User, code: object) -> None:
    response = api(alice).post(f"{PATH}/confirm", {"code": code})
    assert_error(response, 400, "VALIDATION_ERROR", field="code")


@pytest.mark.parametrize("code", ["१२३४५६", "12345", "1234567", "\u0000", "a" * 40])
def test_any_text_is_a_wrong_code(alice: User, code: str) -> None:
    turn_on(alice)
    assert not two_factor.take_code(alice, code, now=timezone.now())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["one-time", "recovery"])
def test_of_two_concurrent_uses_of_a_code_one_succeeds(kind: str) -> None:
    user = make.user("racer")
    totp, codes = turn_on(user)
    code = codes[0] if kind == "recovery" else code_of(totp)
    ready = Barrier(2)

    def use(_: int) -> bool:
        ready.wait()
        try:
            return two_factor.take_code(user, code, now=timezone.now())
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(use, range(2))) == [False, True]


# The admin


def sign_in(user: User, **more: str) -> Any:
    body = {"username": user.email, "password": make.PASSWORD, **more}
    return Client().post("/admin/login/", body)


@pytest.fixture
def staff(alice: User) -> User:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    alice.refresh_from_db()
    return alice


def test_the_admin_asks_for_a_code_too(staff: User) -> None:
    totp, _ = turn_on(staff)
    assert b"one-time code" in sign_in(staff).content
    assert sign_in(staff, code="000000").status_code == 200
    assert sign_in(staff, code=code_of(totp)).status_code == 302


def test_operators_set_up_a_factor_before_they_see_anything(
    staff: User, settings: Settings
) -> None:
    settings.REQUIRE_OPERATOR_2FA = True
    client = Client()
    client.post("/admin/login/", {"username": staff.email, "password": make.PASSWORD})
    for page in ("/admin/", "/admin/accounts/user/"):
        assert client.get(page)["Location"] == "/app/settings/two-factor"
    assert client.get("/app/settings/two-factor")["Location"].startswith("/app/sign-in")
    turn_on(staff)
    assert client.get("/admin/").status_code == 200
