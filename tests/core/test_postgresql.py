"""A connection that the server has ended is replaced before anything is asked through it."""

from datetime import UTC, datetime

import pytest
from django.db import DataError, close_old_connections, connection

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


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    ["2026-11-02 04:00:00+00", "2026-11-02 04:00:00.1+00", "0001-01-01 00:00:00.000001+00"],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_a_timestamp_is_read_in_utc(text: str, zone: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('TimeZone', %s, true)", [zone])
        cursor.execute("SELECT %s::timestamptz", [text])
        [moment] = cursor.fetchone()
    assert (moment, moment.tzinfo) == (datetime.fromisoformat(text), UTC)


@pytest.mark.django_db
def test_a_timestamp_that_python_does_not_have_is_an_error() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'infinity'::timestamptz")
        with pytest.raises(DataError):
            cursor.fetchone()
