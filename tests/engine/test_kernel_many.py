"""Plays beside each other share what is known of their market: each is the twin's."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.kernel import records as r
from apps.engine.kernel.many import PLAN, Dated, Plays, Sets, Written, run_many
from tests.engine.cases import Case, calm_case, random_case, rejected_of, twin_of

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
    """Two plans over a market of a few groups of bars, and the first with no signal to close."""
    rows = int(rng.integers(60, 500))
    drawn = (calm_case if rng.random() < 0.8 else random_case)(rng, rows=rows)
    case, other = drawn._replace(outside={}), calm_case(rng).plan
    entries = case.signals & 3
    return [case, case._replace(plan=other), case._replace(signals=entries)]


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
    dated = Dated(np.empty(0, np.int64), cases[0].contracts[np.newaxis], rates)
    written = Written(np.zeros(4 * symbols + 8, r.TRADE), np.zeros(4 * symbols + 8, np.int64))
    trades: list[list[Any]] = [[] for _ in cases]
    while not plays.over.all():
        n = run_many(plays, sets, market, dated, stretch, 10_000, written)
        for owner, trade in zip(written.owners[:n], written.trades[:n].tolist(), strict=True):
            trades[owner].append(trade)
    return plays, trades
