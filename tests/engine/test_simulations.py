"""Many plays in one call: each equals itself alone, and days are enough for figures of days."""

import numpy as np
import pytest

from apps.engine.candles import ist_day
from apps.engine.results.equity import day_ends
from apps.engine.results.table import METRICS, figures
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation import simulations
from apps.engine.simulation.charges import NO_CHARGES
from apps.engine.simulation.plan import Contract, plan_of, terms_of
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import History
from apps.engine.simulation.simulations import (
    RowRange,
    Simulation,
    TradedMarket,
    buffers_for,
    ignore_progress,
    row_range_of,
    simulate_plan,
    simulate_plans,
)
from tests.benchmarks.random_candles import session_bars
from tests.engine.strategies import sma_cross, strategy

CANDLES = session_bars(12, length=300)
NEW_LOT = int(ist_day(CANDLES.time)[len(CANDLES) // 2])
RISKY = Contract(margin=0.01, later=((NEW_LOT, Contract(lot=3.0, margin=0.01)),))
SYMBOLS = [
    History("NSE:TEST", CANDLES, contract=RISKY),
    History("NSE:OTHER", session_bars(10, length=600), contract=Contract(margin=0.01)),
]
SLICES = [slice(None), slice(100, 500), slice(75, 75 * 9)]
BOTH = {"positionType": "both", "conditions": [sma_cross(3, 12)]}
CROSS = strategy(basicInfo={"timeframe": "5m"}, entryConditions=BOTH)
PLANS = [
    plan_of(CROSS)._replace(size=10.0, second_stop_rate=0.002),
    plan_of(CROSS)._replace(size=7.0, trail_rate=0.001, slippage=0.0005),
    plan_of(CROSS)._replace(size=5e4, slippage=0.02),  # ruined early
]


DATA = prepare_data(CROSS, SYMBOLS, start=0, end=2**40, report=ignore_progress)
MARKET, SIGNALS = DATA.with_signals(required_inputs(CROSS), PLANS[0])
SIGNALS_OF_PLANS = np.stack([SIGNALS, SIGNALS & 1, SIGNALS])  # the second never sells short


def together(row_ranges: list[RowRange]) -> list[Simulation]:
    buffers = buffers_for(MARKET, row_ranges, len(PLANS))
    terms = terms_of(DATA.symbols, DATA.contracts, NO_CHARGES)
    traded = TradedMarket(MARKET, terms, DATA.candles)
    return simulate_plans(
        PLANS,
        traded,
        SIGNALS_OF_PLANS,
        row_ranges,
        capital=1e6,
        report=ignore_progress,
        buffers=buffers,
    )


def alone(plan: int, rows: slice) -> Simulation:
    terms = terms_of(DATA.symbols, DATA.contracts, NO_CHARGES)
    traded = TradedMarket(MARKET, terms, DATA.candles)
    return simulate_plan(
        PLANS[plan], traded, SIGNALS_OF_PLANS[plan], capital=1e6, report=ignore_progress, rows=rows
    )


@pytest.mark.parametrize("at_a_time", [simulations.CELLS_AT_A_TIME, 50])
def test_simulations_in_a_batch_equal_single_simulations(
    monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    """This holds whether or not they run in many steps of few trades each."""
    by_days = [name for name, metric in METRICS.items() if not metric.within_days]
    singles = [alone(plan, rows) for plan in range(len(PLANS)) for rows in SLICES]
    monkeypatch.setattr(simulations, "CELLS_AT_A_TIME", at_a_time)
    monkeypatch.setattr(simulations, "TRADES_AT_A_TIME", at_a_time // 10)
    many = together([row_range_of(MARKET, rows, by_days=True) for rows in SLICES])
    assert [outcome.ruined for outcome in singles] == [False] * 6 + [True] * 3
    for outcome, wanted in zip(many, singles, strict=True):
        assert outcome.trades.tobytes() == wanted.trades.tobytes()
        assert outcome.account == wanted.account
        assert outcome.equity.tolist() == wanted.equity[day_ends(wanted.time)].tolist()
        assert figures(outcome.result_data, by_days) == figures(wanted.result_data, by_days)


def test_the_curve_of_every_row_marks_the_ends_of_days() -> None:
    for rows in SLICES:
        row_range = row_range_of(MARKET, rows, by_days=False)
        for k, outcome in enumerate(together([row_range])):
            wanted = alone(k, rows)
            assert outcome.equity.tolist() == wanted.equity.tolist()
            assert figures(outcome.result_data, METRICS) == figures(wanted.result_data, METRICS)
