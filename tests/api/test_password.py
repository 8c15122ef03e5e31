"""POST /api/auth/password"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.login import services, tokens
from apps.accounts.models import LoginSession, SessionEndReason, User
from apps.core.audit import Action
from apps.core.errors import InvalidInput
from apps.core.models import AuditRecord
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/password"
NEW = "a new password"
GOOD = {"currentPassword": make.PASSWORD, "newPassword": NEW}
Change = Callable[..., Any]


def opened(user: User) -> tokens.IssuedTokens:
    return tokens.issue(user=user, now=timezone.now(), address=None, user_agent="")


@pytest.fixture
def change(api: Api, alice: User) -> Change:
    """Send a good body, with fields replaced by the keywords."""
    client = api(alice)
    return lambda **changed: client.post(PATH, GOOD | changed)


def test_only_the_new_password_logs_in(change: Change, api: Api, alice: User) -> None:
    response = change()
    assert response.status_code == 200
    assert response.json()["success"] is True
    assert set(response.json()) == {"success", "message", "accessToken", "expiresIn"}
    statuses = [
        api().post("/api/auth/login", {"email": alice.email, "password": password}).status_code
        for password in (NEW, make.PASSWORD)
    ]
    assert statuses == [200, 401]


def test_every_other_session_ends_at_once(change: Change, api: Api, alice: User, bob: User) -> None:
    other, issued_to_bob = opened(alice), opened(bob)
    change()
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {other.access}")
    assert_error(client.get("/api/auth/profile"), 401, "UNAUTHORIZED")
    other.session.refresh_from_db()
    issued_to_bob.session.refresh_from_db()
    assert (other.session.end_reason, issued_to_bob.session.ended_at) == (
        SessionEndReason.PASSWORD,
        None,
    )


def test_a_new_session_replaces_the_old_one_after_a_change(change: Change, api: Api) -> None:
    response = change()
    assert_error(change(currentPassword=NEW), 401, "UNAUTHORIZED")
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {response.json()['accessToken']}")
    assert client.get("/api/auth/profile").status_code == 200
    client.cookies["refreshToken"] = response.cookies["refreshToken"].value
    assert client.post("/api/auth/refresh-token").status_code == 200
    assert LoginSession.objects.filter(ended_at=None).count() == 1


def test_the_tenth_wrong_current_password_ends_the_session(change: Change, alice: User) -> None:
    for _ in range(9):
        change(currentPassword="wrong password")
    assert not LoginSession.objects.exclude(ended_at=None).exists()
    change(currentPassword="wrong password")
    assert LoginSession.objects.get().end_reason == SessionEndReason.GUESSING
    assert_error(change(), 401, "UNAUTHORIZED")
    assert AuditRecord.objects.filter(action=Action.PASSWORD_REJECTED).count() == 10


def test_a_right_current_password_resets_the_failures(api: Api, alice: User) -> None:
    client = api(alice)
    for password in (*["a guess"] * 6, make.PASSWORD, *["a guess"] * 6):
        client.post("/api/auth/proof", {"password": password})
    assert not LoginSession.objects.exclude(ended_at=None).exists()


def test_a_wrong_current_password_changes_nothing(change: Change, alice: User) -> None:
    opened(alice)
    error = assert_error(
        change(currentPassword="wrong password"), 400, "VALIDATION_ERROR", field="currentPassword"
    )
    assert "value" not in error["details"]
    alice.refresh_from_db()
    assert alice.check_password(make.PASSWORD)
    assert not LoginSession.objects.exclude(ended_at=None).exists()


@pytest.mark.parametrize("field", ["currentPassword", "newPassword"])
@pytest.mark.parametrize("bad", ["", None, 5, ["x"]])
def test_a_missing_or_empty_string_is_malformed(change: Change, field: str, bad: object) -> None:
    assert_error(change(**{field: bad}), 400, "VALIDATION_ERROR", field=field)


@pytest.mark.parametrize("new", ["seven77", "x" * 129])
def test_a_new_password_follows_the_rules_of_signing_up(change: Change, new: str) -> None:
    response = change(newPassword=new)
    error = assert_error(response, 400, "VALIDATION_ERROR", field="newPassword")
    assert "value" not in error["details"]
    assert new not in response.content.decode()


def test_strict_validators_are_asked(change: Change, settings: Any) -> None:
    settings.AUTH_PASSWORD_VALIDATORS = [
        {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"}
    ]
    assert_error(change(newPassword="password"), 400, "VALIDATION_ERROR", field="newPassword")


def test_both_are_required(api: Api, alice: User) -> None:
    error = assert_error(api(alice).post(PATH, {}), 400, "VALIDATION_ERROR")
    fields = [fault["field"] for fault in error["details"]["errors"]]
    assert fields == ["currentPassword", "newPassword"]


@pytest.mark.django_db(transaction=True)
def test_of_two_concurrent_changes_one_succeeds() -> None:
    user = make.user("racer")
    ready = Barrier(2)

    def change_to(new: str) -> str | None:
        issued, account = opened(user), User.objects.get(pk=user.pk)
        ready.wait()
        try:
            services.change_password(
                user=account,
                session=issued.session,
                new_password=new,
                now=timezone.now(),
            )
        except InvalidInput:
            return None
        finally:
            connection.close()
        return new

    with ThreadPoolExecutor(2) as pool:
        changed = {new for new in pool.map(change_to, ("password one", "password two")) if new}
    user.refresh_from_db()
    assert len(changed) == 1
    assert user.check_password(changed.pop())
    assert LoginSession.objects.filter(ended_at=None).count() == 1
