"""The gain from sending a curve to PostgreSQL as bytes, without compressing it again."""

import numpy as np
import pytest

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest, BacktestResult
from apps.backtests.running import results
from apps.engine.kernel.records import CURVE, Array
from apps.engine.results import Trades
from tests import make
from tests.benchmarks.random_candles import session_bars
from tests.benchmarks.side_by_side import compare

pytestmark = [pytest.mark.bench, pytest.mark.django_db]

POINTS, ROUNDS = 93_000, 9


def curve_of_a_year() -> Array:
    """Return equity that moves with a walk: as hard to compress as a backtest's."""
    walk = session_bars(POINTS // 375)
    curve = np.zeros(len(walk.close), CURVE)
    curve["time"], curve["equity"] = walk.time, 1e5 * walk.close
    return curve


def completed(owner: User, algorithm: Algorithm) -> Backtest:
    return Backtest.objects.create(
        owner=owner,
        algorithm=algorithm,
        algorithm_version=1,
        kind="backtest",
        configuration={},
        symbols=["NSE:NIFTY"],
        timeframe="1m",
        start=0,
        end=1,
        initial_capital=1,
        seed=1,
        status="completed",
        performance={},
        created_at=make.NOW,
    )


def test_a_curve() -> None:
    curve, none = curve_of_a_year(), Trades.joined([])
    owner = make.user()
    algorithm = make.algorithm(owner)
    backtests = iter([completed(owner, algorithm) for _ in range(2 * ROUNDS + 2)])

    def as_bytes() -> None:
        results.save_result(next(backtests), trades=none, curve=curve, candle_series=())

    def by_the_orm() -> None:
        BacktestResult.objects.create(
            backtest=next(backtests), trades=0, curve=results.pack_array(curve)
        )

    name = f"{len(curve):,} points packed and stored, as bytes against Django's text"
    compare(name, as_bytes, by_the_orm, ROUNDS)
