"""The frequency with which luck and planted edges pass.

They are tested alone, as the best of a thousand, of fifty symbols, and while a market rises.
`pytest tests/engine/test_evidence_proofs.py -m slow -s --runs 400 --first-seed 0` runs them with
other seeds. Charges and slippage are off.

FOLLOWING trades with the sign of two averages, REVERTING against the distance to one; both are
always long or short, or long half of the time. An edge is a drift of the market towards the
algorithm's side, so large that the expected t statistic of its daily returns is the planted one.
The drift of REVERTING turns every few days, so all of it is timing; the drift of FOLLOWING makes
trends, in which holding earns a part of it. The verdict is the one of the whole document.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from statistics import NormalDist, variance
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import DAY, IST, Candles
from apps.engine.evidence.document import evidence_document
from apps.engine.evidence.inputs import THIS_ALONE, EvidenceInput, Trials
from apps.engine.evidence.multiple_testing import multiple_testing_section
from apps.engine.evidence.sections import CheckStatus
from apps.engine.language.strategy import Strategy, parse
from apps.engine.results.sharpe import sharpe_ratios
from apps.engine.simulation.charges import NO_CHARGES
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import History
from apps.engine.simulation.simulations import EVERY_ROW, ignore_progress
from apps.engine.studies.configs import OptimizationConfig
from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import CACHE_BYTES, GridSearch, search_grid
from apps.engine.studies.overfitting import block_sums, overfitting
from apps.engine.studies.parameters import applied
from tests.engine.evidence_inputs import CAPITAL, evidence_on
from tests.engine.strategies import strategy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

Floats = NDArray[np.float64]
Json = dict[str, Any]

RUNS: Final = 400
DAYS, FAST, SLOW, MEAN, DEVIATION = 500, 5, 30, 20, 0.01
SETS: Final = 1_000
SYMBOLS: Final = 50
RISE: Final = 3.5
"""The t statistic of holding in a market that rises."""
FUTURE, SHARE = "NSE:TEST25DECFUT", "NSE:TEST"


def sma(period: int) -> Json:
    return {"type": "SMA", "period": period}


def steps_of(left: Json, operator: str, right: Json, *, long: bool) -> Strategy:
    condition = {
        "type": "indicator_indicator",
        "indicator1": left,
        "operator": operator,
        "indicator2": right,
    }
    return strategy(
        basicInfo={"timeframe": "1d", "symbols": [SHARE if long else FUTURE]},
        positionSizing={"method": "percentage_of_equity", "percentage": 100, "quantity": None},
        entryConditions={"positionType": "long" if long else "both", "conditions": [condition]},
        exitConditions={
            "stopLoss": {"type": "percentage", "percentage": 50},
            "exitOnOppositeSignal": True,
        },
    )


FOLLOWING, FOLLOWING_LONG = (
    steps_of(sma(FAST), "above", sma(SLOW), long=long) for long in (False, True)
)
REVERTING, REVERTING_LONG = (
    steps_of({"type": "PRICE"}, "below", sma(MEAN), long=long) for long in (False, True)
)
STEPS = FOLLOWING.model_dump(mode="json", exclude_none=True, by_alias=True)
PERIOD = "entryConditions.conditions[0].indicator{}.period"
GRID = Grid(
    OptimizationConfig.read(
        {
            "parameters": [
                {"path": PERIOD.format(1), "from": 2, "to": 21, "step": 1},
                {"path": PERIOD.format(2), "from": 25, "to": 123, "step": 2},
            ],
            "objective": "sharpeRatioAnnualized",
        },
    ).parameters
)


def side_of_averages(closes: Floats) -> float:
    return float(np.sign(closes[-FAST:].mean() - closes[-SLOW:].mean()))


def side_of_distance(closes: Floats) -> float:
    return float(np.sign(closes[-MEAN:].mean() - closes[-1]))


SIDES: Final[dict[Strategy, tuple[Callable[[Floats], float], int]]] = {
    FOLLOWING: (side_of_averages, SLOW),
    REVERTING: (side_of_distance, MEAN),
}


def planted(steps: Strategy, seed: int, edge: float) -> History:
    """Return days that drift to the side of the steps by `edge`, the t statistic of all of them."""
    side, first = SIDES[steps]
    random = np.random.default_rng(seed)
    returns = random.normal(0, DEVIATION, DAYS)
    close = np.full(DAYS + 1, 1000.0)
    for day in range(DAYS):
        if day >= first:
            returns[day] += side(close[: day + 1]) * edge * DEVIATION / (DAYS - first) ** 0.5
        close[day + 1] = close[day] * (1 + returns[day])
    return days_of(FUTURE, close, random)


def walk(symbol: str, random: np.random.Generator, *, rise: float = 0.0) -> History:
    """Make days of a random walk on which holding has an expected t statistic of `rise`."""
    returns = random.normal(rise * DEVIATION / DAYS**0.5, DEVIATION, DAYS)
    return days_of(symbol, 1000 * np.cumprod(np.append(1.0, 1 + returns)), random)


def days_of(symbol: str, close: Floats, random: np.random.Generator) -> History:
    opens, closes = close[:-1], close[1:]
    reach = np.abs(random.normal(0, DEVIATION / 2, (2, DAYS)))
    candles = Candles.build(
        (10_000 + np.arange(DAYS)) * DAY - IST,
        open=opens,
        close=closes,
        high=np.maximum(opens, closes) * (1 + reach[0]),
        low=np.minimum(opens, closes) * (1 - reach[1]),
        volume=np.full(DAYS, 1e6),
    )
    return History(symbol, candles)


def passes(evidence: EvidenceInput, trials: Trials = THIS_ALONE) -> bool:
    """Return whether the document passes; it is made only if the quickest needed check passes."""
    among = replace(evidence, trials=trials)
    check = multiple_testing_section(among).check
    if check is None or check.status != CheckStatus.PASS:
        return False
    verdict: Any = evidence_document(among)["verdict"]
    return bool(verdict["passes"])


def passes_as_the_best(evidence: EvidenceInput, returns: Floats) -> bool:
    """Return whether the evidence passes after a study of sets with these daily returns, f8[sets,
    days].
    """
    ratios = [ratio or 0.0 for ratio in sharpe_ratios(returns)]
    counted = Trials(len(ratios), variance(ratios))
    check = multiple_testing_section(replace(evidence, trials=counted)).check
    if check is None or check.status != CheckStatus.PASS:  # how the study is overfitted takes long
        return False
    study = overfitting(block_sums(returns))
    return passes(evidence, counted._replace(overfitting=study, selected_from=len(ratios)))


def of_grid(history: History) -> Floats:
    """Return the daily returns of all sets."""
    data = prepare_data(
        FOLLOWING, [history], start=0, end=2**40, report=ignore_progress, cache_bytes=CACHE_BYTES
    )
    search = GridSearch(data, STEPS, GRID, NO_CHARGES, CAPITAL)
    judged = search_grid(
        search,
        range(GRID.size),
        [EVERY_ROW],
        lambda result: result.daily,
        by_days=True,
        threads=2,
        report=ignore_progress,
    )
    return np.array([daily for (daily,) in filter(None, judged)])


def best_of_grid_passes(seed: int) -> bool:
    history = walk(FUTURE, np.random.default_rng(seed))
    returns = of_grid(history)
    assert len(returns) == GRID.size == SETS
    best = int(np.argmax([ratio or 0.0 for ratio in sharpe_ratios(returns)]))
    steps = parse(applied(STEPS, GRID.values(best)))
    return passes_as_the_best(evidence_on(steps, [history]), returns)


def best_of_symbols_passes(steps: Strategy, seed: int) -> bool:
    """Return whether the best of fifty symbols passes; the market makes half of their variance."""
    random = np.random.default_rng(seed)
    market = random.normal(0, DEVIATION, DAYS)
    tried = []
    for _ in range(SYMBOLS):
        returns = (market + random.normal(0, DEVIATION, DAYS)) / 2**0.5
        close = 1000 * np.cumprod(np.append(1.0, 1 + returns))
        tried.append(evidence_on(steps, [days_of(steps.basicInfo.symbols[0], close, random)]))
    ratios = [evidence.result.sharpe or 0.0 for evidence in tried]
    best = tried[int(np.argmax(ratios))]
    return passes(best, Trials(SYMBOLS, variance(ratios)))


def among_noise(evidence: EvidenceInput, seed: int) -> Floats:
    """Return the daily returns of an edge, and of sets without one."""
    edge = evidence.result.daily
    noise = np.random.default_rng(seed).normal(0, edge.std(), (SETS - 1, len(edge)))
    return np.vstack([edge, noise])


class Share(NamedTuple):
    """The number of runs that pass, and the Wilson interval that holds the true share in 95 % of
    cases.
    """

    passed: int
    runs: int
    lower: float
    upper: float

    @property
    def value(self) -> float:
        return self.passed / self.runs


@pytest.fixture
def seeds(request: pytest.FixtureRequest) -> range:
    first = request.config.getoption("--first-seed", 0) or 0
    return range(first, first + (request.config.getoption("--runs", RUNS) or RUNS))


def share(passed: Iterable[bool]) -> Share:
    verdicts = list(passed)
    count, runs, z = sum(verdicts), len(verdicts), NormalDist().inv_cdf(0.975)
    middle = (count + z * z / 2) / (runs + z * z)
    reach = z / (runs + z * z) * (count * (runs - count) / runs + z * z / 4) ** 0.5
    measured = Share(count, runs, middle - reach, middle + reach)
    print(f"\n{count} of {runs} pass; 95 % interval {measured.lower:.1%} to {measured.upper:.1%}")
    return measured


@pytest.mark.parametrize("steps", [FOLLOWING, REVERTING], ids=["following", "reverting"])
def test_the_planted_edge_has_its_nominal_size(steps: Strategy, seeds: range) -> None:
    results = (evidence_on(steps, [planted(steps, seed, 3.5)]).result for seed in seeds)
    edges = [(result.sharpe or 0.0) * len(result.daily) ** 0.5 for result in results]
    assert np.mean(edges) == pytest.approx(3.5, abs=0.3)


@pytest.mark.parametrize("steps", [FOLLOWING, REVERTING], ids=["following", "reverting"])
def test_noise_tried_once_passes_rarely(steps: Strategy, seeds: range) -> None:
    walks = (walk(FUTURE, np.random.default_rng(seed)) for seed in seeds)
    assert share(passes(evidence_on(steps, [history])) for history in walks).value <= 0.08


def test_noise_as_the_best_of_a_thousand_passes_at_most_once_in_a_hundred(seeds: range) -> None:
    assert share(map(best_of_grid_passes, seeds)).value <= 0.01


@pytest.mark.parametrize("steps", [FOLLOWING, REVERTING], ids=["following", "reverting"])
def test_noise_as_the_best_of_fifty_symbols_passes_rarely(steps: Strategy, seeds: range) -> None:
    assert share(best_of_symbols_passes(steps, seed) for seed in seeds).upper <= 0.08


@pytest.mark.parametrize("steps", [FOLLOWING_LONG, REVERTING_LONG], ids=["following", "reverting"])
def test_who_is_long_at_random_while_a_market_rises_passes_rarely(
    steps: Strategy, seeds: range
) -> None:
    walks = (walk(SHARE, np.random.default_rng(seed), rise=RISE) for seed in seeds)
    assert share(passes(evidence_on(steps, [history])) for history in walks).upper <= 0.08


@pytest.mark.parametrize("steps", [FOLLOWING, REVERTING], ids=["following", "reverting"])
def test_an_edge_tried_once_passes(steps: Strategy, seeds: range) -> None:
    edges = (evidence_on(steps, [planted(steps, seed, 3.5)]) for seed in seeds)
    assert share(map(passes, edges)).value >= 0.85


@pytest.mark.parametrize(("edge", "least", "most"), [(7, 0.85, 1), (3.5, 0, 0.2)])
def test_a_large_edge_as_the_best_of_a_thousand_passes(
    edge: float, least: float, most: float, seeds: range
) -> None:
    def verdicts() -> Iterator[bool]:
        for seed in seeds:
            evidence = evidence_on(REVERTING, [planted(REVERTING, seed, edge)])
            returns = among_noise(evidence, seed)
            ratios = sharpe_ratios(returns)
            yield ratios[0] == max(filter(None, ratios)) and passes_as_the_best(evidence, returns)

    assert least <= share(verdicts()).value <= most
