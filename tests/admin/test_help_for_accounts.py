"""Operators' help for users who have lost a second factor or are locked out."""

from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.accounts import mails
from apps.accounts.login import two_factor
from apps.accounts.models import (
    EmailLink,
    LinkPurpose,
    RecoveryCode,
    SecondFactor,
    User,
)
from apps.core.audit import Action
from apps.core.models import AuditRecord
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.accounts.test_email_links import send_mails
from tests.admin.conftest import act, browser_of
from tests.conftest import Api

REASON = "called, and was asked"
HOME, ELSEWHERE = "203.0.113.7", "198.51.100.1"


@pytest.fixture
def admin(db: None) -> Client:
    ada = make.user("ada")
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    return browser_of(ada)


def turn_on(user: User) -> list[str]:
    totp = authenticator(two_factor.begin_two_factor(user=user, now=timezone.now()))
    return two_factor.confirm_two_factor(user=user, code=code_of(totp), now=timezone.now())


def log_in(api: Api, user: User, password: str = make.PASSWORD, address: str = HOME) -> Any:
    body = {"email": user.email, "password": password}
    return api().post("/api/auth/login", body, REMOTE_ADDR=address)


# A lost second factor


def test_a_lost_second_factor_is_removed_with_its_reason(
    api: Api, operator: Client, olga: User, alice: User
) -> None:
    User.objects.filter(pk=alice.pk).update(email_verified=True)
    turn_on(alice)
    send_mails()
    assert log_in(api, alice).status_code == 401
    assert "Done. Remove the second factor" in act(operator, "remove-second-factor", alice, REASON)
    assert log_in(api, alice).status_code == 200
    record = AuditRecord.objects.get(action=Action.SECOND_FACTOR_OFF)
    assert (record.actor_kind, record.actor, record.object_id) == ("operator", olga.pk, alice.pk)
    assert record.details == {"reason": REASON}
    send_mails()
    assert "Two-factor authentication is off" in [sent.subject for sent in mail.outbox]
    assert not RecoveryCode.objects.exists()


@pytest.mark.parametrize("action", ["remove-second-factor", "unlock"])
def test_only_another_admin_changes_staff(
    operator: Client, admin: Client, olga: User, action: str
) -> None:
    ada = User.objects.get(is_superuser=True)
    turn_on(olga)
    turn_on(ada)
    for client, user in ((operator, olga), (operator, ada), (admin, ada)):
        assert "Only another admin" in act(client, action, user, REASON)
    assert SecondFactor.objects.count() == 2
    assert "Done" in act(admin, action, olga, REASON)


# An account that is shut


@pytest.fixture
def limited(settings: Settings) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "failures": "3/15m"}


@pytest.mark.usefixtures("limited")
def test_an_account_is_unlocked_for_its_user(api: Api, operator: Client, alice: User) -> None:
    for _ in range(5):
        log_in(api, alice, "mistyped")
    for number in range(5):
        log_in(api, alice, "a guess", f"198.51.{number}.1")
    assert log_in(api, alice).status_code == 429
    assert "Done. Forget wrong passwords" in act(operator, "unlock", alice, REASON)
    assert log_in(api, alice).status_code == 200
    record = AuditRecord.objects.get(action=Action.FAILURES_FORGOTTEN)
    assert (record.object_id, record.details) == (alice.pk, {"reason": REASON})


@pytest.mark.usefixtures("limited")
def test_missing_counters_are_reported(
    operator: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*arguments: object, **options: object) -> None:
        raise ConnectionError

    monkeypatch.setattr("apps.core.limits.rate_limits.get_usage", down)
    assert "cannot count requests just now" in act(operator, "unlock", alice, REASON)
    assert not AuditRecord.objects.filter(action=Action.FAILURES_FORGOTTEN).exists()


@pytest.mark.usefixtures("limited")
def test_a_reset_lets_its_user_in_while_others_guess(api: Api, alice: User) -> None:
    for number in range(5):
        log_in(api, alice, "a guess", f"198.51.{number}.1")
    assert log_in(api, alice).status_code == 429
    api().post("/api/auth/password-reset", {"email": alice.email})
    (path,) = send_mails()
    Client(REMOTE_ADDR=HOME).post(path, {"newPassword": "a new password"})
    assert log_in(api, alice, "a new password").status_code == 200
    assert log_in(api, alice, "a new password", ELSEWHERE).status_code == 429


# The pages


def test_pages_show_the_account_and_no_secret(operator: Client, alice: User) -> None:
    codes = turn_on(alice)
    mails.send_link(alice, LinkPurpose.VERIFY, email=alice.email, now=make.NOW)
    factor, code = SecondFactor.objects.get(), RecoveryCode.objects.all()[0]
    secrets = {
        bytes(factor.secret).hex(),
        str(bytes(factor.secret)),
        str(factor.last_step),
        code.digest,
        codes[0],
        mails.signed(EmailLink.objects.get()),
    }
    for model in (SecondFactor, EmailLink):
        listed = f"/admin/accounts/{model._meta.model_name}/"
        for term in (alice.email.upper(), alice.pk):
            assert alice.email in operator.get(f"{listed}?q={term}").text
        assert alice.email not in operator.get(f"{listed}?q=nobody@example.com").text
        row = model._default_manager.all()[0]
        for page in (listed, f"{listed}{row.pk}/change/"):
            answer = operator.get(page)
            assert answer.status_code == 200
            assert not {secret for secret in secrets if secret in answer.text}
        for verb in ("change", "delete"):
            assert operator.post(f"{listed}{row.pk}/{verb}/", {"post": "yes"}).status_code == 403
