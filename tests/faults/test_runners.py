"""Runners are killed at random moments: the books equal those of an undisturbed day."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.market.feeds import clock
from apps.ops.models import ServiceProcess
from apps.trading.models import BarRow, BarStream, Posting, RunState
from tests.faults.workers import Worker, working
from tests.processes import until
from tests.trading.live.market_day import (
    FIRST,
    backtested,
    crossing_steps,
    random_candles,
    session_starts,
    started,
    store_bars,
)
from tests.trading.live.test_runner import expected_of, trades_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

KILLS, LENGTH = 50, 900
DEATHS, MOST_SECONDS = 6, 10.0
STREAMS = [["NSE:WALKA"], ["NSE:WALKB"], ["NSE:WALKC", "NSE:WALKA"], ["NSE:WALKD"]]
READING = {
    "type": "indicator_indicator",
    "indicator1": {"type": "EMA", "period": 4, "on": "NSE:WALKB"},
    "operator": "crosses_above",
    "indicator2": {"type": "EMA", "period": 3, "on": "NSE:WALKB", "timeframe": "30m"},
    "side": "both",
}
"""Reads another symbol: its candles are in the rows of the stream."""
ONE_SYMBOL_EACH = [[f"NSE:WALK{letter}"] for letter in "ABCDEFGHIJ"]


def test_runners_killed_at_fifty_moments_trade_as_if_nothing_had_happened(
    alice: User, tmp_path: Path
) -> None:
    starts, rng = session_starts(5, LENGTH), random.Random(20261122)
    series = {
        symbol: random_candles(n, starts, wild=0.01)
        for n, symbol in enumerate(["NSE:WALKA", "NSE:WALKB", "NSE:WALKC", "NSE:WALKD"])
    }
    store_bars(series, "15m")
    runs = [started(alice, crossing_steps(symbols, "15m")) for symbols in STREAMS for _ in range(2)]
    reading = {"positionType": "both", "conditions": [READING]}
    runs += [started(alice, crossing_steps(["NSE:WALKD"], "15m", entryConditions=reading))]
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
    assert BarRow.objects.count() == (len(STREAMS) + 1) * len(starts)
    assert sum(Posting.objects.values_list("amount", flat=True)) == 0


def test_bars_continue_within_ten_seconds_of_a_lost_machine(alice: User, tmp_path: Path) -> None:
    """Each time it dies with leased streams, which it never releases; the other one has to take
    them over.
    """
    starts = session_starts(20, LENGTH)
    series = {symbol: random_candles(n, starts) for n, [symbol] in enumerate(ONE_SYMBOL_EACH)}
    store_bars(series, "15m")
    runs = [started(alice, crossing_steps(symbols, "15m")) for symbols in ONE_SYMBOL_EACH]
    gaps = []
    with working(2, tmp_path, queue="trading") as machines:
        coming = iter(starts)

        def bring_bar() -> int:
            start = next(coming)
            now = timezone.now()
            clock.move(start + LENGTH + 20, symbols=list(series), timeframe="15m", now=now)
            return start

        first = bring_bar()
        until(lambda: _all_there(first, len(runs)), seconds=120)
        for number in range(DEATHS):
            machine = machines[number % 2]
            while not _dies_with_leases(machine):
                start = bring_bar()
                time.sleep(random.Random(start).uniform(0, 0.1))
            died, newest = time.monotonic(), bring_bar()
            until(lambda n=newest: _all_there(n, len(runs)), seconds=MOST_SECONDS)  # type: ignore[misc]  # mypy infers no lambda with a default
            gaps.append(time.monotonic() - died)
            machine.start()
            until(lambda: ServiceProcess.objects.filter(role="runner").count() == 2, seconds=60)
    print(f"\nseconds from the kill to the next bar: {[round(gap, 1) for gap in gaps]}")


def _dies_with_leases(machine: Worker) -> bool:
    """Freeze the machine, and kill all its processes if it has unexpired leases."""
    assert machine.process is not None
    machine.send(signal.SIGSTOP)
    leased = set(BarStream.objects.exclude(leased_until=None).values_list("pk", "lease_token"))
    time.sleep(0.3)
    leased &= set(BarStream.objects.exclude(leased_until=None).values_list("pk", "lease_token"))
    if not leased:
        machine.send(signal.SIGCONT)
        return False
    os.killpg(machine.process.pid, signal.SIGKILL)
    machine.process.wait()
    return True


def _all_there(row_time: int, count: int) -> bool:
    return RunState.objects.filter(row_time=row_time).count() == count
