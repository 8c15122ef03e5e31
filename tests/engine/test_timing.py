"""Timing: the effect of the moments beside the market, by chance, by regression, and by both."""

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.evidence.inputs import THIS_ALONE, EvidenceInput, Trials
from apps.engine.evidence.sections import CheckStatus
from apps.engine.evidence.timing import AlphaTest, alpha_test, held_on_average, timing_section
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.simulate import History
from apps.engine.studies.permutations import PERMUTATIONS, TimingTest
from tests.benchmarks.random_candles import session_bars
from tests.engine.evidence_inputs import evidence_on
from tests.engine.strategies import price, sma_cross, strategy

RANDOM = np.random.default_rng(7)
MARKET = RANDOM.normal(0.001, 0.01, 400)


def test_alpha_is_that_of_the_regression() -> None:
    returns = 0.002 + 0.5 * MARKET + RANDOM.normal(0, 0.005, 400)
    test = alpha_test(returns, MARKET)
    assert test is not None
    columns = np.stack([np.ones(400), MARKET], axis=1)
    (alpha, beta), (unexplained,), *_ = np.linalg.lstsq(columns, returns)
    error = (unexplained / 398 * np.linalg.inv(columns.T @ columns)[0, 0]) ** 0.5
    assert test == pytest.approx(AlphaTest(alpha, beta, alpha / error, 398))
    assert alpha_test(returns, 1e-6 * MARKET) == pytest.approx(
        test._replace(beta=beta * 1e6), rel=1e-6
    )


def test_without_market_exposure_alpha_is_the_mean_return() -> None:
    test = alpha_test(MARKET, np.zeros(400))
    assert test is not None
    assert test.alpha == pytest.approx(MARKET.mean())
    assert test.beta == 0
    error = MARKET.std(ddof=1) / 400**0.5 * (399 / 398) ** 0.5
    assert test.t_value == pytest.approx(MARKET.mean() / error)


def test_one_position_all_the_time_has_no_timing() -> None:
    assert alpha_test(MARKET / 2, MARKET) is None


@pytest.mark.parametrize(
    ("t_value", "freedom", "p_value"),
    [
        (1.812, 10, 0.05),
        (2.764, 10, 0.01),
        (1.725, 20, 0.05),
        (-1.725, 20, 0.95),
        (3.39, 100, 5e-4),
    ],
)
def test_a_t_value_as_a_normal_one_has_the_p_value_of_tables(
    t_value: float, freedom: int, p_value: float
) -> None:
    z_value = AlphaTest(0, 0, t_value, freedom).z_value
    assert 1 - NormalDist().cdf(z_value) == pytest.approx(p_value, rel=0.01)


@pytest.mark.parametrize(("p_value", "z_value"), [(0.05, 1.645), (0.5, 0), (1.0, -3.291)])
def test_a_p_value_of_draws_as_a_normal_value(p_value: float, z_value: float) -> None:
    test = TimingTest(0, np.zeros(PERMUTATIONS), p_value)
    assert test.z_value == pytest.approx(z_value, abs=1e-3)


def walked(
    steps: Strategy, *, days: int = 30, seed: int = 1, trials: Trials = THIS_ALONE
) -> EvidenceInput:
    return evidence_on(
        steps, [History("NSE:TEST", session_bars(days, seed=seed, length=300))], trials=trials
    )


CROSS = strategy(
    basicInfo={"timeframe": "5m"},
    entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]},
)


def test_the_average_position_is_the_symbols_own_return() -> None:
    evidence = walked(CROSS)
    (candles,), result = evidence.data.candles, evidence.result
    closes = candles.close[np.searchsorted(candles.time, result.ends, side="right") - 1]
    own = closes / np.append(candles.open[0], closes[:-1]) - 1
    average = held_on_average(result, intraday=False)
    assert average / average[0] == pytest.approx(own / own[0])


def test_an_intraday_position_does_not_get_overnight_returns() -> None:
    evidence = walked(CROSS)
    (candles,), result = evidence.data.candles, evidence.result
    last = np.searchsorted(candles.time, result.ends, side="right") - 1
    first = np.append(0, last[:-1] + 1)
    own = candles.close[last] / candles.open[first] - 1
    average = held_on_average(result, intraday=True)
    assert average / average[0] == pytest.approx(own / own[0])


def figures_of(evidence: EvidenceInput) -> Any:
    section = timing_section(evidence)
    assert section.check is not None
    assert section.check.reason == section.sentence
    return section.figures


def test_where_both_apply_the_smaller_p_value_counts_for_both() -> None:
    figures = figures_of(walked(CROSS))
    both = [figures["permutations"]["pValue"], figures["alpha"]["pValue"]]
    assert figures["pValue"] == pytest.approx(min(1, 2 * min(both)), abs=1e-6)
    short = figures_of(walked(CROSS, days=19))
    assert short["alpha"] is None
    assert short["pValue"] == pytest.approx(short["permutations"]["pValue"], abs=1e-6)


def test_earlier_trials_count_against_timing_too() -> None:
    alone, among = (
        figures_of(walked(CROSS, seed=8, trials=trials))
        for trials in (THIS_ALONE, Trials(50, 1 / 30))
    )
    assert alone["expectedMaximum"] == 0
    assert among["expectedMaximum"] == pytest.approx(2.28, abs=0.01)
    assert among["pValue"] > alone["pValue"]


def test_who_buys_and_holds_in_a_rising_market_does_not_pass() -> None:
    walk = session_bars(30, length=300)
    rise = 1.0005 ** np.arange(len(walk))
    rising = Candles.build(
        walk.time,
        open=walk.open * rise,
        high=walk.high * rise,
        low=walk.low * rise,
        close=walk.close * rise,
        volume=walk.volume,
    )
    holding = strategy(
        basicInfo={"timeframe": "5m"},
        positionSizing={"method": "percentage_of_equity", "percentage": 100, "quantity": None},
        entryConditions={"positionType": "long", "conditions": [price("above", 1)]},
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 99}},
    )
    section = timing_section(evidence_on(holding, [History("NSE:TEST", rising)]))
    assert section.figures["alpha"] is None
    assert section.check is not None
    assert section.check.status == CheckStatus.UNKNOWN


def test_without_trades_there_is_no_timing() -> None:
    never = strategy(basicInfo={"timeframe": "5m"})
    section = timing_section(walked(never))
    assert section.figures["pValue"] is None
    assert section.check is not None
    assert section.check.status == CheckStatus.UNKNOWN
