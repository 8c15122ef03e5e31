"""Walk-forward: each window simulates its own days, and the tests join."""

from typing import Any

import numpy as np
import pytest

from apps.engine.language.strategy import parse
from apps.engine.results.table import Figure
from apps.engine.simulation.simulate import Contract, History, SimulationResult, simulate
from apps.engine.studies.configs import WalkForwardConfig
from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import rank
from apps.engine.studies.parameters import applied
from apps.engine.studies.windows import TooFewSessions
from apps.engine.units import Unit, rounded
from tests.benchmarks.random_candles import session_bars
from tests.engine.strategies import sma_cross, strategy
from tests.engine.whole_studies import walk_forward

CANDLES = session_bars(22, length=300)
HISTORIES = [
    History("NSE:TEST", CANDLES),
    History("NSE:OTHER", session_bars(20, length=900)),  # fewer bars, and none on the last days
]
CROSS = strategy(
    basicInfo={"symbols": ["NSE:TEST", "NSE:OTHER"], "timeframe": "5m"},
    entryConditions={"positionType": "both", "conditions": [sma_cross(3, 12)]},
    positionSizing={"method": "percentage_of_equity", "percentage": 40, "quantity": None},
    exitConditions={"stopLoss": {"type": "percentage", "percentage": 0.5}},
)
STEPS = CROSS.model_dump(mode="json", exclude_none=True, by_alias=True)
PARAMETERS = [
    {"path": "entryConditions.conditions[0].indicator1.period", "from": 2, "to": 8, "step": 2},
    {"path": "exitConditions.stopLoss.percentage", "from": 0.2, "to": 0.4, "step": 0.2},
]
DAYS = np.unique((CANDLES.time + 19_800) // 86_400) * 86_400 - 19_800


def walked(*, threads: int = 1, **config: object) -> tuple[SimulationResult, dict[str, Any]]:
    asked = WalkForwardConfig.read({"parameters": PARAMETERS, "objective": "netProfit", **config})
    output = walk_forward(
        STEPS, asked, histories=HISTORIES, start=0, end=2**40, capital=1e6, threads=threads
    )
    return output.result, dict(output.findings)


def between(values: dict[str, float], first: int, last: int, capital: float) -> SimulationResult:
    start, end = (int(DAYS[day]) if day < len(DAYS) else 2**40 for day in (first, last))
    held = [history for history in HISTORIES if len(history.candles.between(start, end))]
    return simulate(parse(applied(STEPS, values)), held, start=start, end=end, capital=capital)


@pytest.mark.parametrize("anchored", [False, True])
def test_every_window_is_simulations_of_its_days(anchored: bool) -> None:
    """22 days, 5 windows, 0.7: three days each, the first after seven."""
    joined, study = walked(anchored=anchored)
    grid = Grid(WalkForwardConfig.read({"parameters": PARAMETERS}).parameters)
    capital, trades = 1e6, 0
    for k, row in enumerate(study["windows"]):
        train, test = (0 if anchored else 3 * k), 7 + 3 * k
        trained: dict[int, Figure] = {}
        for index in range(grid.size):
            performance = between(grid.values(index), train, test, 1e6).performance
            traded = performance["totalTrades"]
            trained[index] = performance["netProfit"] if traded else None  # type: ignore[assignment]
        figures = [np.nan if figure is None else figure for figure in trained.values()]
        best = int(rank(np.array(figures), "netProfit")[0])
        assert row["parameters"] == grid.values(best)
        assert row["inSample"]["objective"] == trained[best]
        tested = between(grid.values(best), test, test + 3, capital)
        assert row["outOfSample"]["performance"].items() <= tested.performance.items()
        part = joined.trades[trades : trades + len(tested.trades)]
        assert part["exit_price"].tolist() == tested.trades["exit_price"].tolist()
        capital, trades = float(tested.curve["equity"][-1]), trades + len(tested.trades)
    assert len(study["windows"]) == 5
    assert len(joined.trades) == trades > 20
    assert joined.performance["finalEquity"] == rounded(capital, Unit.RUPEES)
    assert capital == pytest.approx(1e6 + float(joined.performance["netProfit"]))  # type: ignore[arg-type]
    assert study["equity"][-1]["equity"] == rounded(capital, Unit.RUPEES)
    assert joined.curve["time"][0] == CANDLES.time[7 * 75]


def test_any_number_of_threads_finds_the_same() -> None:
    alone, three = walked(), walked(threads=3)
    assert alone[1] == three[1]
    assert alone[0].curve.tobytes() == three[0].curve.tobytes()


def test_too_few_days_are_refused_with_the_needed_number() -> None:
    with pytest.raises(TooFewSessions, match="22 session days; 53 are needed"):
        walked(windows=50)


def test_tests_end_once_the_money_is_gone() -> None:
    """The margin allows five times the capital, and each fill loses 2 %."""
    steps = strategy(
        basicInfo={"timeframe": "5m"},
        positionSizing={"quantity": 5000},
        entryConditions={"positionType": "both", "conditions": [sma_cross(3, 12)]},
        executionSettings={"slippage": 2},
    ).model_dump(mode="json", exclude_none=True, by_alias=True)
    risky = [History("NSE:TEST", CANDLES, contract=Contract(margin=0.01))]
    config = WalkForwardConfig.read({"parameters": PARAMETERS, "objective": "netProfit"})
    output = walk_forward(steps, config, histories=risky, start=0, end=2**40, capital=1e6)
    assert len(output.findings["windows"]) == 1
    notes = output.result.receipt["notes"]
    assert "ruined" in {note["code"] for note in notes}
