"""The audit record: its content, and its permanence."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import RequestFactory
from django.utils import timezone

from apps.accounts.models import LoginSession, User
from apps.core import audit
from apps.core.audit import Action
from apps.core.models import AuditRecord
from apps.core.requests import request_id, request_origin
from tests import make


def recorded(user: User) -> AuditRecord:
    audit.record(
        Action.PROFILE_CHANGED,
        user,
        actor=audit.user(user),
        now=make.NOW,
        name=["Alice", "Alicia"],
    )
    return AuditRecord.objects.latest("id")


def test_a_record_gives_actor_action_object_and_time(alice: User) -> None:
    record = recorded(alice)
    assert (record.at, record.action) == (make.NOW, "profile_changed")
    assert (record.actor_kind, record.actor) == ("user", alice.pk)
    assert (record.object_type, record.object_id) == ("user", alice.pk)
    assert record.details == {"name": ["Alice", "Alicia"]}


def test_a_record_gives_request_address_and_session(alice: User) -> None:
    request_id.begin_request_id("request-7")
    request_origin.begin(RequestFactory().get("/", REMOTE_ADDR="192.0.2.7"))
    request_origin.proven_by("session-7")
    record = recorded(alice)
    assert (record.request_id, record.address) == ("request-7", "192.0.2.7")
    assert record.session_id == "session-7"


def test_the_next_request_does_not_see_the_session(alice: User) -> None:
    request_origin.proven_by("session-7")
    request_origin.begin(RequestFactory().get("/", REMOTE_ADDR=""))
    record = recorded(alice)
    assert (record.session_id, record.address) == ("", "")


@pytest.mark.django_db
def test_changes_by_the_service_have_no_actor() -> None:
    audit.record(Action.ALGORITHM_FAILED, None, actor=audit.SYSTEM, now=make.NOW)
    record = AuditRecord.objects.get()
    assert (record.actor_kind, record.actor, record.object_type) == ("system", "", "")


def test_records_of_logins_keep_their_object_type(alice: User) -> None:
    session = LoginSession.objects.create(
        user=alice,
        created_at=make.NOW,
        last_used_at=make.NOW,
        expires_at=make.NOW,
        rotated_at=make.NOW,
    )
    audit.record(Action.LOGIN, session, actor=audit.user(alice), now=make.NOW)
    assert AuditRecord.objects.get().object_type == "session"


def test_a_record_is_rolled_back_with_its_change(alice: User) -> None:
    with transaction.atomic():
        recorded(alice)
        transaction.set_rollback(True)
    assert not AuditRecord.objects.exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE core_auditrecord SET actor = ''",
        "DELETE FROM core_auditrecord",
        "DELETE FROM core_auditrecord WHERE actor <> ''",
        "TRUNCATE core_auditrecord",
        "TRUNCATE core_auditrecord, core_counter CASCADE",
        "INSERT INTO core_auditrecord SELECT * FROM core_auditrecord "
        "ON CONFLICT (id) DO UPDATE SET actor = ''",
    ],
)
def test_the_database_refuses_to_change_or_remove_a_record(alice: User, statement: str) -> None:
    before = recorded(alice)
    with (
        pytest.raises(DatabaseError, match="neither changed nor removed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    after = AuditRecord.objects.get()
    assert (after.pk, after.actor) == (before.pk, alice.pk)


@pytest.mark.django_db
def test_a_purge_deletes_exactly_the_records_older_than_400_days() -> None:
    now = timezone.now()
    for days in (1, 399, 401, 2000):
        at = now - timedelta(days=days)
        audit.record(Action.ALGORITHM_FAILED, None, actor=audit.SYSTEM, now=at)
    assert audit.purge() == 2
    ages = [(now - record.at).days for record in AuditRecord.objects.order_by("-at")]
    assert ages == [1, 399]


@pytest.mark.django_db
def test_an_old_record_cannot_be_changed() -> None:
    long_ago = timezone.now() - timedelta(days=500)
    audit.record(Action.ALGORITHM_FAILED, None, actor=audit.SYSTEM, now=long_ago)
    with pytest.raises(DatabaseError, match="neither changed"), transaction.atomic():
        AuditRecord.objects.update(actor="")


@pytest.mark.django_db
def test_a_role_that_may_only_add_and_read_has_old_records_deleted() -> None:
    long_ago = timezone.now() - timedelta(days=401)
    audit.record(Action.ALGORITHM_FAILED, None, actor=audit.SYSTEM, now=long_ago)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user"
        )
        if cursor.fetchone() != (True,):
            pytest.skip("the role of DATABASE_URL is no superuser")
        cursor.execute("CREATE ROLE adds_alone")
        cursor.execute("GRANT SELECT, INSERT ON core_auditrecord TO adds_alone")
        cursor.execute("SET LOCAL ROLE adds_alone")
    with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
        AuditRecord.objects.all().delete()
    assert audit.purge() == 1
