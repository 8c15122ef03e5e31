"""Moving a database that holds results from one release to the next."""

import io
import zlib
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.backtests import results
from apps.backtests.models import Backtest
from apps.engine.kernel.records import CURVE, TRADE, Array
from tests import make

pytestmark = pytest.mark.slow


def migrate(*names: str) -> Any:
    """The models as they stand after these migrations."""
    with connection.cursor() as cursor:
        # A test is one transaction, and PostgreSQL alters no table that has checks to come.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    target = [("backtests", name) for name in names]
    return MigrationExecutor(connection).migrate(target).apps


def newest() -> list[str]:
    """What the models of today need."""
    return [name for _, name in MigrationExecutor(connection).loader.graph.leaf_nodes("backtests")]


def as_it_was(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return zlib.compress(buffer.getvalue(), level=1)


@pytest.mark.django_db
def test_whole_results_become_blocks_and_running_backtests_are_queued_again() -> None:
    owner = make.user()
    algorithm = make.algorithm(owner)
    old = migrate("0001_initial")
    common = {
        "owner_id": owner.pk, "algorithm_id": algorithm.pk, "algorithm_version": 1,
        "kind": "backtest", "configuration": {}, "symbols": ["NSE:NIFTY"], "timeframe": "1d",
        "start": 0, "end": 1, "initial_capital": 1, "seed": 1, "created_at": make.NOW,
    }  # fmt: skip
    backtests = old.get_model("backtests", "Backtest").objects
    done = backtests.create(**common, status="completed", performance={})
    busy = backtests.create(**common, status="running", started_at=make.NOW)
    trades = np.zeros(results.TRADES_PER_BLOCK + 7, TRADE)
    trades["quantity"], trades["value"] = np.arange(len(trades)), 1
    curve = np.ones(3, CURVE)
    old.get_model("backtests", "BacktestResult").objects.create(
        backtest=done, trades=as_it_was(trades), curve=as_it_was(curve)
    )

    migrate("0002_turns_and_beats")
    migrate("0003_blocks_alone")
    migrate(*newest())
    backtest = Backtest.objects.get(pk=done.pk)
    last = len(trades) - 1
    page, total = results.trades_page(backtest, slice(last - 10, last + 5))
    assert [trade["quantity"] for trade in page] == list(range(last - 10, last + 1))
    assert total == len(trades)
    assert len(results.equity_points(backtest, points=3)) == 3
    assert Backtest.objects.get(pk=busy.pk).heartbeat_at == make.NOW

    migrate("0002_turns_and_beats")
    back = migrate("0001_initial").get_model("backtests", "BacktestResult").objects.get()
    assert bytes(back.trades) == as_it_was(trades)
    assert bytes(back.curve) == as_it_was(curve)
