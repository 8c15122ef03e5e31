"""Levels computed from an entry equal those that the kernel keeps as it steps."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import Candles, ist_day
from apps.engine.kernel import codes as c
from apps.engine.kernel import records as r
from apps.engine.kernel.kernel import run
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.trade_levels import HeldPosition, levels_at
from tests.engine.bar_table import NO_RATES
from tests.engine.random_cases import Case, Running, bars_of, random_case, row_alone, small_out

QUICK, LONG = range(3), range(1000, 1400)


@pytest.mark.parametrize(
    "seeds", [pytest.param(QUICK, id="3"), pytest.param(LONG, id="400", marks=pytest.mark.slow)]
)
@pytest.mark.timeout(1800)
def test_levels_equal_the_kernels_at_every_bar_to_the_last_bit(seeds: range) -> None:
    compared, taken = np.zeros(3, int), 0
    for seed in seeds:
        case = random_case(np.random.default_rng(seed))
        case = case._replace(plan=case.plan._replace(max_entries=1), outside={})
        columns = [candles_of(case, symbol) for symbol in range(case.signals.shape[1])]
        for symbol, row, p in positions_before(case):
            candles = columns[symbol]
            entry, bar = np.searchsorted(candles.time, [p["entry_time"], case.market.time[row]])
            of = (p["side"], int(entry), p["average"], p["atr"])
            position = HeldPosition(case.plan, Contract(tick=0.05), candles, *of)
            locked = locks_of(case, symbol, p["side"])
            read = case.market.levels
            if len(read):
                cell = case.market.cell[:, symbol]
                read = read[cell[cell >= 0][int(entry) - 1 : int(bar)]]
            levels = levels_at(position._replace(locked=locked, levels=read), int(bar))
            kept = [np.nan, p["stop"]] if p["trailed"] else [p["stop"], np.nan]
            if p["trailed"]:
                levels = levels._replace(stop=np.nan)
            np.testing.assert_array_equal(levels[:3], [*kept, p["target"]])
            compared += ~np.isnan(levels[:3])
            steps = [step["price"] for step in levels.steps]
            assert steps == p["steps"][: case.plan.steps].tolist()
            assert sum(step["taken"] for step in levels.steps) == p["taken"]
            taken += int(p["taken"])
    assert compared.min() > 3 * len(seeds)
    assert taken > len(seeds)


def test_rule_5_the_trailing_stop_is_rounded_by_the_tick_of_each_day() -> None:
    """The first bar with a finer tick rounds it, though its high is no new extreme; no bar after it
    does.
    """
    entry, bars, minute = (100, 101.3, 100, 101), 200, 60 * np.arange(200)
    table = np.array([(100, 100, 100, 100), entry, *[(101, 101, 100.5, 101)] * (bars - 2)], float)
    time = np.where(minute < 3 * 60, 0, 86_400) + minute
    names = ("open", "high", "low", "close")
    columns = dict(zip(names, table.T, strict=True))
    candles = Candles.build(time, volume=np.zeros(bars), **columns)
    cell, signals = np.arange(bars, dtype=np.int32)[:, None], np.zeros((1, bars), np.uint8)
    signals[0, 0] = c.ENTER_LONG
    market = r.MarketRows(
        candles.time,
        ist_day(time),
        cell,
        bars_of(table),
        np.empty((0, r.RANGES)),
        np.empty(0, np.uint8),
    )
    instruments, plan = np.arange(1), r.Plan(trail_rate=0.01)
    state = r.new_state(instruments, cash=1e6)
    contract = Contract(tick=0.05, later=((1, Contract(tick=0.01)),))
    position = HeldPosition(plan, contract, candles, 1.0, 1, 100.0, np.zeros(r.RANGES))
    for start, stop, tick, level in (
        (0, 3, 500, 100.25),
        (3, 4, 100, 100.28),
        (4, bars, 100, 100.28),
    ):
        units = np.array([(1, 1, 1, tick, 0)], r.CONTRACT)
        rules = r.rules_of(plan, instruments, units, NO_RATES)
        run(state, market, signals, rules, small_out(1, bars), start, stop)
        assert state.positions[0]["stop"] == level  # 100.287 in full
        assert levels_at(position, stop).trailed == level


def positions_before(case: Case) -> Iterator[tuple[int, int, Any]]:
    """Return (symbol, row, position before the row) of every bar that finds one open."""
    symbols = case.signals.shape[1]
    running = Running(case, small_out(symbols, len(case.signals)))
    for row in range(len(case.signals)):
        positions = running.loaded.positions
        for symbol in np.flatnonzero((positions["side"] != 0) & (case.market.cell[row] >= 0)):
            yield int(symbol), row, positions[symbol]
        running.run(row_alone(case.market, row), case.signals[row : row + 1], 0, 1)
        if running.ruined:
            return


def locks_of(case: Case, symbol: int, side: float) -> NDArray[np.intp]:
    """Return the bars of a symbol in which a position of a side cannot leave."""
    cell, flags = case.market.cell[:, symbol], case.market.flags
    if not len(flags):
        return np.empty(0, np.intp)
    return np.flatnonzero(flags[cell[cell >= 0]] & (c.LOCKED_DOWN if side > 0 else c.LOCKED_UP))


def candles_of(case: Case, symbol: int) -> Candles:
    """Return the bars of one symbol, in the order of time."""
    cell = case.market.cell[:, symbol]
    rows = np.flatnonzero(cell >= 0)
    prices = {name: column[cell[rows]] for name, column in case.market.bars._asdict().items()}
    return Candles.build(case.market.time[rows], volume=np.zeros(len(rows)), **prices)
