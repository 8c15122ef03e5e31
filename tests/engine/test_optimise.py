"""Optimisation: each set equals its simulation alone, and the rules rank them."""

from dataclasses import replace
from statistics import variance
from typing import Any

import numpy as np
import pytest

from apps.engine.errors import TooManyTrades
from apps.engine.language.strategy import parse
from apps.engine.results.equity import daily_returns, day_ends
from apps.engine.results.sharpe import expected_maximum, sharpe_ratio
from apps.engine.simulation.simulate import History, SimulationResult, simulate
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.studies.configs import OptimizationConfig
from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import NothingToTry, TooShort, rank
from apps.engine.studies.optimise import SCORE, Optimisation, distinct_positions, plateau
from apps.engine.studies.overfitting import block_sums, overfitting
from apps.engine.studies.parameters import applied
from tests.benchmarks.random_candles import random_minutes, session_bars
from tests.engine.strategies import sma_cross, strategy
from tests.engine.whole_studies import optimise

FAST = "entryConditions.conditions[0].indicator1.period"
SLOW = "entryConditions.conditions[0].indicator2.period"
STOP = "exitConditions.stopLoss.percentage"
HISTORIES = [History("NSE:TEST", random_minutes(5000))]
CROSS = strategy(entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]})
STEPS = CROSS.model_dump(mode="json", exclude_none=True, by_alias=True)
PARAMETERS = [
    {"path": FAST, "from": 3, "to": 7, "step": 2},
    {"path": STOP, "from": 0.25, "to": 0.5, "step": 0.25},
]


def optimised(*, threads: int = 1, **config: object) -> tuple[SimulationResult, dict[str, Any]]:
    asked = OptimizationConfig.read(
        {"parameters": PARAMETERS, "objective": "sharpeRatio", **config}
    )
    output = optimise(
        STEPS, asked, histories=HISTORIES, start=0, end=2**40, capital=1e6, seed=9, threads=threads
    )
    return output.result, dict(output.findings)


def alone(values: dict[str, float]) -> SimulationResult:
    steps = applied(STEPS, values)
    return simulate(parse(steps), HISTORIES, start=0, end=2**40, capital=1e6, seed=9)


def test_every_set_of_a_search_equals_its_single_simulation() -> None:
    best, study = optimised(objective="netProfit")
    ranking = study["ranking"]
    assert (study["sets"], study["tried"], study["invalid"], len(ranking)) == (6, 6, 0, 6)
    for row in ranking:
        performance = alone(row["parameters"]).performance
        assert row["objective"] == performance["netProfit"]
        assert row["performance"] == {name: performance[name] for name in row["performance"]}
    profits = [row["objective"] for row in ranking]
    assert profits == sorted(profits, reverse=True)
    again = alone(ranking[0]["parameters"])
    assert best.trades.tobytes() == again.trades.tobytes()
    assert best.curve.tobytes() == again.curve.tobytes()
    described = simulate(CROSS, HISTORIES, start=0, end=2**40, capital=1e6, seed=9).receipt
    notes = {"notes": again.receipt["notes"]}  # these describe the traded symbols
    assert best.receipt == described | notes


def test_any_number_of_threads_finds_the_same() -> None:
    alone, three = optimised(), optimised(threads=3)
    assert alone[1] == three[1]
    assert alone[0].trades.tobytes() == three[0].trades.tobytes()


def test_less_of_a_drawdown_is_better() -> None:
    study = optimised(objective="maxDrawdown")[1]
    figures = [row["objective"] for row in study["ranking"]]
    assert figures == sorted(figures)
    assert figures[0] < figures[-1]


def test_sets_that_do_not_validate_or_never_warm_up_are_counted_and_not_run() -> None:
    slow = {"path": SLOW, "from": 1, "to": 1001, "step": 250}  # 1 is too short, 1001 too long
    study = optimised(parameters=[slow])[1]
    assert (study["sets"], study["tried"], study["invalid"]) == (5, 3, 2)
    with pytest.raises(NothingToTry, match="None of the 1 sets"):
        optimised(parameters=[{"path": SLOW, "from": 1, "to": 1, "step": 1}])


def test_a_random_search_tries_some_of_the_grid_by_its_seed() -> None:
    study = optimised(method="random", maxRuns=4)[1]
    assert (study["sets"], study["tried"]) == (6, 4)
    assert study == optimised(method="random", maxRuns=4)[1]
    numbers = Grid(
        OptimizationConfig.read({"parameters": PARAMETERS, "objective": "netProfit"}).parameters
    )
    drawn = [numbers.values(index) for index in numbers.drawn(4, seed=9)]
    assert all(row["parameters"] in drawn for row in study["ranking"])


def sharpe_of_days(result: SimulationResult) -> float:
    curve = result.curve
    ratio = sharpe_ratio(daily_returns(curve["equity"], day_ends(curve["time"]), 1e6))
    assert ratio is not None
    return ratio


def test_the_deflation_is_of_daily_returns_over_all_that_were_tried() -> None:
    best, study = optimised(objective="probabilisticSharpeRatio")
    ratios = [sharpe_of_days(alone(row["parameters"])) for row in study["ranking"]]
    deflation = study["deflation"]
    assert deflation["trials"] == 6
    assert deflation["days"] == len(day_ends(best.curve["time"])) == 4
    assert deflation["sharpeRatioDaily"] == ratios[0]
    assert deflation["expectedMaximum"] == expected_maximum(6, variance(ratios))
    assert 0 < deflation["deflatedSharpeRatio"] < 1


def test_overfitting_is_of_the_daily_returns_of_all_sets() -> None:
    stops = [{"path": STOP, "from": 0.1, "to": 2.5, "step": 0.1}]
    histories = [History("NSE:TEST", random_minutes(40_000))]
    asked = OptimizationConfig.read({"parameters": stops, "objective": "netProfit"})
    inputs = SimulationInput(STEPS, histories, 0, 2**40, 1e6)
    study = Optimisation.prepare(inputs, asked)
    parts = [
        study.score(slice(*edges), threads=1, report=ignore_progress)
        for edges in ((0, 3), (3, 20), (20, 25))
    ]
    scores = study.score(slice(0, 25), threads=2, report=ignore_progress)
    assert np.concatenate(parts).tobytes() == scores.tobytes()
    findings = study.conclude(scores, threads=1, report=ignore_progress).findings
    returns = []
    for stop in range(25):
        steps = applied(STEPS, {STOP: round(0.1 + stop * 0.1, 10)})
        curve = replace(inputs, steps=steps).simulate().curve
        returns.append(daily_returns(curve["equity"], day_ends(curve["time"]), 1e6))
    assert len(returns[0]) >= 16
    assert findings["overfitting"] == overfitting(block_sums(np.array(returns))).figures()


def test_few_sets_or_days_give_no_overfitting() -> None:
    assert optimised(objective="netProfit")[1]["overfitting"] is None
    stops = [{"path": STOP, "from": 0.1, "to": 2.5, "step": 0.1}]
    study = optimised(parameters=stops, objective="netProfit")[1]
    assert (study["tried"], study["overfitting"]) == (25, None)  # of four days


def test_four_days_are_not_ranked_by_a_figure_of_a_year() -> None:
    with pytest.raises(TooShort, match=r"fewer than 30 days .* has 4. Choose sharpeRatio"):
        optimised(objective="sharpeRatioAnnualized")


def test_ties_go_to_the_lower_number_and_nothing_to_rank_by_comes_last() -> None:
    values = np.array([np.nan, 2.0, 3.0, 3.0, np.nan])
    assert rank(values, "netProfit").tolist() == [2, 3, 1, 0, 4]
    assert rank(values, "maxDrawdown").tolist() == [1, 2, 3, 0, 4]


def test_a_plateau_is_the_share_of_others_that_the_neighbours_beat() -> None:
    """Of five sets, one has neighbours that rank second and third, and one is beside the third."""
    assert plateau([1, 2], 5) == pytest.approx((3 / 4 + 2 / 4) / 2)
    assert plateau([2], 5) == pytest.approx(2 / 4)
    assert plateau([], 5) is None


def test_results_are_the_same_by_objective_and_sharpe_ratio() -> None:
    ranked = np.zeros(6, SCORE)
    ranked["objective"] = [3, 2, 2, 2, np.nan, np.nan]
    ranked["sharpe"] = [1, 0.5, 0.4, 0.5, np.nan, np.nan]
    assert distinct_positions(ranked).tolist() == [0, 1, 2, 1, 3, 3]


def test_the_plateau_is_of_neighbours_that_were_tried_and_have_another_result() -> None:
    """11 of 20 sets in a row are drawn; wide stops are never reached, and give the same result."""
    stops = [{"path": STOP, "from": 0.25, "to": 5, "step": 0.25}]
    study = optimised(parameters=stops, method="random", maxRuns=11, objective="netProfit")[1]
    rows = {round(row["parameters"][STOP] / 0.25): row for row in study["ranking"]}
    nets = list(dict.fromkeys(row["objective"] for row in study["ranking"]))
    assert 1 < len(nets) < len(rows) == 11
    for number, row in rows.items():
        near = {rows[n]["objective"] for n in (number - 1, number + 1) if n in rows}
        beaten = [
            (len(nets) - 1 - nets.index(net)) / (len(nets) - 1) for net in near - {row["objective"]}
        ]
        assert row["plateau"] == (pytest.approx(np.mean(beaten)) if beaten else None)


def test_minutes_that_end_with_the_same_bar_trade_alike_and_are_tried_once() -> None:
    path = "entryConditions.conditions[0].indicator2.minutes"
    histories = [History("NSE:TEST", session_bars(4, length=300))]
    breaks = {
        "type": "indicator_indicator",
        "indicator1": {"type": "PRICE"},
        "operator": "crosses_above",
        "indicator2": {"type": "OPENING_RANGE", "minutes": 15},
    }
    steps = strategy(
        basicInfo={"timeframe": "5m"}, entryConditions={"conditions": [breaks]}
    ).model_dump(mode="json", exclude_none=True, by_alias=True)
    trades = {
        minutes: simulate(
            parse(applied(steps, {path: minutes})), histories, start=0, end=2**40, capital=1e6
        ).trades.tobytes()
        for minutes in (11, 13, 15, 17)
    }
    assert trades[11] == trades[13] == trades[15] != trades[17]
    parameters = [{"path": path, "from": 11, "to": 17, "step": 2}]
    asked = OptimizationConfig.read({"parameters": parameters, "objective": "netProfit"})
    output = optimise(steps, asked, histories=histories, start=0, end=2**40, capital=1e6)
    study: Any = output.findings
    assert (study["sets"], study["tried"]) == (2, 2)
    assert {row["parameters"][path] for row in study["ranking"]} == {11, 17}


def test_an_exception_of_the_report_ends_the_search() -> None:
    class Stop(Exception):
        pass

    def report(done: float) -> None:
        if done:
            raise Stop

    asked = OptimizationConfig.read({"parameters": PARAMETERS, "objective": "netProfit"})
    with pytest.raises(Stop):
        optimise(
            STEPS, asked, histories=HISTORIES, start=0, end=2**40, capital=1e6, on_progress=report
        )


def test_an_error_in_one_set_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.engine.errors.MOST_TRADES", 2)
    with pytest.raises(TooManyTrades):
        optimised(threads=2)
