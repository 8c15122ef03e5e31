"""The number of statements of a page does not grow with its rows."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from tests.console.conftest import Browse
from tests.console.portfolio import make_portfolio, store_series

pytestmark = pytest.mark.django_db


def test_a_page_costs_the_same_statements_for_any_number_of_rows(
    browse: Browse, alice: User
) -> None:
    User.objects.update(is_staff=True)
    pages = make_portfolio(alice, count=6, rows=2)
    client = browse(alice)
    few = {name: statements(client, path) for name, path in pages.items()}
    store_series(symbols=8, chunks=2)
    make_portfolio(alice, count=6, rows=4)
    many = {name: statements_once(client, path) for name, path in pages.items()}
    grown = [name for name, count in many.items() if count > few[name]]
    again = {name: statements(client, pages[name]) for name in grown}
    assert {name: count for name, count in again.items() if count > few[name]} == {}


def statements(client: Client, path: str) -> int:
    """Count the database queries of a page when it is shown again."""
    client.get(path)
    return statements_once(client, path)


def statements_once(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code in (200, 404), path
    return len(queries)
