"""The role that the service connects as: what it may do, and what nobody may do by it."""

from collections.abc import Iterator

import psycopg
import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from psycopg import errors

from apps.core import audit
from apps.core.audit import Action
from apps.core.models import AuditRecord
from apps.ops import retention
from apps.ops.embedded_postgres import roles
from apps.ops.embedded_postgres.cluster import OWNER, SERVICE
from apps.symbols.models import Instrument
from config import settings as service_settings
from tests import make


@pytest.fixture
def service(db: None) -> Iterator[psycopg.Connection]:
    """A connection to the tests' database as the service makes it."""
    params = connection.get_connection_params()
    try:
        made = psycopg.connect(**params | {"user": SERVICE}, autocommit=True)
    except psycopg.OperationalError:
        pytest.skip(f"the server of DATABASE_URL has no role {SERVICE}")
    with made:
        yield made


@pytest.fixture
def as_service(db: None, service: psycopg.Connection) -> None:
    """The test's own connection, with the service's rights until its transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {SERVICE}")


def test_the_embedded_database_is_used_as_the_services_role(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert service_settings.database()["USER"] == SERVICE != OWNER


@pytest.fixture
def connected_as_service(service: psycopg.Connection) -> Iterator[None]:
    connection.close()
    before = connection.settings_dict["USER"]
    connection.settings_dict["USER"] = SERVICE
    yield
    connection.close()
    connection.settings_dict["USER"] = before


def current_user() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        return str(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("connected_as_service")
def test_the_embedded_database_is_migrated_as_its_owner_and_another_as_who_is_given(
    settings: LazySettings,
) -> None:
    settings.EMBEDDED_DATABASE = True
    with roles.as_owner():
        assert current_user() == OWNER
    assert current_user() == SERVICE
    settings.EMBEDDED_DATABASE = False
    call_command("migrate", verbosity=0)
    assert current_user() == SERVICE


def test_the_services_role_is_no_superuser_and_owns_nothing(service: psycopg.Connection) -> None:
    rights = service.execute(
        "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls"
        " FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    assert rights == (False, False, False, False, False)
    owned = service.execute(
        "SELECT count(*) FROM pg_class WHERE relowner = current_user::regrole"
    ).fetchone()
    memberships = service.execute(
        "SELECT count(*) FROM pg_auth_members WHERE member = current_user::regrole"
    ).fetchone()
    assert owned == memberships == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE core_auditrecord SET actor = ''",
        "DELETE FROM core_auditrecord",
        "TRUNCATE core_auditrecord",
        "ALTER TABLE core_auditrecord DISABLE TRIGGER no_change",
        "ALTER TABLE core_auditrecord OWNER TO CURRENT_USER",
        "ALTER TABLE core_auditrecord RENAME TO other",
        "DROP TRIGGER no_change ON core_auditrecord",
        "DROP TABLE core_auditrecord",
        "UPDATE core_auditrecord_default SET actor = ''",
        "DELETE FROM core_auditrecord_default",
        "DROP TABLE core_auditrecord_default",
        "ALTER TABLE core_auditrecord DETACH PARTITION core_auditrecord_default",
        "CREATE OR REPLACE FUNCTION core_auditrecord_stays() RETURNS trigger"
        " LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "DROP FUNCTION core_auditrecord_stays() CASCADE",
        "CREATE TRIGGER lost BEFORE INSERT ON core_auditrecord"
        " FOR EACH ROW EXECUTE FUNCTION core_auditrecord_stays()",
        "CREATE RULE lost AS ON INSERT TO core_auditrecord DO INSTEAD NOTHING",
        "CREATE TABLE elsewhere (n int)",
        "SET session_replication_role = replica",
        f"SET ROLE {OWNER}",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "COPY (SELECT 1) TO PROGRAM 'true'",
    ],
)
def test_the_services_role_cannot_change_the_record_of_who_did_what(
    service: psycopg.Connection, statement: str
) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        service.execute(statement)


def test_the_services_role_cannot_give_itself_rights(service: psycopg.Connection) -> None:
    service.execute("GRANT ALL ON core_auditrecord TO CURRENT_USER")  # PostgreSQL warns alone
    held = service.execute(
        "SELECT privilege_type FROM information_schema.role_table_grants"
        " WHERE table_name = 'core_auditrecord' AND grantee = current_user"
    ).fetchall()
    assert sorted(held) == [("INSERT",), ("SELECT",)]


@pytest.mark.usefixtures("as_service")
def test_the_services_role_adds_to_the_record_and_reads_it() -> None:
    audit.record(Action.ALGORITHM_FAILED, None, actor=audit.SYSTEM, now=make.NOW)
    assert AuditRecord.objects.get().action == Action.ALGORITHM_FAILED


@pytest.mark.usefixtures("as_service")
def test_the_services_role_purges_what_has_expired() -> None:
    assert set(retention.purge_all(now=timezone.now())) == set(retention.PURGES)


@pytest.mark.usefixtures("as_service")
def test_the_services_role_loads_a_list_of_instruments() -> None:
    call_command("seed_symbols", verbosity=0)
    assert Instrument.objects.exists()
