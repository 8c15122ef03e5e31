"""A check that a result is more than luck, as if it were the only trial."""

from __future__ import annotations

from math import ceil
from typing import Final

from apps.engine.evidence.figures import PathFigures, SignificanceFigures
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.resampling import net_without_best, resampled_paths
from apps.engine.evidence.sections import (
    EvidenceCheck,
    EvidenceSection,
    graded,
    percent_text,
    rounded_figure,
)
from apps.engine.studies.figures import percentiles_of
from apps.engine.units import Unit, rounded

SIGNIFICANCE: Final = "significance"
BEST_LEFT_OUT: Final = (1, 5, 10)
_NOT_LOOKED_AT: Final = (
    "Days unlike those tested: the paths reuse only these days.",
    "Gains that the market gave to everybody: see Timing.",
    "Other versions that were tried: see Overfitting.",
)


def significance_section(evidence: EvidenceInput) -> EvidenceSection[SignificanceFigures]:
    """Return paths of days drawn anew, and the probabilistic Sharpe ratio."""
    result, thresholds = evidence.result, evidence.thresholds
    estimate = result.sharpe_estimate
    probability = None if estimate is None else estimate.probability(0.0)
    least = estimate and estimate.least_returns(0.0, thresholds.probabilistic_sharpe)
    status = graded(
        probability, thresholds.probabilistic_sharpe, thresholds.probabilistic_sharpe_doubt
    )
    sentence = _sentence(probability, least, len(result.daily), thresholds.probabilistic_sharpe)
    return EvidenceSection(
        SIGNIFICANCE,
        SignificanceFigures(
            days=len(result.daily),
            paths=_paths(evidence),
            probabilisticSharpeRatio=rounded_figure(probability, Unit.RATIO),
            minimumTrackRecordDays=None if least is None else ceil(least),
            withoutBestTrades=[
                {"trades": count, "netProfit": rounded(net, Unit.RUPEES)}
                for count, net in zip(
                    BEST_LEFT_OUT, net_without_best(result.profit, BEST_LEFT_OUT), strict=True
                )
            ],
            passesFrom=thresholds.probabilistic_sharpe,
            doubtFrom=thresholds.probabilistic_sharpe_doubt,
        ),
        sentence,
        _NOT_LOOKED_AT,
        EvidenceCheck(SIGNIFICANCE, status, sentence),
    )


def _sentence(probability: float | None, least: float | None, days: int, wanted: float) -> str:
    if probability is None:
        return "Too few different daily returns to tell skill from luck."
    sentence = f"A real edge is {percent_text(probability)} likely, judged on these {days:,} days."
    if least is None:
        return f"{sentence} It did not make money on them."
    if probability >= wanted:
        return sentence
    return f"{sentence} It takes {ceil(least):,} days like these to reach {percent_text(wanted)}."


def _paths(evidence: EvidenceInput) -> PathFigures | None:
    """Return the figures of the paths; None for too few days."""
    returns = evidence.result.daily
    if len(returns) < 2:
        return None
    paths = resampled_paths(returns, seed=evidence.inputs.seed)
    return PathFigures(
        count=len(paths.growth),
        netProfit=percentiles_of(paths.growth * evidence.inputs.capital, Unit.RUPEES),
        maxDrawdown=percentiles_of(paths.drawdown * 100, Unit.PERCENT),
        probabilityOfLoss=rounded(paths.loss, Unit.RATIO),
    )
