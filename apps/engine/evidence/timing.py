"""A check that the times of a result's trades earn more than the market gave to everybody.

There are two tests. `permutations` lays the same positions at random places. `alpha` is the days'
return beyond that of the average position held all the time, which for one symbol is the symbol's
own return; it is uninformative for a position that hardly ever changes. If both apply, the smaller
p counts for both (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
Journal of Statistics 6 (2), 1979), and each is reduced by the luck of the best of all trials, as
the Sharpe ratio is.
"""

from __future__ import annotations

from math import log, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.evidence.figures import TimingFigures
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.sections import (
    EvidenceCheck,
    EvidenceSection,
    graded,
    percent_text,
    rounded_figure,
)
from apps.engine.kernel.codes import AT_LIMIT
from apps.engine.results.result_data import ResultData
from apps.engine.results.sharpe import SAME, expected_maximum
from apps.engine.simulation.plan import plan_of
from apps.engine.studies.figures import percentiles_of
from apps.engine.studies.permutations import (
    PERMUTATIONS,
    TimingTest,
    timing_test,
    tradable_prices,
)
from apps.engine.units import Unit, rounded

Floats = NDArray[np.float64]

TIMING: Final = "timing"
LEAST_DAYS_OF_ALPHA: Final = 20
"""Of fewer days there is no alpha."""
LEAST_UNEXPLAINED: Final = 0.05
"""The share of the variance of daily returns that the average position must leave unexplained: of
positions on one side the share of the time without one.
"""
_NORMAL: Final = NormalDist()
_NOT_LOOKED_AT: Final = (
    "Stops of random positions: each lasts as long as the real one.",
    "Unusual markets: both tests use the prices of this range.",
)


class AlphaTest(NamedTuple):
    """The mean daily return beyond `beta` times the average position's, and its t-value with its
    degrees of freedom.
    """

    alpha: float
    beta: float
    t_value: float
    freedom: int

    @property
    def z_value(self) -> float:
        """Return the t-value as one of the normal distribution (Wallace, "Bounds on Normal
        Approximations to Student's and the Chi-Square Distributions", Annals of Mathematical
        Statistics 30, 1959).
        """
        n, t = self.freedom, self.t_value
        size = (8 * n + 1) / (8 * n + 3) * sqrt(n * log(1 + t * t / n))
        return size if t > 0 else -size


def timing_section(evidence: EvidenceInput) -> EvidenceSection[TimingFigures]:
    """Return both tests, and the p-value that counts them and all trials."""
    trials, thresholds = evidence.trials, evidence.thresholds
    permuted, alpha = _permuted(evidence), _alpha(evidence)
    benchmark = expected_maximum(trials.tried, trials.variance * len(evidence.result.daily))
    z_values = [permuted.z_value] if permuted else []
    z_values += [alpha.z_value] if alpha else []
    p_value = _holm([1 - _NORMAL.cdf(z - benchmark) for z in z_values])
    status = graded(
        None if p_value is None else 1 - p_value, thresholds.timing, thresholds.timing_doubt
    )
    sentence = _sentence(alpha, p_value, trials.tried)
    return EvidenceSection(
        TIMING,
        TimingFigures(
            permutations=None
            if permuted is None
            else {
                "count": PERMUTATIONS,
                "grossProfit": rounded(permuted.gross, Unit.RUPEES),
                "permuted": percentiles_of(permuted.permuted, Unit.RUPEES),
                "pValue": rounded(permuted.p_value, Unit.RATIO),
            },
            alpha=None
            if alpha is None
            else {
                "percentADay": rounded(alpha.alpha * 100, Unit.PERCENT),
                "beta": rounded(alpha.beta, Unit.RATIO),
                "tValue": rounded(alpha.t_value, Unit.RATIO),
                "pValue": rounded(1 - _NORMAL.cdf(alpha.z_value), Unit.RATIO),
            },
            trials=trials.tried,
            expectedMaximum=rounded(benchmark, Unit.RATIO),
            pValue=rounded_figure(p_value, Unit.RATIO),
            passesUpTo=rounded(1 - thresholds.timing, Unit.RATIO),
            doubtUpTo=rounded(1 - thresholds.timing_doubt, Unit.RATIO),
        ),
        sentence,
        _NOT_LOOKED_AT,
        EvidenceCheck(TIMING, status, sentence),
    )


def _holm(p_values: list[float]) -> float | None:
    """Return the smallest of the p-values, adjusted for their number; None without any."""
    return min(1.0, len(p_values) * min(p_values)) if p_values else None


def _permuted(evidence: EvidenceInput) -> TimingTest | None:
    """Return the test; None without trades, or if they leave no free bar."""
    strategy = evidence.inputs.strategy
    if not len(evidence.trades):
        return None
    # Both ends slip of a market order; of a limit order for the entry only the exit does.
    ends = 1 if plan_of(strategy).order_by == AT_LIMIT else 2
    return timing_test(
        evidence.result.by_symbol,
        slippage=strategy.executionSettings.slippage / 100 * ends / 2,
        intraday=strategy.is_intraday,
        seed=evidence.inputs.seed,
    )


def _alpha(evidence: EvidenceInput) -> AlphaTest | None:
    result = evidence.result
    if not len(result.trades) or len(result.daily) < LEAST_DAYS_OF_ALPHA:
        return None
    average = held_on_average(result, intraday=evidence.inputs.strategy.is_intraday)
    return alpha_test(result.daily, average)


def held_on_average(result: ResultData, *, intraday: bool) -> Floats:
    """Return, up to a factor, the daily returns of the average position in each symbol, held all
    the time; for an `intraday` strategy without moves from one date to the next.
    """
    start, total = int(result.curve["time"][0]), np.zeros(len(result.ends))
    for trades in result.by_symbol:
        records, candles = trades.trades, trades.candles
        weight = float((records["side"] * records["value"] * records["bars"]).sum())
        opens, closes = tradable_prices(candles, intraday=intraday)
        first = int(np.searchsorted(candles.time, start))
        last = np.searchsorted(candles.time, result.ends, side="right") - 1
        worth = np.where(last < first, opens[first], closes[last])
        total += weight * (worth / np.append(opens[first], worth[:-1]) - 1)
    return total


def alpha_test(returns: Floats, average: Floats) -> AlphaTest | None:
    """Return the regression of daily returns on the average position's; None if it leaves nearly
    nothing unexplained.
    """
    apart, days = average - average.mean(), len(returns)
    spread, mean = float(apart @ apart), float(average.mean())
    moves = np.ptp(average) > SAME * np.abs(average).max()
    beta = float(apart @ returns) / spread if moves else 0.0
    alpha = float(returns.mean()) - beta * mean
    residual = returns - alpha - beta * average
    unexplained = float(residual @ residual)
    varied = returns - returns.mean()
    if unexplained <= LEAST_UNEXPLAINED * float(varied @ varied):
        return None
    freedom = days - 2
    error = sqrt(unexplained / freedom * (1 / days + (mean**2 / spread if moves else 0.0)))
    return AlphaTest(alpha, beta, alpha / error, freedom)


def _sentence(alpha: AlphaTest | None, p_value: float | None, tried: int) -> str:
    if p_value is None:
        return "No entry times to test: no trades, or one position all the time."
    counted = "" if tried == 1 else f", counting {tried:,} versions tried"
    sentence = f"Random timing does as well in {percent_text(p_value)} of cases{counted}."
    if alpha is None:
        return sentence
    more = "more" if alpha.alpha > 0 else "less"
    return (
        f"{sentence} A day earns {abs(alpha.alpha) * 100:.3f}% {more} than holding the average"
        " position."
    )
