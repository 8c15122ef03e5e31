"""Who comes into the admin, and who is turned away, is on record."""

from django.test import Client

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


def test_a_wrong_password_is_on_record_and_the_password_is_not(olga: User) -> None:
    sign_in(olga.email, "not her password")
    record = AuditRecord.objects.get()
    assert (record.action, record.actor) == (Action.ADMIN_LOGIN_FAILED, "")
    assert (record.object_id, record.details) == (olga.pk, {})


def test_a_user_who_is_no_operator_is_turned_away(alice: User) -> None:
    sign_in(alice.email, make.PASSWORD)
    assert AuditRecord.objects.get().action == Action.ADMIN_LOGIN_FAILED


def test_leaving_is_on_record(operator: Client, olga: User) -> None:
    operator.post("/admin/logout/")
    record = AuditRecord.objects.get()
    assert (record.action, record.actor) == (Action.ADMIN_LOGOUT, olga.pk)
