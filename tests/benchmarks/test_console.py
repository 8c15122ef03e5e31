"""The service's time for each page of the console, for a trader with 500 algorithms."""

import statistics
import time

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client

from apps.accounts.models import User
from apps.core.limits.quotas import Resource
from tests import make
from tests.benchmarks.side_by_side import MEASURED, Row
from tests.console.addresses import PAGES, PUBLIC_PAGES
from tests.console.portfolio import make_portfolio, store_series

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900), pytest.mark.django_db]

ALGORITHMS, ROWS, ROUNDS = 500, 20, 9
SERIES, NAMED = 5_000, 4
UNKNOWN = PAGES["unknown"]


def test_each_page_of_a_trader_with_many_algorithms(settings: LazySettings) -> None:
    settings.QUOTAS = {**settings.QUOTAS, Resource.ACTIVE_ALGORITHMS: ALGORITHMS}
    trader = make.user("trader")
    pages = make_portfolio(trader, count=ALGORITHMS, rows=ROWS)
    store_series(symbols=SERIES, chunks=10)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    client = Client()
    User.objects.update(is_staff=True)
    client.post("/app/sign-in", {"email": trader.email, "password": make.PASSWORD})
    medians = {name: milliseconds(client, path) for name, path in pages.items()}
    medians |= {name: milliseconds(Client(), path) for name, path in PUBLIC_PAGES.items()}
    slowest = sorted(medians, key=lambda name: -medians[name])
    for name in slowest:
        print(f"{medians[name]:7.1f} ms {name}")
    slow_pages = ", ".join(f"{name} {medians[name]:.0f} ms" for name in slowest[:NAMED])
    name = f"{len(medians)} pages of the console, {ALGORITHMS} algorithms, {SERIES:,} series"
    MEASURED.append(Row(name, f"the slowest: {slow_pages}"))


def milliseconds(client: Client, path: str) -> float:
    """Return the median of ROUNDS, after an uncounted one."""
    spent = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        assert client.get(path).status_code == (404 if path == UNKNOWN else 200), path
        spent.append(1000 * (time.perf_counter() - began))
    return statistics.median(spent[1:])
