"""What compiling the rules buys, and what calendar blocks cost."""

import numpy as np
import pytest

from apps.engine.candles import block_id
from apps.engine.indicators.series import compute, series
from apps.engine.kernel import records as r
from apps.engine.kernel.kernel import run
from apps.engine.language.strategy import parse
from apps.engine.signals.signals import signals_of
from apps.engine.simulation.plan import contract_rows, plan_of
from apps.engine.simulation.simulate import History, room_for, to_nobody
from apps.engine.simulation.stage import stage_of
from tests.benchmarks.peers.with_ours import SYMBOL
from tests.benchmarks.peers.with_ours import strategy as crossing
from tests.benchmarks.side_by_side import compare
from tests.benchmarks.walks import minutes, session_bars
from tests.engine.cases import RATES, random_case, twin_of, whole
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
