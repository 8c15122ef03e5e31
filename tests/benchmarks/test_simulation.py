"""The gain from compiling the rules, and the cost of calendar blocks."""

from pathlib import Path

import numpy as np
import pytest

from apps.engine.candles import block_id
from apps.engine.indicators.series import compute_series, series
from apps.engine.kernel import records as r
from apps.engine.kernel.kernel import run
from apps.engine.language.strategy import parse
from apps.engine.signals.columns import SymbolBars
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import signals_of
from apps.engine.simulation.plan import Terms, plan_of, terms_of
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import NO_CHARGES, History
from apps.engine.simulation.simulations import ignore_progress
from tests.benchmarks.peers.runners import service_runner
from tests.benchmarks.peers.with_ours import CAPITAL, CHARGED, SYMBOL, every_rule
from tests.benchmarks.peers.with_ours import strategy as crossing
from tests.benchmarks.random_candles import candles_file, random_minutes, session_bars
from tests.benchmarks.side_by_side import compare, report
from tests.engine.configurations import complete
from tests.engine.random_cases import random_case, reference_of, whole

pytestmark = pytest.mark.bench


def test_the_kernel_against_the_reference_implementation() -> None:
    cases = [random_case(np.random.default_rng(seed)) for seed in range(20)]
    ratio = compare(
        "20 random simulations, compiled kernel against plain Python",
        lambda: [whole(case) for case in cases],
        lambda: [reference_of(case) for case in cases],
        rounds=5,
    )
    assert ratio > 0


def test_every_rule_in_the_kernel_against_the_plain_case() -> None:
    """With the same bars and signals: the cost of trailing, charges, slippage, adds, a longest
    holding and a daily limit beside a stop and a target.
    """
    strategy = crossing()
    candles = session_bars(267).slice(0, 100_000)
    end = int(candles.time[-1]) + 60
    data = prepare_data(
        strategy, [History(SYMBOL, candles)], start=0, end=end, report=ignore_progress
    )
    plain, every = plan_of(strategy), plan_of(every_rule())
    market, signals = data.with_signals(required_inputs(strategy), plain)
    symbols, contracts = data.symbols, data.contracts
    free, charged = (terms_of(symbols, contracts, rates) for rates in (NO_CHARGES, CHARGED))
    out = r.SimulationOutput(np.empty(1000, r.TRADE), np.empty(len(market.time)))

    def kernel_run(plan: r.Plan, terms: Terms) -> object:
        state = r.new_state(terms.instruments, cash=CAPITAL)
        rules = r.rules_of(plan, terms.instruments, terms.units[0], terms.rates)
        return run(state, market, signals, rules, out, 0, len(market.time))

    name = "100,000 minutes in the kernel alone, a stop and a target against every rule"
    plainly, fully = lambda: kernel_run(plain, free), lambda: kernel_run(every, charged)
    assert compare(name, plainly, fully, rounds=31) > 0


def test_every_rule_against_the_plain_case(tmp_path: Path) -> None:
    """The work is complete: candles to trades and equity."""
    path = candles_file(tmp_path, 100_000)
    with service_runner() as runner:
        turns = [(runner.measure("curve", path), runner.measure("rules", path)) for _ in range(9)]
    seconds = ([run.seconds for run in runs] for runs in zip(*turns, strict=True))
    name = "100,000 minutes to trades and equity, a stop and a target against every rule"
    assert report(name, *seconds) > 0
    print(f"{turns[0][0].trades:,} trades and {turns[0][1].trades:,}")


def test_indicators_by_blocks_against_one_pass() -> None:
    candles, strategy = random_minutes(100_000), parse(complete())
    ema = [series("EMA", "value", "close", {"period": period}) for period in (9, 21)]
    blocks = len(np.unique(block_id(candles.time, "1m")))
    ratio = compare(
        f"two averages of 100,000 minutes, one pass against {blocks} blocks with all signals",
        lambda: [compute_series(indicator, candles) for indicator in ema],
        lambda: signals_of(required_inputs(strategy), SymbolBars(candles), 0, len(candles)),
        rounds=15,
    )
    assert ratio > 0
