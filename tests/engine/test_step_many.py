"""Many runs stepped in one call are each the run it is alone, to the last bit."""

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine import live
from apps.engine import records as r
from tests.engine.cases import RATES, Case, bars_of, random_case, whole

ROWS = 60
"""Every case has as many, of the same times and days."""


def fleet_of(seeds: range, symbols: int) -> list[Case]:
    found = [random_case(np.random.default_rng(seed), symbols=symbols) for seed in seeds]
    return [case._replace(outside={}) for case in found]


def start(cases: list[Case]) -> live.Fleet:
    symbols = cases[0].signals.shape[1]
    fresh = [r.save(r.new_state(symbols=symbols, cash=case.cash)) for case in cases]
    return live.load_many(fresh)


def rows_of(cases: list[Case], first: int, last: int) -> live.Rows:
    """The rows of all cases as one snapshot of bars, in which each finds its own."""
    markets = [case.market for case in cases]
    seen = slice(first, last)
    cells = np.array([market.cell[seen] for market in markets])
    begin = np.cumsum([0, *(market.bars.open.size for market in markets)])[:-1, None, None]
    squares = np.array([market.flags.size > 0 for market in markets])
    shape = cells.shape
    atr, flags = np.zeros((*shape, 4)), np.zeros(shape, np.uint8)
    for i, market in enumerate(markets):
        there = cells[i] >= 0
        atr[i][there] = market.atr[cells[i][there]]
        if squares[i]:
            flags[i][there] = market.flags[cells[i][there]]
    return live.Rows(
        markets[0].time[seen],
        markets[0].day[seen],
        bars_of(np.concatenate([np.column_stack(market.bars) for market in markets])),
        np.where(cells >= 0, cells + begin, -1).astype(np.int32),
        np.array([case.signals[seen] for case in cases]),
        atr,
        flags,
        squares,
    )


def step(cases: list[Case], fleet: live.Fleet, first: int, last: int) -> live.Stepped:
    plans = live.plan_rows([case.plan for case in cases])
    contracts = np.array([case.contracts for case in cases])
    return live.step_many(fleet, rows_of(cases, first, last), plans, contracts, RATES)


def of_run(part: NDArray[np.void], ends: NDArray[np.int64], column: int, i: int) -> bytes:
    return part[ends[i, column] : ends[i + 1, column]].tobytes()


@pytest.mark.parametrize("symbols", [1, 3])
@pytest.mark.parametrize("at_a_time", [1, 7])
def test_rule_16_a_run_among_many_is_the_run_alone(symbols: int, at_a_time: int) -> None:
    cases = fleet_of(range(20), symbols)
    states, told = live.save_many(start(cases)), [[b"", b"", b""] for _ in cases]
    for first in range(0, ROWS, at_a_time):
        fleet = live.load_many(states)
        done = step(cases, fleet, first, min(first + at_a_time, ROWS))
        states = live.save_many(fleet)
        for i, own in enumerate(told):
            for column, part in enumerate(done[:3]):
                own[column] += of_run(part, done.ends, column, i)
    for case, state, own in zip(cases, states, told, strict=True):
        alone = whole(case, end=ROWS)
        assert state == alone.state
        assert own == [alone.trades, alone.fills, alone.refusals]


def test_what_does_not_fit_at_once_is_handed_over_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = fleet_of(range(10), 2)
    expected = step(cases, start(cases), 0, ROWS)
    monkeypatch.setattr(live, "FILLS_AT_A_TIME", 1)
    parts = step(cases, start(cases), 0, ROWS)
    for one, other in zip(parts, expected, strict=True):
        assert one.tobytes() == other.tobytes()


def test_states_of_another_layout_are_refused() -> None:
    good = r.save(r.new_state(symbols=2, cash=1.0))
    for states in ([good, good[:-1]], [good, b"x" * len(good)], [b""], [good + b"x"]):
        with pytest.raises(r.ForeignState):
            live.load_many(states)


def test_arrays_that_do_not_fit_are_refused_before_they_are_read() -> None:
    cases = fleet_of(range(3), 2)
    fleet, rows = start(cases), rows_of(cases, 0, 2)
    plans, contracts = (
        live.plan_rows([c.plan for c in cases]),
        np.array([c.contracts for c in cases]),
    )
    for wrong in (
        rows._replace(time=rows.time[1:]),
        rows._replace(cell=rows.cell[:, :, :1]),
        rows._replace(cell=rows.cell + rows.bars.open.size),
        rows._replace(signals=rows.signals[1:]),
        rows._replace(signals=np.ones_like(rows.signals)),
        rows._replace(atr=rows.atr[1:]),
        rows._replace(flags=rows.flags[:0], squares=np.ones(3, np.bool_)),
    ):
        with pytest.raises(r.Misfit):
            live.step_many(fleet, wrong, plans, contracts, RATES)
    with pytest.raises(r.Misfit):
        live.step_many(fleet, rows, plans[1:], contracts, RATES)
