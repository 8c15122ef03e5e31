"""Errors of the database are never a 500 unless the mistake is ours."""

import json
import logging

import psycopg
import pytest
from django import db
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session as BrowserSession
from django.db import connection, transaction
from django.test import Client
from procrastinate.exceptions import ConnectorException

from apps.core.api.exceptions import answer_exception, for_exception
from apps.core.database.failures import Meaning, meaning_of
from apps.core.errors import Code, ServiceError
from tests.admin.conftest import an_operator, browser_of
from tests.error_responses import assert_error

SERVICE_UNAVAILABLE = (503, "SERVICE_UNAVAILABLE")


@pytest.fixture
def operator(db: None) -> Client:
    return browser_of(an_operator())


def raised(wrapper: type[Exception], cause: BaseException) -> Exception:
    """Return the driver's error wrapped as by Django and procrastinate."""
    try:
        raise wrapper(str(cause)) from cause
    except wrapper as error:
        return error


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        ("23505", (409, "CONFLICT")),
        ("22001", (400, "VALIDATION_ERROR")),
        ("22003", (400, "VALIDATION_ERROR")),
        *(
            (state, SERVICE_UNAVAILABLE)
            for state in tuple(
                """
                55P03 57014 08000 08006 57P01 57P02 57P03 53100 53300 40001 40P01 25P03 25006
            """.split()
            )
        ),
        *(
            (state, (500, "INTERNAL_SERVER_ERROR"))
            for state in ("23503", "23514", "25P02", "42P01", "42601", "XX000")
        ),
    ],
)
@pytest.mark.parametrize("wrapper", [db.DatabaseError, ConnectorException])
def test_a_sqlstate_has_one_response_under_any_wrapper(
    state: str, answer: tuple[int, str], wrapper: type[Exception]
) -> None:
    error = for_exception(raised(wrapper, psycopg.errors.lookup(state)("no")))["error"]
    assert (error["status"], error["code"]) == answer


def test_a_full_database_and_a_busy_one_have_different_errors() -> None:
    error = for_exception(raised(db.OperationalError, psycopg.errors.DiskFull("no space")))["error"]
    assert error["details"] == {"reason": "disk_full", "retryAfter": 5}
    assert "reading works" in str(error["message"])


@pytest.mark.parametrize("kind", [psycopg.OperationalError, psycopg.InterfaceError])
def test_a_driver_error_without_a_sqlstate_is_a_lost_connection(
    kind: type[psycopg.Error],
) -> None:
    assert meaning_of(kind("the connection is closed")) is Meaning.UNREACHABLE
    assert meaning_of(raised(ConnectorException, kind())) is Meaning.UNREACHABLE


@pytest.mark.parametrize("error", [db.OperationalError(), db.InterfaceError()])
def test_an_interface_error_of_django_is_a_lost_connection(error: Exception) -> None:
    assert meaning_of(error) is Meaning.UNREACHABLE


def test_an_error_of_ours_has_nothing_to_do_with_the_database() -> None:
    assert meaning_of(ValueError()) is None
    assert meaning_of(db.ProgrammingError()) is None
    assert meaning_of(psycopg.ProgrammingError()) is None


@pytest.mark.parametrize(("state", "words"), [("57P01", "cannot reach"), ("55P03", "busy")])
def test_a_lost_database_and_a_busy_one_have_different_messages(state: str, words: str) -> None:
    body = for_exception(psycopg.errors.lookup(state)())
    assert words in str(body["error"]["message"])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("statement", "meaning"),
    [
        ("SELECT pg_sleep(5)", Meaning.BUSY),
        ("SELECT 1 / 0", Meaning.UNSTORABLE),
        ("SELECT 'x'::integer", Meaning.UNSTORABLE),
        ("SELECT nothing", None),
    ],
)
def test_real_errors_of_postgres_are_understood(statement: str, meaning: Meaning | None) -> None:
    with pytest.raises(db.Error) as failed, transaction.atomic():
        execute(f"SET LOCAL statement_timeout = '50ms'; {statement}")
    assert meaning_of(failed.value) is meaning


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.django_db
def test_a_character_that_the_driver_refuses_is_understood() -> None:
    with pytest.raises(db.Error) as failed, connection.cursor() as cursor:
        cursor.execute("SELECT %s", ["\0"])
    assert meaning_of(failed.value) is Meaning.UNSTORABLE


def test_a_value_that_slipped_through_is_an_error_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for_exception(psycopg.errors.lookup("22003")())
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (raised(db.OperationalError, psycopg.errors.AdminShutdown()), *SERVICE_UNAVAILABLE),
        (raised(db.InternalError, psycopg.errors.lookup("25P03")()), *SERVICE_UNAVAILABLE),
        (RuntimeError("ours"), 500, "INTERNAL_SERVER_ERROR"),
    ],
)
@pytest.mark.parametrize("path", ["/admin/", "/admin/login/"])
def test_a_lost_database_in_middleware_is_not_a_crash(
    monkeypatch: pytest.MonkeyPatch, path: str, error: Exception, status: int, code: str
) -> None:
    def load(store: SessionStore) -> None:
        raise error

    monkeypatch.setattr(SessionStore, "load", load)
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "a" * 32
    answer = client.get(path)
    assert_error(answer, status, code)
    assert answer.headers.get("Retry-After") == ("5" if status == 503 else None)


@pytest.mark.parametrize("is_lost", [True, False])
def test_an_unsaved_session_reports_whether_the_database_or_the_session_is_gone(
    operator: Client, monkeypatch: pytest.MonkeyPatch, *, is_lost: bool
) -> None:
    def save(session: BrowserSession, **options: object) -> None:
        if is_lost:
            raise raised(db.OperationalError, psycopg.errors.AdminShutdown())
        raise db.DatabaseError("Forced update did not affect any rows.")

    monkeypatch.setattr(BrowserSession, "save", save)
    operator.raise_request_exception = False
    answer = operator.get("/admin/")
    if is_lost:
        assert_error(answer, *SERVICE_UNAVAILABLE)
    else:
        assert_error(answer, 400, "VALIDATION_ERROR")


def test_readiness_names_a_database_that_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert readiness(monkeypatch, db.InterfaceError()) == "unreachable"
    busy = raised(db.OperationalError, psycopg.errors.QueryCanceled())
    assert readiness(monkeypatch, busy) == "busy"


def readiness(monkeypatch: pytest.MonkeyPatch, error: Exception) -> str:
    def ask(connection: object) -> None:
        raise error

    monkeypatch.setattr("apps.ops.monitoring.health.MigrationExecutor", ask)
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    return str(answer.json()["checks"]["database"])


class TooMany(ServiceError):
    code = Code.TOO_MANY_REQUESTS
    message = "Too many; try again in {retryAfter} s."


class Closed(ServiceError):
    code = Code.SERVICE_UNAVAILABLE
    message = "Closed just now."


class Taken(ServiceError):
    code = Code.CONFLICT
    message = "Taken."


@pytest.mark.parametrize(("kind", "status"), [(TooMany, 429), (Closed, 503)])
def test_retry_after_is_in_the_message_the_details_and_the_header(
    kind: type[ServiceError], status: int
) -> None:
    answer = answer_exception(kind(retryAfter=7), {})
    error = json.loads(answer.content)["error"]
    assert answer.status_code == error["status"] == status
    assert error["retryAfter"] == error["details"]["retryAfter"] == 7
    assert answer.headers["Retry-After"] == "7"


def test_a_refusal_without_a_time_has_no_retry_after() -> None:
    answer = answer_exception(Taken(), {})
    assert "retryAfter" not in json.loads(answer.content)["error"]
    assert "Retry-After" not in answer.headers
