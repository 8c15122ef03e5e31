"""Strategies that traders run, on the sample: they trade, and each signal has its outcome."""

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from apps.engine.kernel.codes import ENTER
from apps.engine.language import parse
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import simulate
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.simulation.strategy_at_bar import StrategyAtBar
from apps.engine.simulation.timeline import signals_of_series
from apps.engine.simulation.verdict import StoredResult
from apps.market.importers.generated_sample import SEED
from tests.engine.worked_examples import examples
from tests.market.sample_backtests import CAPITAL, Market, sample_histories, sample_market

TRADES = {
    "01": 45, "04": 24, "07": 68, "08": 29, "09": 115, "10": 45, "11": 3, "12": 15, "15": 50,
    "16": 57, "17": 63, "18": 63, "19": 62, "20": 3, "21": 52, "22": 20, "23": 60, "25": 85,
    "26": 36, "27": 2, "28": 3, "29": 46, "30": 27, "31": 33, "32": 71, "38": 27, "39": 11,
    "40": 13,
}  # fmt: skip
"""How often each trades, by its number."""
QUICK = ("01", "16", "26", "30")
CERTAIN = ("entry_limit", "cooldown", "level_beyond_entry", "outside_session", "after_session")


@cache
def market() -> Market:
    return sample_market(SEED)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name.startswith(QUICK) else pytest.mark.slow)
        for name in examples("strategies")
    ],
)
def test_signals_of_a_strategy_have_the_outcomes_that_its_result_counts(name: str) -> None:
    strategy = parse(examples("strategies")[name]["steps"])
    histories, start, end = sample_histories(strategy, market())
    result = simulate(strategy, histories, start=start, end=end, capital=CAPITAL)
    assert len(result.trades) == TRADES[name[:2]]

    data = prepare_data(strategy, histories, start=start, end=end, report=ignore_progress)
    counts: Any = result.performance["rejectedSignals"]
    stored = StoredResult(result.trades, result.curve, CAPITAL, counts)
    ranking, outcomes = data.ranking_of(strategy), Counter[str]()
    for symbol, series in enumerate(data.all_series):
        signals = signals_of_series(required_inputs(strategy), plan_of(strategy), series).signals
        first = len(series.used) - len(series.candles)
        for bar in np.flatnonzero(signals & ENTER):
            contract = histories[symbol].contract
            at_bar = StrategyAtBar.of(strategy, contract, series, first + int(bar), ranking)
            verdict = stored.verdict(at_bar, symbol)
            outcomes[verdict.reason] += 1
            if verdict.reason == "entered":
                assert verdict.trade is not None
                assert result.trades["symbol"][verdict.trade] == symbol
    assert outcomes["entered"] == len(result.trades)
    assert {reason: outcomes[reason] for reason in CERTAIN} == {
        reason: counts.get(reason, 0) for reason in CERTAIN
    }
