"""Invariants at the worst moments: daily limits, switches, stolen leases."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import numpy as np
import pytest
from django.db import connection

from apps.accounts.models import User
from apps.algorithms.lifecycle import AlgorithmStatus
from apps.algorithms.models import Algorithm
from apps.engine.candles import Candles, ist_day
from apps.engine.candles.candles import frozen
from apps.engine.kernel.codes import ENTER_LONG, ENTER_SHORT, OPEN
from apps.engine.kernel.records import RATE, Bars, MarketRows, instrument_ids, new_state
from apps.engine.kernel.saved import save
from apps.engine.live import BarSnapshot, ContractTerms, SignalInput
from apps.engine.signals.signals import NO_RANGES
from apps.engine.simulation.plan import Contract, contract_rows
from apps.trading import services
from apps.trading.live import leases
from apps.trading.live.runner import Runner
from apps.trading.live.step import BarChanges, step_bar
from apps.trading.live.stream_cache import run_context_of
from apps.trading.models import BarStream, Fill, Intent, Order, Posting, Run, RunState
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
from tests.trading.live.test_parity import snapshot
from tests.trading.live.test_runner import expected_of, trades_of

LENGTH = 900
PATHS, DAYS = 2_000, 2


def bars_of(prices: Candles) -> Iterator[BarSnapshot]:
    columns = (prices.open, prices.high, prices.low, prices.close, prices.volume)
    for start, *bar in zip(prices.time.tolist(), *(c.tolist() for c in columns), strict=True):
        yield BarSnapshot(start, start + LENGTH, np.array([bar]))


def market_of(row: BarSnapshot) -> MarketRows:
    at = frozen(np.array([row.time]))
    prices = Bars(*(frozen(row.bars[:, column]) for column in range(4)))
    cell = np.zeros((1, 1), np.int32)
    return MarketRows(at, ist_day(at), cell, prices, NO_RANGES, np.empty(0, np.uint8))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_entry_on_the_day_of_a_breach_on_2000_paths() -> None:
    configuration = crossing_steps(
        ["NSE:SBIN"],
        "15m",
        riskParameters={"maxPositionSize": 500_000, "maxDailyLoss": 2_000, "maxOpenPositions": 1},
    )
    context = run_context_of(Run(configuration=configuration))
    terms = ContractTerms(
        (Contract(),), contract_rows([Contract()], {"": 0}), np.zeros(0, RATE), ()
    )
    breaches = 0
    for seed in range(PATHS):
        rng, halted = np.random.default_rng(seed), set()
        data = save(new_state(instrument_ids(["NSE:SBIN"]), cash=1_000_000.0))
        for bar in bars_of(random_candles(seed, session_starts(DAYS, LENGTH))):
            heard = rng.choice([0, ENTER_LONG, ENTER_SHORT], p=[0.4, 0.3, 0.3])
            signals = SignalInput(market_of(bar), np.array([[heard]], np.uint8))
            done = step_bar(snapshot(context, data), bar, signals, terms, BarChanges({}, (), False))
            assert not ((done.fills["reason"] == OPEN).any() and bar.day in halted), seed
            if done.state.account["halted"][0]:
                halted.add(bar.day)
            data = save(done.state)
        breaches += len(halted)
    assert breaches > PATHS / 4


def steal(stream: BarStream) -> None:
    """Steal the lease as another runner does, on a separate connection."""
    BarStream.objects.filter(pk=stream.pk).update(
        lease_token=stream.lease_token + 1, leased_until=None, wake_at=make.NOW
    )
    connection.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.django_db(transaction=True)
def test_a_lease_stolen_a_hundred_times_changes_nothing(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thief leases the stream between a runner's poll and its write; the fence stops both."""
    starts = session_starts(5, LENGTH)
    series = {"NSE:SBIN": random_candles(7, starts, wild=0.01)}
    store_bars(series, "15m")
    run = started(alice, crossing_steps(["NSE:SBIN"], "15m"))
    rng, stolen, hold_it = random.Random(5), 0, leases.renew

    def robbed(taken: Sequence[BarStream], *, now: datetime) -> frozenset[int]:
        nonlocal stolen
        if rng.random() < 0.5:
            stolen += 1
            with ThreadPoolExecutor(1) as elsewhere:
                elsewhere.submit(steal, taken[0]).result()
        return hold_it(taken, now=now)

    monkeypatch.setattr(leases, "renew", robbed)
    replay(series, "15m", LENGTH, Runner())
    assert stolen >= 100
    result = backtested(run, start=FIRST, end=starts[-1] + 1)
    assert trades_of(run) == expected_of(result)
    assert sum(Posting.objects.values_list("amount", flat=True)) == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.django_db(transaction=True)
def test_after_a_kill_switch_commits_no_order_opens_anything(alice: User) -> None:
    starts = session_starts(2, LENGTH)
    symbols = [f"NSE:WALK{letter}" for letter in "ABCDE"]
    series = {symbol: random_candles(n, starts, wild=0.01) for n, symbol in enumerate(symbols)}
    store_bars(series, "15m")
    make_runs([alice], [crossing_steps([symbols[n % 5]], "15m") for n in range(100)], since=FIRST)
    moved = threading.Event()

    def trade() -> None:
        runner = Runner()
        try:
            for start in starts[:40]:
                step(runner, symbols, "15m", start + LENGTH)
                moved.set()
        finally:
            connection.close()

    trading = threading.Thread(target=trade)
    trading.start()
    while not Fill.objects.filter(order__intent=Intent.ENTRY).exists():
        moved.wait(60)
        moved.clear()
    began = time.monotonic()
    services.engage_kill_switch(owner=alice, reason="enough", close_positions=False, now=make.NOW)
    took = time.monotonic() - began
    entered = Fill.objects.exclude(order__intent=Intent.EXIT).count()
    assert Algorithm.objects.filter(status=AlgorithmStatus.ACTIVE).count() == 0
    trading.join()
    assert Fill.objects.exclude(order__intent=Intent.EXIT).count() == entered
    assert not Order.objects.filter(status="open").exclude(intent=Intent.EXIT).exists()
    assert RunState.objects.filter(row_time=starts[39]).count() == 100
    assert sum(Posting.objects.values_list("amount", flat=True)) == 0
    print(f"\n100 algorithms paused in {took:.2f} s")
