"""A connection that the server has ended is replaced before anything is asked through it."""

import pytest
from django.db import close_old_connections, connection

from tests.processes import until


def _process() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_the_server_has_ended_is_replaced() -> None:
    before = _process()
    close_old_connections()  # as before each request
    assert (connection.is_usable(), _process()) == (True, before)
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [before])
    other.close()
    until(lambda: not connection.is_usable(), seconds=5)
    close_old_connections()
    assert _process() != before
