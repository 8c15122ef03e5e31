"""How a request learns that its connection has ended."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection

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
