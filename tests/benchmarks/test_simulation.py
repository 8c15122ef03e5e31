"""What compiling the rules buys, and what calendar blocks cost."""

import numpy as np
import pytest

from apps.engine import live
from apps.engine import records as r
from apps.engine.candles import block_id, frozen
from apps.engine.kernel import run
from apps.engine.plan import Contract, contract_rows, plan_of
from apps.engine.series import compute, series
from apps.engine.signals import signals_of
from apps.engine.simulate import History, room_for, to_nobody
from apps.engine.stage import stage_of
from apps.engine.strategy import parse
from tests.benchmarks.peers.with_ours import SYMBOL
from tests.benchmarks.peers.with_ours import strategy as crossing
from tests.benchmarks.side_by_side import compare
from tests.benchmarks.walks import minutes, session_bars
from tests.engine.cases import RATES, bars_of, random_case, twin_of, whole
from tests.engine.steps import complete

pytestmark = pytest.mark.bench


def test_the_kernel_against_its_plain_python_twin() -> None:
    cases = [random_case(np.random.default_rng(seed)) for seed in range(20)]
    ratio = compare(
        "20 random simulations, compiled kernel against plain Python",
        lambda: [whole(case) for case in cases],
        lambda: [twin_of(case) for case in cases],
        rounds=5,
    )
    assert ratio > 0


def test_all_rules_against_the_plain_case() -> None:
    """The kernel alone, over the same bars and signals: what trailing, charges, slippage, adds, a
    longest holding and a daily limit cost beside a stop and a target.
    """
    strategy = crossing()
    candles = session_bars(267).slice(0, 100_000)
    end = int(candles.time[-1]) + 60
    stage = stage_of(strategy, [History(SYMBOL, candles)], start=0, end=end, report=to_nobody)
    plain = plan_of(strategy)
    market, signals = stage.cued(strategy, plain)
    every = plain._replace(
        trail_rate=0.008, trail_from=0.004, slippage=0.0003, max_entries=3, max_holding=2_000,
        max_daily_loss=20_000.0,
    )  # fmt: skip
    units = contract_rows(stage.contracts, {"": 0})
    none, charged = np.zeros(0, r.RATE), RATES[:1]
    out = room_for(market)

    def kernel_run(plan: r.Plan, rates: np.ndarray) -> object:
        state = r.new_state(symbols=1, cash=1e7)
        return run(state, market, signals, 0, len(market.time), plan, units, rates, out)

    name = "100,000 minutes in the kernel alone, a stop and a target against every rule"
    plainly, fully = lambda: kernel_run(plain, none), lambda: kernel_run(every, charged)
    assert compare(name, plainly, fully, rounds=31) > 0


def test_many_runs_in_one_call_against_one_call_each() -> None:
    """A row of 10,000 runs of one symbol, from bytes to bytes."""
    rng, n = np.random.default_rng(1), 10_000
    state = r.save(r.new_state(symbols=1, cash=1e6))
    prices = 100 * np.exp(rng.normal(0, 0.01, 50))
    plan = r.Plan(size=10.0, stop_rate=0.01, target_rate=0.02)
    plans, contracts = live.plan_rows([plan] * n), contract_rows([Contract()], {"": 0})
    cells = rng.integers(0, 50, (n, 1, 1)).astype(np.int32)
    signals = (rng.random((n, 1, 1)) < 0.1).astype(np.uint8)
    time, day, rates = frozen(np.array([60])), np.zeros(1, np.int32), np.empty(0, r.RATE)
    rows = live.Rows(
        time, day, bars_of(np.repeat(prices, 4)), cells, signals, np.empty(0),
        np.empty(0, np.uint8), np.zeros(n, np.bool_),
    )  # fmt: skip

    def at_once() -> list[bytes]:
        fleet = live.load_many([state] * n)
        live.step_many(fleet, rows, plans, np.tile(contracts, (n, 1)), rates)
        return live.save_many(fleet)

    def one_by_one() -> list[bytes]:
        saved, cell = [], np.zeros((1, 1), np.int32)
        out = r.Out(np.empty(2, r.TRADE), np.empty(0), np.empty(3, r.FILL), np.empty(2, r.REFUSAL))
        for bar, heard in zip(cells[:, 0, 0], signals, strict=True):
            own, bars = r.load(state), bars_of([prices[bar]] * 4)
            market = r.Market(time, day, cell, bars, np.empty((0, 4)), np.empty(0, np.uint8))
            run(own, market, heard, 0, 1, plan, contracts, rates, out)
            saved.append(r.save(own))
        return saved

    assert at_once() == one_by_one()
    name = "a bar of 10,000 runs, one call against a call each"
    assert compare(name, at_once, one_by_one, rounds=9) > 0


def test_indicators_by_blocks_against_one_pass() -> None:
    candles, strategy = minutes(100_000), parse(complete())
    ema = [series("EMA", "value", "close", {"period": period}) for period in (9, 21)]
    blocks = len(np.unique(block_id(candles.time, "1m")))
    ratio = compare(
        f"two averages of 100,000 minutes, one pass against {blocks} blocks with all signals",
        lambda: [compute(one, candles) for one in ema],
        lambda: signals_of(strategy, candles, {}, 0, len(candles)),
        rounds=15,
    )
    assert ratio > 0
