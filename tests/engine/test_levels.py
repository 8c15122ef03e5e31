"""Levels told from an entry are those that the kernel keeps while it steps."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.kernel import records as r
from apps.engine.simulation.levels import Position, levels_at
from apps.engine.simulation.plan import Contract
from tests.engine.cases import Case, Running, random_case, row_alone, small_out

QUICK, LONG = range(9), range(1000, 1400)


@pytest.mark.parametrize(
    "seeds", [pytest.param(QUICK, id="9"), pytest.param(LONG, id="400", marks=pytest.mark.slow)]
)
@pytest.mark.timeout(1800)
def test_levels_equal_the_kernels_at_every_bar_to_the_last_bit(seeds: range) -> None:
    compared = np.zeros(3, int)
    for seed in seeds:
        case = random_case(np.random.default_rng(seed))
        case = case._replace(plan=case.plan._replace(max_entries=1), outside={})
        columns = [candles_of(case, symbol) for symbol in range(case.signals.shape[1])]
        for symbol, row, p in positions_before(case):
            candles = columns[symbol]
            entry, bar = np.searchsorted(candles.time, [p["entry_time"], case.market.time[row]])
            of = (p["side"], int(entry), p["average"], p["atr"])
            found = levels_at(Position(case.plan, Contract(tick=0.05), candles, *of), int(bar))
            kept = [np.nan, p["stop"]] if p["trailed"] else [p["stop"], np.nan]
            if p["trailed"]:
                found = found._replace(stop=np.nan)
            np.testing.assert_array_equal(found, [*kept, p["target"]])
            compared += ~np.isnan(found)
    assert compared.min() > 30


def positions_before(case: Case) -> Iterator[tuple[int, int, Any]]:
    """(symbol, row, position as it was before the row) of every bar that finds one open."""
    symbols = case.signals.shape[1]
    running = Running(case, small_out(symbols, len(case.signals)))
    for row in range(len(case.signals)):
        positions = r.load(running.state).positions
        for symbol in np.flatnonzero((positions["side"] != 0) & (case.market.cell[row] >= 0)):
            yield int(symbol), row, positions[symbol]
        running.run(row_alone(case.market, row), case.signals[row : row + 1], 0, 1)
        if running.ruined:
            return


def candles_of(case: Case, symbol: int) -> Candles:
    """The bars of one symbol, in the order of time."""
    cell = case.market.cell[:, symbol]
    rows = np.flatnonzero(cell >= 0)
    prices = {name: column[cell[rows]] for name, column in case.market.bars._asdict().items()}
    return Candles.build(case.market.time[rows], volume=np.zeros(len(rows)), **prices)
