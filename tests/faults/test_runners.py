"""Runners are killed at random moments: the books are those of a day on which nothing happened."""

import random
import time
from pathlib import Path

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.market import clock
from apps.trading.models import BarRow, Posting, RunState
from tests.faults.workers import working
from tests.processes import until
from tests.trading.live.market_day import FIRST, backtested, hold, started, steps, times, walk
from tests.trading.live.test_runner import expected_of, trades_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

KILLS, LENGTH = 50, 900
STREAMS = [["NSE:WALKA"], ["NSE:WALKB"], ["NSE:WALKC", "NSE:WALKA"], ["NSE:WALKD"]]


def test_runners_killed_at_fifty_moments_trade_as_if_nothing_had_happened(
    alice: User, tmp_path: Path
) -> None:
    starts, rng = times(5, LENGTH), random.Random(20261122)
    series = {
        symbol: walk(n, starts, wild=0.01)
        for n, symbol in enumerate(["NSE:WALKA", "NSE:WALKB", "NSE:WALKC", "NSE:WALKD"])
    }
    hold(series, "15m")
    runs = [started(alice, steps(symbols, "15m")) for symbols in STREAMS for _ in range(2)]
    moments = sorted(rng.sample(range(len(starts)), KILLS))
    with working(2, tmp_path, queue="trading") as workers:
        for n, start in enumerate(starts):
            clock.move(
                start + LENGTH + 20, symbols=list(series), timeframe="15m", now=timezone.now()
            )
            if n in moments:  # in the midst of the work of this bar, or of those before it
                taken = BarRow.objects.count()
                until(lambda taken=taken: BarRow.objects.count() > taken, seconds=60)  # type: ignore[misc]  # mypy infers no lambda with a default
                time.sleep(rng.uniform(0, 0.1))
                victim = rng.choice(workers)
                victim.kill()
                victim.start()
        until(lambda: _all_there(starts[-1], len(runs)), seconds=600, every=0.5)
    for run in runs:
        result = backtested(run, start=FIRST, end=starts[-1] + 1)
        assert trades_of(run) == expected_of(result)
    assert BarRow.objects.count() == len(STREAMS) * len(starts)
    assert sum(Posting.objects.values_list("amount", flat=True)) == 0


def _all_there(row_time: int, count: int) -> bool:
    return RunState.objects.filter(row_time=row_time).count() == count
