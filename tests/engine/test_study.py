"""A study gives the same bytes however its items are divided, and in any order."""

import itertools
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from apps.engine.simulation.simulate import simulate
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.studies.configs import MonteCarloConfig, OptimizationConfig, WalkForwardConfig
from apps.engine.studies.monte_carlo import MonteCarlo
from apps.engine.studies.optimise import Optimisation
from apps.engine.studies.study import Study, StudyOutput
from apps.engine.studies.walk_forward import WalkForward
from tests.engine import test_optimise, test_walk_forward

PARAMETERS = {"parameters": test_optimise.PARAMETERS}
CROSSES = SimulationInput(test_optimise.STEPS, test_optimise.HISTORIES, 0, 2**40, 1e6, seed=9)


def optimisation(objective: str) -> Study:
    config = OptimizationConfig.read({**PARAMETERS, "objective": objective})
    return Optimisation.prepare(CROSSES, config)


def optimisation_of_some() -> Study:
    """Optimise with sets that cannot run, drawn at random."""
    slow = {"path": test_optimise.SLOW, "from": 1, "to": 1001, "step": 50}
    asked = {"parameters": [slow], "objective": "winStreak", "method": "random", "maxRuns": 15}
    return Optimisation.prepare(CROSSES, OptimizationConfig.read(asked))


def walk_forward() -> Study:
    asked = {"parameters": test_walk_forward.PARAMETERS, "objective": "netProfit"}
    inputs = SimulationInput(test_walk_forward.STEPS, test_walk_forward.HISTORIES, 0, 2**40, 1e6)
    return WalkForward.prepare(inputs, WalkForwardConfig.read(asked))


def monte_carlo(method: str) -> Study:
    result = simulate(
        test_optimise.CROSS, test_optimise.HISTORIES, start=0, end=2**40, capital=1e6, seed=9
    )
    return MonteCarlo(MonteCarloConfig.read({"runs": 500, "method": method}), result, 1e6, 9)


def bytes_of(output: StudyOutput[Any]) -> tuple[str, bytes, bytes]:
    findings = json.dumps([output.findings, output.result.performance])
    return findings, output.result.trades.tobytes(), output.result.curve.tobytes()


@pytest.mark.parametrize(
    "prepare",
    [
        partial(optimisation, "netProfit"),
        partial(optimisation, "totalTrades"),
        partial(optimisation, "probabilisticSharpeRatio"),
        optimisation_of_some,
        walk_forward,
        partial(monte_carlo, "shuffle"),
        partial(monte_carlo, "block_bootstrap"),
    ],
)
def test_parts_scored_by_several_in_any_order_give_the_same_bytes(
    prepare: Callable[[], Study],
) -> None:
    whole = bytes_of(prepare().run())
    workers = [prepare(), prepare()]
    size = workers[0].size
    edges = [0, 1, size // 3, size // 2, size]
    parts = {
        first: workers[number % 2].score(
            slice(first, end), threads=1 + number % 2, report=ignore_progress
        )
        for number, (first, end) in reversed(list(enumerate(itertools.pairwise(edges))))
    }
    scores = np.concatenate([parts[first] for first in sorted(parts)])
    assert bytes_of(workers[1].conclude(scores, threads=1, report=ignore_progress)) == whole
