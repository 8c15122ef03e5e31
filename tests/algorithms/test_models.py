"""Database constraints on algorithms."""

from collections.abc import Mapping

import pytest
from django.db import IntegrityError, connection, transaction

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.algorithms.performance import paper_performance
from tests import make


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "active"},
        {"active": True},
        {"status": "running"},
        {"is_public": True},
    ],
)
def test_the_database_refuses_a_contradictory_row(
    alice: User, columns: Mapping[str, object]
) -> None:
    rows = Algorithm.objects.filter(pk=make.algorithm(alice).pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        rows.update(**columns)


def test_the_listed_columns_follow_the_documents(alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    record = paper_performance.new() | {"totalTrades": 3, "winRate": 66.7, "profitFactor": None}
    Algorithm.objects.filter(pk=algorithm.pk).update(
        performance=record, basic_info={"timeframe": "1d"}
    )
    row = Algorithm.objects.get(pk=algorithm.pk)
    assert (row.strategy_type, row.timeframe, row.symbols) == (None, "1d", None)
    assert (row.total_trades, row.win_rate, row.profit_factor) == (3, 66.7, None)


def test_a_page_of_the_newest_is_read_off_an_index(alice: User) -> None:
    rows = Algorithm.objects.owned_by(alice).in_order(["-created_at", "-pk"])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    plan = rows[:20].explain()
    assert "algorithms_newest_first" in plan
    assert "Sort" not in plan
