"""Operators have a password that meets the rules for them, however they became operators."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.core import mail
from django.test import Client
from pytest_django import Settings

from apps.accounts.login import tokens
from apps.accounts.models import SessionEndReason, User
from apps.core.audit import Action
from apps.core.models import AuditRecord
from tests import make
from tests.accounts.test_email_links import send_mails
from tests.conftest import Api

CHANGE = "/admin/password_change/"
WEAK, STRONG = "12345678", "a much longer one"


def log_in(user: User, password: str) -> Client:
    client = Client()
    body = {"username": user.email, "password": password}
    assert client.post("/admin/login/", body).status_code == 302
    return client


def change(client: Client, old: str, new: str) -> Any:
    body = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post(CHANGE, body)


@pytest.fixture
def promoted(alice: User) -> User:
    """Return an operator with a password from before the promotion."""
    alice.set_password(WEAK)
    alice.is_staff = True
    alice.save()
    return alice


def test_a_promoted_user_changes_a_weak_password_before_all_else(promoted: User) -> None:
    client = log_in(promoted, WEAK)
    for page in ("/admin/", "/admin/accounts/user/"):
        answer = client.get(page)
        assert (answer.status_code, answer["Location"]) == (302, CHANGE)
    assert "choose another" in str(next(iter(get_messages(answer.wsgi_request))))
    assert client.get(CHANGE).status_code == 200
    assert b"at least 12 characters" in change(client, WEAK, "87654321").content
    assert client.get("/admin/").status_code == 302
    assert change(client, WEAK, STRONG).status_code == 302
    assert client.get("/admin/").status_code == 200
    assert log_in(promoted, STRONG).get("/admin/").status_code == 200


def test_a_strong_password_stays(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    assert log_in(alice, make.PASSWORD).get("/admin/").status_code == 200


def test_a_password_of_an_earlier_release_is_checked_at_login(olga: User) -> None:
    User.objects.update(password_fits_operators=False)
    assert log_in(olga, make.PASSWORD).get("/admin/").status_code == 200
    olga.refresh_from_db()
    assert olga.password_fits_operators


def test_a_browser_logged_in_before_the_promotion_is_sent_there_too(
    promoted: User,
) -> None:
    client = Client()
    client.force_login(promoted)
    assert client.get("/admin/")["Location"] == CHANGE


def test_a_user_who_must_change_it_may_log_out(promoted: User) -> None:
    client = log_in(promoted, WEAK)
    assert client.post("/admin/logout/").status_code == 200
    assert client.get("/admin/")["Location"].startswith("/admin/login/")


def test_a_change_ends_all_sessions_and_is_mailed(api: Api, olga: User) -> None:
    User.objects.update(email_verified=True)
    session = tokens.issue(user=olga, now=make.NOW, address=None, user_agent="").session
    assert change(log_in(olga, make.PASSWORD), make.PASSWORD, STRONG).status_code == 302
    session.refresh_from_db()
    assert session.end_reason == SessionEndReason.PASSWORD
    record = AuditRecord.objects.get(action=Action.PASSWORD_CHANGED)
    assert (record.actor_kind, record.actor) == ("operator", olga.pk)
    send_mails()
    assert [sent.subject for sent in mail.outbox] == ["Your password was changed"]


def test_the_old_password_cannot_be_guessed_there(olga: User, settings: Settings) -> None:
    settings.RATE_LIMITS = {"auth": None, "failures": "2/15m", "pages": None}
    client = log_in(olga, make.PASSWORD)
    for _ in range(2):
        assert b"entered incorrectly" in change(client, "a guess", STRONG).content
    assert b"Too many requests" in change(client, make.PASSWORD, STRONG).content


@pytest.mark.parametrize(
    ("password", "fits"), [(WEAK, False), ("password1234", False), (STRONG, True)]
)
def test_every_change_of_a_password_records_whether_it_meets_the_rules(
    api: Api, alice: User, password: str, fits: bool
) -> None:
    body = {"email": "new@example.com", "password": password, "name": "New"}
    assert api().post("/api/auth/signup", body).status_code == 201
    changed = {"currentPassword": make.PASSWORD, "newPassword": password}
    assert api(alice).post("/api/auth/password", changed).status_code == 200
    send_mails()
    bob = make.user("bob")
    api().post("/api/auth/password-reset", {"email": bob.email})
    (path,) = send_mails()
    assert Client().post(path, {"newPassword": password}).status_code == 200
    assert set(User.objects.values_list("password_fits_operators", flat=True)) == {fits}
