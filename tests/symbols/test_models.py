"""Database constraints on instruments."""

from datetime import date
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from apps.symbols.models import Instrument
from apps.symbols.search.tiers import search_among
from tests.symbols.instruments import equity, future

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "fields",
    [
        {"code": "OTHER"},
        {"strike": 100},
        {"option_type": "CE"},
        {"expiry": date(2099, 1, 1)},
        {"type": "options"},
        {"type": "futures"},
    ],
)
def test_the_database_refuses_a_contradictory_row(fields: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        equity("NSE:TCS", **fields)


def test_a_symbol_is_unique() -> None:
    equity("NSE:TCS")
    with pytest.raises(IntegrityError), transaction.atomic():
        equity("NSE:TCS")


def test_contracts_are_found_by_an_index_on_how_they_begin() -> None:
    future("NSE:TCS99JANFUT", expiry=date(2099, 1, 28))
    rows = Instrument.objects.exclude(type__in=["equity", "index"])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
    plan = rows.filter(code__startswith="TCS").order_by("code", "exchange")[:20].explain()
    assert "derivatives_by_code" in plan
    assert "Sort" not in plan
    assert [
        row.code for row in search_among(rows, query="tcs", today=date(2026, 1, 1), limit=5)
    ] == ["TCS99JANFUT"]
