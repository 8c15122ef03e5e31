"""How often noise and planted edges pass, as the only attempt and as the best of a thousand.

Charges and slippage are off, seeds are fixed. Once: an algorithm that follows two averages, always
long or short, over a walk in which each bar drifts with it, by so much that the t statistic of its
daily returns is expected to be the planted one; 0 is a random walk. The verdict is that of the
whole document. As the best of a thousand: of noise the sets of a grid of both averages, each
simulated; of an edge its daily returns among those of 999 sets drawn at random.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import variance
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import DAY, IST, Candles
from apps.engine.charges import NO_CHARGES
from apps.engine.evidence.document import evidence_document
from apps.engine.evidence.inputs import USUAL_THRESHOLDS, EvidenceInput, Trials
from apps.engine.evidence.multiple_testing import deflated_sharpe, multiple_testing_status
from apps.engine.evidence.sections import CheckStatus, graded
from apps.engine.metrics.sharpe import sharpe_estimate, sharpe_ratios
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import History
from apps.engine.simulation.simulations import EVERY_ROW, ignore_progress
from apps.engine.studies.configs import OptimizationConfig, parse_config
from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import CACHE_BYTES, GridSearch, search_grid
from apps.engine.studies.overfitting import block_sums, overfitting
from tests.engine.evidence_inputs import CAPITAL, evidence_on
from tests.engine.strategies import strategy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

Floats = NDArray[np.float64]

SEEDS: Final = range(200)
DAYS, FAST, SLOW, DEVIATION = 500, 5, 30, 0.01
SETS: Final = 1_000
FOLLOWING = strategy(
    basicInfo={"timeframe": "1d"},
    positionSizing={"method": "percentage_of_equity", "percentage": 100, "quantity": None},
    entryConditions={
        "positionType": "both",
        "conditions": [
            {
                "type": "indicator_indicator",
                "indicator1": {"type": "SMA", "period": FAST},
                "operator": "above",
                "indicator2": {"type": "SMA", "period": SLOW},
            }
        ],
    },
    exitConditions={"stopLoss": {"type": "percentage", "percentage": 50}},
    executionSettings={"productType": "delivery"},
)
STEPS = FOLLOWING.model_dump(mode="json", exclude_none=True, by_alias=True)
PERIOD = "entryConditions.conditions[0].indicator{}.period"
GRID = Grid(
    parse_config(
        OptimizationConfig,
        {
            "parameters": [
                {"path": PERIOD.format(1), "from": 2, "to": 21, "step": 1},
                {"path": PERIOD.format(2), "from": 25, "to": 123, "step": 2},
            ],
            "objective": "sharpeRatioAnnualized",
        },
    ).parameters
)


def market(seed: int, edge: float) -> History:
    """Days that drift to the side of the averages by `edge`, the t statistic of all of them."""
    random = np.random.default_rng(seed)
    returns = random.normal(0, DEVIATION, DAYS)
    close = np.full(DAYS + 1, 1000.0)
    for day in range(DAYS):
        if day >= SLOW:
            known = close[: day + 1]
            side = np.sign(known[-FAST:].mean() - known[-SLOW:].mean())
            returns[day] += side * edge * DEVIATION / (DAYS - SLOW) ** 0.5
        close[day + 1] = close[day] * (1 + returns[day])
    opens, closes = close[:-1], close[1:]
    reach = np.abs(random.normal(0, DEVIATION / 2, (2, DAYS)))
    candles = Candles.build(
        (10_000 + np.arange(DAYS)) * DAY - IST, open=opens, close=closes, volume=np.ones(DAYS),
        high=np.maximum(opens, closes) * (1 + reach[0]),
        low=np.minimum(opens, closes) * (1 - reach[1]),
    )  # fmt: skip
    return History("NSE:TEST", candles)


def tried_once(seed: int, edge: float) -> EvidenceInput:
    return evidence_on(FOLLOWING, [market(seed, edge)])


def passes_once(evidence: EvidenceInput) -> bool:
    verdict: Any = evidence_document(evidence)["verdict"]
    return bool(verdict["passes"])


def edge_passes(seed: int, edge: float) -> bool:
    """Whether the edge passes as the best of a thousand, by all checks."""
    evidence = tried_once(seed, edge)
    returns = among_noise(evidence, seed)
    return best_passes(returns) and passes_once(replace(evidence, trials=trials_of(returns)))


def best_passes(returns: Floats) -> bool:
    """Whether the best set of a study passes what is needed; `returns` f8[sets, days]."""
    ratios = [ratio or 0.0 for ratio in sharpe_ratios(returns)]
    best = int(np.argmax(ratios))
    estimate = sharpe_estimate(ratios[best], returns[best])
    assert estimate is not None
    trials = trials_of(returns)
    _, deflated = deflated_sharpe(estimate, trials)
    return (
        graded(estimate.probability(0), 0.95, 0.5) == CheckStatus.PASS
        and multiple_testing_status(deflated, trials, USUAL_THRESHOLDS) == CheckStatus.PASS
    )


def trials_of(returns: Floats) -> Trials:
    """Return the ledger after a study of these sets."""
    ratios = [ratio or 0.0 for ratio in sharpe_ratios(returns)]
    study = overfitting(block_sums(returns))
    return Trials(len(ratios), variance(ratios), study, selected_from=len(ratios))


def of_grid(seed: int) -> Floats:
    """The daily returns of all sets over a random walk."""
    data = prepare_data(
        FOLLOWING, [market(seed, 0)], start=0, end=2**40, report=ignore_progress,
        cache_bytes=CACHE_BYTES,
    )  # fmt: skip
    search = GridSearch(data, STEPS, GRID, NO_CHARGES, CAPITAL)
    judged = search_grid(
        search, range(GRID.size), [EVERY_ROW], lambda result: result.daily, by_days=True,
        threads=2, report=ignore_progress,
    )  # fmt: skip
    return np.array([daily for (daily,) in filter(None, judged)])


def among_noise(evidence: EvidenceInput, seed: int) -> Floats:
    """The daily returns of an edge, and those of sets without one."""
    planted = evidence.result.daily
    noise = np.random.default_rng(seed).normal(0, planted.std(), (SETS - 1, len(planted)))
    return np.vstack([planted, noise])


def share(passed: Sequence[bool]) -> float:
    print(f"\n{sum(passed)} of {len(passed)} pass")
    return sum(passed) / len(passed)


def test_the_planted_edge_is_what_it_is_said_to_be() -> None:
    edges = [
        evidence.result.sharpe * len(evidence.result.daily) ** 0.5
        for seed in SEEDS
        for evidence in [tried_once(seed, 3.5)]
        if evidence.result.sharpe
    ]
    assert len(edges) == len(SEEDS)
    assert np.mean(edges) == pytest.approx(3.5, abs=0.3)


def test_noise_as_the_best_of_a_thousand_passes_at_most_twice() -> None:
    assert GRID.size == SETS
    assert share([best_passes(of_grid(seed)) for seed in SEEDS]) <= 0.01


def test_noise_tried_once_passes_rarely() -> None:
    assert share([passes_once(tried_once(seed, 0)) for seed in SEEDS]) <= 0.08


def test_an_edge_tried_once_passes() -> None:
    assert share([passes_once(tried_once(seed, 3.5)) for seed in SEEDS]) >= 0.9


def test_a_large_edge_passes_as_the_best_of_a_thousand() -> None:
    assert share([edge_passes(seed, 7) for seed in SEEDS]) >= 0.9


def test_a_smaller_edge_does_not_as_the_best_of_a_thousand() -> None:
    passed = [best_passes(among_noise(tried_once(seed, 3.5), seed)) for seed in SEEDS]
    assert share(passed) <= 0.2
