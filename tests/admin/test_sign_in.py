"""Logins to the admin, successful and failed, are audited."""

import pytest
from django.test import Client
from pytest_django import Settings

from apps.accounts.models import User
from apps.core.audit import Action
from apps.core.models import AuditRecord
from tests import make


def sign_in(email: str, password: str) -> None:
    Client().post("/admin/login/", {"username": email, "password": password})


def test_coming_in_is_on_record(olga: User) -> None:
    sign_in(olga.email, make.PASSWORD)
    record = AuditRecord.objects.get()
    assert (record.action, record.actor_kind) == (Action.ADMIN_LOGIN, "operator")
    assert (record.actor, record.address) == (olga.pk, "127.0.0.1")


def test_a_wrong_password_is_recorded_without_the_password(olga: User) -> None:
    sign_in(olga.email, "not her password")
    record = AuditRecord.objects.get()
    assert (record.action, record.actor) == (Action.ADMIN_LOGIN_FAILED, "")
    assert (record.object_id, record.details) == (olga.pk, {})


def test_a_user_who_is_not_an_operator_is_turned_away(alice: User) -> None:
    sign_in(alice.email, make.PASSWORD)
    assert AuditRecord.objects.get().action == Action.ADMIN_LOGIN_FAILED


def test_leaving_is_on_record(operator: Client, olga: User) -> None:
    operator.post("/admin/logout/")
    record = AuditRecord.objects.get()
    assert (record.action, record.actor) == (Action.ADMIN_LOGOUT, olga.pk)


@pytest.mark.parametrize("sent", [{}, {"username": "olga@example.com"}, {"password": "x"}])
def test_a_form_with_a_field_missing_is_shown_again(olga: User, sent: dict[str, str]) -> None:
    answer = Client().post("/admin/login/", sent)
    assert answer.status_code == 200
    assert b"This field is required" in answer.content
    assert not AuditRecord.objects.exists()


# Limits


def tries(email: str, password: str, *, address: str = "198.51.100.1") -> str:
    """Return the page's text after a login."""
    sent = {"username": email, "password": password}
    return Client(REMOTE_ADDR=address).post("/admin/login/", sent).content.decode()


def test_an_address_tries_as_often_as_at_the_interfaces_own_login(
    olga: User, settings: Settings
) -> None:
    settings.RATE_LIMITS = {"auth": "2/15m", "failures": "20/15m", "pages": None}
    for _ in range(2):
        assert "Too many requests" not in tries(olga.email, "wrong")
    assert "Too many requests; try again in" in tries(olga.email, make.PASSWORD)


def test_failures_of_an_account_count_from_any_address(olga: User, settings: Settings) -> None:
    settings.RATE_LIMITS = {"auth": "20/15m", "failures": "2/15m", "pages": None}
    for address in ("198.51.100.1", "198.51.100.2"):
        assert "Too many requests" not in tries(olga.email, "wrong", address=address)
    refusal = tries(olga.email, make.PASSWORD, address="198.51.100.3")
    assert "Too many requests; try again in" in refusal
