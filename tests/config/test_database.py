"""How a request learns that its connection has ended, and how a connection asks again and again."""

from collections.abc import Iterator

import pytest
from django.db import DataError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError

from tests.config.processes import until

ENDED = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"


@pytest.fixture
def checked(transactional_db: None) -> Iterator[None]:
    """As at the start of a request; a connection of its own."""
    connection.close()
    connection.ensure_connection()
    assert connection.is_usable()
    yield
    connection.close()


@pytest.mark.usefixtures("checked")
def test_a_connection_that_answered_just_now_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asked(*args: object) -> None:
        raise AssertionError("a question was sent")

    monkeypatch.setattr(connection.connection, "execute", asked)
    monkeypatch.setattr(connection.connection, "cursor", asked)
    assert connection.is_usable()


@pytest.mark.usefixtures("checked")
def test_a_connection_that_the_server_has_closed_is_not_usable() -> None:
    pid = connection.connection.info.backend_pid
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])

        def ended() -> bool:
            cursor.execute(ENDED, [pid])
            return bool(cursor.fetchone()[0])

        until(ended)
    other.close()
    assert not connection.is_usable()


@pytest.mark.usefixtures("checked")
def test_a_connection_that_broke_in_a_query_is_not_usable() -> None:
    with pytest.raises(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert not connection.is_usable()


@pytest.mark.usefixtures("checked")
def test_a_connection_that_broke_in_a_prepared_query_is_not_usable_and_the_next_one_is() -> None:
    with pytest.raises(OperationalError):
        connection.ask("SELECT pg_terminate_backend(pg_backend_pid())", [])
    assert not connection.is_usable()
    connection.close()
    assert connection.ask("SELECT 1", []) == [(1,)]


@pytest.mark.usefixtures("checked")
def test_a_prepared_query_takes_what_a_cursor_takes() -> None:
    query = "SELECT %s::text, %s::int8, %s = ANY(%s), '100%%'"
    for number in (1, 2**15, 2**31, 2**62):
        values = [None, number, "a", ["a", "b"]]
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            assert connection.ask(query, values) == cursor.fetchall()


@pytest.mark.usefixtures("checked")
def test_a_prepared_query_that_is_the_first_of_a_transaction_opens_it() -> None:
    query = "SELECT now()"
    connection.ask(query, [])
    with transaction.atomic():
        assert connection.ask(query, []) == connection.ask(query, [])


@pytest.mark.usefixtures("checked")
def test_what_a_prepared_query_breaks_is_broken_for_its_transaction() -> None:
    with transaction.atomic():
        with pytest.raises(DataError), transaction.atomic(savepoint=False):
            connection.ask("SELECT 1 / %s", [0])
        with pytest.raises(TransactionManagementError):
            connection.ask("SELECT 1", [])
