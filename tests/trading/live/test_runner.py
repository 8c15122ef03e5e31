"""Received bars step a started algorithm, and it ends as its backtest does."""

from decimal import Decimal

import pytest

from apps.accounts.models import User
from apps.core.times import moment
from apps.engine.kernel.codes import BY_END_OF_DATA
from apps.engine.simulation.simulate import SimulationResult
from apps.trading import services
from apps.trading.live.runner import Runner
from apps.trading.models import BarRow, Order, Posting, Run, RunState, SessionStart, Trade
from tests import make
from tests.trading.live.market_day import (
    FIRST,
    backtested,
    crossing_steps,
    random_candles,
    replay,
    session_starts,
    started,
    store_bars,
)

pytestmark = pytest.mark.django_db

LENGTH = 900
SYMBOLS = ("NSE:RELIANCE", "NSE:SBIN")


def trades_of(run: Run) -> list[tuple[object, ...]]:
    rows = Trade.objects.filter(run=run).order_by("exit_time", "symbol")
    return [
        (
            row.symbol,
            int(row.exit_time.timestamp()),
            float(row.charges),
            float(row.profit),
            row.quantity,
        )
        for row in rows
    ]


def expected_of(result: SimulationResult) -> list[tuple[object, ...]]:
    """Return the trades of a backtest, without those closed at its end."""
    closed = result.trades[result.trades["reason"] != BY_END_OF_DATA]
    rows = [
        (
            result.symbols[trade["symbol"]],
            int(trade["exit_time"]),
            round(trade["charges"], 2),
            round(trade["gross"] - trade["charges"], 2),
            int(trade["quantity"]),
        )
        for trade in closed
    ]
    return sorted(rows, key=lambda row: (row[1], row[0]))


def test_a_run_trades_as_the_backtest_of_its_bars_to_the_paisa(alice: User) -> None:
    starts = session_starts(2, LENGTH)
    series = {
        symbol: random_candles(seed, starts, wild=0.01, missing=0.1)
        for seed, symbol in enumerate(SYMBOLS)
    }
    store_bars(series, "15m")
    run = started(alice, crossing_steps(SYMBOLS, "15m"))
    replay(series, "15m", LENGTH, Runner())
    result = backtested(run, start=FIRST, end=starts[-1] + 1)
    expected = expected_of(result)
    assert len(expected) > 5
    assert trades_of(run) == expected
    state = RunState.objects.get()
    assert state.row_time == max(int(bars.time[-1]) for bars in series.values())
    assert BarRow.objects.count() == len(result.curve)
    assert SessionStart.objects.count() == 2
    assert sum(Posting.objects.values_list("amount", flat=True)) == Decimal(0)


def test_a_run_of_today_trades_a_replay_of_the_past_from_its_first_bar(alice: User) -> None:
    algorithm = make.algorithm(alice, **crossing_steps(SYMBOLS[:1], "15m"))
    services.start(owner=alice, algorithm_id=algorithm.pk, now=make.NOW)
    starts = session_starts(1, LENGTH)
    assert RunState.objects.get().since > starts[-1]
    series = {SYMBOLS[0]: random_candles(1, starts, wild=0.01)}
    store_bars(series, "15m")
    replay(series, "15m", LENGTH, Runner())
    assert BarRow.objects.count() == len(starts)
    orders = Order.objects.order_by("placed_at")
    all_times = [
        time for order in orders for time in (order.bar_time, order.placed_at, order.ended_at)
    ]
    assert len(all_times) > 3
    assert all(time is None or time <= moment(starts[-1] + LENGTH) for time in all_times)
