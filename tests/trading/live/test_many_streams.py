"""Several streams and several runners: none takes all, and an error of one stream does not affect
others.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.engine.candles import Candles
from apps.engine.live import BarSnapshot
from apps.market.feeds import clock
from apps.trading.booking.step_result import BarStep
from apps.trading.live import commit, leases
from apps.trading.live.runner import Runner
from apps.trading.live.step import RunSnapshot, step_bar
from apps.trading.live.stream_cache import BarStreamCache
from apps.trading.models import BarStream, Fill, RunState, Trade
from apps.trading.runs import bar_streams
from tests import make
from tests.trading.live.many_runs import make_runs
from tests.trading.live.market_day import (
    FIRST,
    backtested,
    crossing_steps,
    random_candles,
    replay,
    session_starts,
    started,
    step,
    store_bars,
)
from tests.trading.live.test_runner import expected_of, trades_of

pytestmark = pytest.mark.django_db

LENGTH = 900
NIGHT = FIRST + 40_000
SYMBOLS = [f"NSE:WALK{letter}" for letter in "ABCDEFGH"]


def a_day_of(symbols: Sequence[str]) -> dict[str, Candles]:
    return {
        symbol: random_candles(n, session_starts(1, LENGTH), wild=0.01, missing=0.1)
        for n, symbol in enumerate(symbols)
    }


def test_runners_in_turns_leave_the_books_of_one(alice: User) -> None:
    store_bars(a_day_of(SYMBOLS[:1]), "15m")
    always = {"type": "indicator_value", "indicator": {"type": "PRICE"}, "operator": "above"}
    entries = {"positionType": "long", "conditions": [always | {"value": 1}]}
    risk = {"maxPositionSize": 50_000, "maxDailyLoss": 50_000, "maxOpenPositions": 1}
    often = crossing_steps(SYMBOLS[:1], "15m", entryConditions=entries, riskParameters=risk)
    run = started(alice, often)
    runners = [Runner(), Runner()]
    for n, start in enumerate(session_starts(1, LENGTH)):
        step(runners[n % 2], SYMBOLS[:1], "15m", start + LENGTH + 20)
    assert trades_of(run) == expected_of(backtested(run, start=FIRST, end=NIGHT))
    assert Trade.objects.count() > 3
    won = Trade.objects.aggregate(sum=Sum("gross_profit"))["sum"]
    paid = Fill.objects.aggregate(sum=Sum("charges"))["sum"]
    begun = run.capital
    run.refresh_from_db()
    assert run.capital == begun + won - paid
    assert run.account.reserved == run.capital


def test_a_runner_takes_a_share_of_waiting_streams_and_its_own_first() -> None:
    for first, second in product("ABCDEF", "ABCDE"):
        bar_streams.get_bar_stream([f"NSE:WALK{first}{second}"], "15m")
    BarStream.objects.update(wake_at=make.NOW)
    taken = [leases.acquire(known=[], now=make.NOW) for _ in range(4)]
    fewest = leases.FEWEST_STREAMS
    assert [len(streams) for streams in taken] == [10, fewest, fewest, 4]
    assert leases.acquire(known=[], now=make.NOW) == []
    leases.release({stream: make.NOW for streams in taken for stream in streams})
    other = taken[1]
    assert set(other) < set(leases.acquire(known=other, now=make.NOW))
    assert len(leases.acquire(known=other, now=make.NOW + leases.LEASE)) == 10


def test_rows_of_many_streams_take_as_many_statements_as_those_of_few(alice: User) -> None:
    store_bars(
        {symbol: random_candles(n, session_starts(1, LENGTH)) for n, symbol in enumerate(SYMBOLS)},
        "15m",
    )
    make_runs([alice], [crossing_steps([symbol], "15m") for symbol in SYMBOLS], since=FIRST)
    runner = Runner()
    for row in range(3):
        step(runner, SYMBOLS, "15m", FIRST + LENGTH * (row + 1))

    def statements(symbols: Sequence[str], row: int) -> int:
        clock.move(FIRST + LENGTH * row, symbols=symbols, timeframe="15m", now=make.NOW)
        bar_streams.wake(symbols, "15m", now=make.NOW)
        with CaptureQueriesContext(connection) as captured:
            assert runner.work(now=make.NOW)
        return len(captured)

    assert statements(SYMBOLS, 4) == statements(SYMBOLS[:4], 5)


def test_an_error_in_one_stream_stops_no_other(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = a_day_of(SYMBOLS[:3])
    store_bars(series, "15m")
    runs = [started(alice, crossing_steps([symbol], "15m")) for symbol in SYMBOLS[:3]]
    badly = {runs[0].pk: "step", runs[2].pk: "window"}

    def played(snapshot: RunSnapshot, *row: Any) -> BarStep:
        if badly.get(snapshot.context.run.pk) == "step":
            raise RuntimeError("a step that nobody thought of")
        return step_bar(snapshot, *row)

    def opened(cache: BarStreamCache, row: BarSnapshot) -> None:
        if any(badly.get(run_id) == "window" for run_id in states_of(cache.stream)):
            raise RuntimeError("a window that nobody thought of")
        open_window(cache, row)

    open_window = BarStreamCache.open_window
    monkeypatch.setattr(commit, "step_bar", played)
    monkeypatch.setattr(BarStreamCache, "open_window", opened)
    last = int(series[SYMBOLS[0]].time[2])
    replay({name: bars.between(0, last) for name, bars in series.items()}, "15m", LENGTH, Runner())
    stuck = RunState.objects.filter(row_time=None).values_list("run_id", flat=True)
    assert set(stuck) == set(badly)
    badly.clear()
    runner = Runner()
    step(runner, SYMBOLS[:3], "15m", NIGHT)
    assert RunState.objects.filter(row_time=None).count() == 2
    while runner.work(now=make.NOW + leases.LEASE):
        pass
    for run in runs:
        assert trades_of(run) == expected_of(backtested(run, start=FIRST, end=NIGHT))


def states_of(stream: BarStream) -> list[str]:
    return list(RunState.objects.filter(stream=stream).values_list("run_id", flat=True))
