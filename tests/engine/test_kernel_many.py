"""Plays beside each other share what is known of their market: each is the twin's."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.kernel import codes as c
from apps.engine.kernel import records as r
from apps.engine.kernel.many import PLAN, Dated, Plays, Sets, Written, run_many
from tests.engine.cases import Case, Outside, bars_of, random_case, rejected_of, twin_of

PROOF = pytest.param(range(1000, 4000), id="3000", marks=pytest.mark.slow)


@pytest.mark.parametrize("seeds", [pytest.param(range(25), id="25"), PROOF])
@pytest.mark.timeout(1800)
def test_plays_of_one_market_are_the_twins(seeds: range) -> None:
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cases = several(rng)
        sampled = np.flatnonzero(rng.random(len(cases[0].signals)) < rng.choice([0.0, 0.1]))
        plays, trades = played(cases, sampled, stretch=int(rng.choice([50, 1_000])))
        for k, case in enumerate(cases):
            twin = twin_of(case)
            curve = twin.curve
            twin.finish()
            assert trades[k] == twin.trades
            asked = [curve[row] for row in sampled if row < len(curve)] if sampled.size else curve
            assert plays.equity[k, : len(asked)].tolist() == asked
            account = plays.accounts[k]
            assert (account["equity"], account["paid"].tolist()) == (twin.equity, twin.paid)
            assert rejected_of(account) == twin.rejected


def several(rng: np.random.Generator) -> list[Case]:
    """Three plans over one market: of few positions, which are held through groups of bars until
    one touches a level, and as many as are drawn.
    """
    rows, symbols = int(rng.integers(100, 500)), int(rng.choice([1, 1, 2, 3]))
    expiring = {
        int(row): Outside(settle=(int(rng.integers(symbols)),))
        for row in rng.integers(1, rows, size=int(rng.choice([0, 0, 1, 3])))
    }
    drawn = random_case(rng, symbols=symbols, rows=rows)._replace(outside=expiring, cash=1e8)
    if rng.random() < 0.7:  # then prices are often those of levels
        table = np.maximum(np.round(np.column_stack(drawn.market.bars)), 1.0)
        drawn = drawn._replace(market=drawn.market._replace(bars=bars_of(table)))
    kept = rng.random(drawn.signals.shape) < rng.choice([0.02, 0.1])
    rare = drawn._replace(signals=np.where(kept, drawn.signals, 0).astype(np.uint8))
    return [with_far_levels(rare, rng), with_far_levels(rare, rng), drawn]


def with_far_levels(case: Case, rng: np.random.Generator) -> Case:
    """Levels whole rupees away, to which prices come in a few dozens of bars, or never."""
    bars = case.market.bars
    reach = float(np.ceil(np.median(bars.high - bars.low)))
    stop, target, trail = reach * rng.choice([0, 3, 6, 12], 3) * (1, 1, rng.random() < 0.3)
    plan = case.plan._replace(
        size_by=c.BY_QUANTITY, size=10.0, stop_rate=0.0, stop_points=float(stop), stop_atr=0.0,
        second_stop_rate=0.0, target_ratio=0.0, target_rate=0.0, target_points=float(target),
        target_atr=0.0, trail_rate=0.0, trail_points=float(trail), trail_atr=0.0,
        max_holding=int(rng.choice([0, 0, 100])), slippage=float(rng.choice([0.0, 0.0003])),
        max_daily_loss=10.0 * reach * float(rng.choice([5, 50, np.inf])),
    )  # fmt: skip
    return case._replace(plan=plan)


def played(
    cases: list[Case], sampled: NDArray[np.int64], *, stretch: int
) -> tuple[Plays, list[list[Any]]]:
    """All that a call of the kernel leaves, and the trades of each play."""
    market, rates = cases[0].market, cases[0].rates
    (rows, symbols), count = cases[0].signals.shape, len(cases)
    blank = r.new_state(symbols=symbols, cash=cases[0].cash)
    plays = Plays(
        np.repeat(blank.account, count), np.zeros((count, symbols), r.POSITION),
        np.zeros(count, np.int64), np.zeros(count, np.bool_), sampled, np.zeros((count, rows)),
    )  # fmt: skip
    signals = np.stack([case.signals for case in cases])
    parts = np.array([(0, rows, 0, sampled.size)])
    sets = Sets(np.array([case.plan for case in cases], PLAN), signals, parts)
    settled = sorted((row, s) for row, asked in cases[0].outside.items() for s in asked.settle)
    ends, ended = np.array(settled, np.int64).reshape(-1, 2).T.copy()
    dated = Dated(np.empty(0, np.int64), cases[0].contracts[np.newaxis], rates, ends, ended)
    written = Written(np.zeros(4 * symbols + 8, r.TRADE), np.zeros(4 * symbols + 8, np.int64))
    trades: list[list[Any]] = [[] for _ in cases]
    while not plays.over.all():
        n = run_many(plays, sets, market, dated, stretch, 10_000, written)
        for owner, trade in zip(written.owners[:n], written.trades[:n].tolist(), strict=True):
            trades[owner].append(trade)
    return plays, trades
