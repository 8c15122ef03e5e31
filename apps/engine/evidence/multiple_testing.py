"""A check that a result is more than luck, counting all trials before it."""

from __future__ import annotations

from math import sqrt
from typing import Final

from apps.engine.evidence.figures import MultipleTestingFigures, OverfittingOfTheStudy
from apps.engine.evidence.inputs import EvidenceInput, EvidenceThresholds, Trials
from apps.engine.evidence.sections import (
    CheckStatus,
    EvidenceCheck,
    EvidenceSection,
    graded,
    percent_text,
    rounded_figure,
)
from apps.engine.results.sharpe import SharpeEstimate, expected_maximum
from apps.engine.studies.overfitting import Overfitting
from apps.engine.units import Unit, rounded

MULTIPLE_TESTING: Final = "multipleTesting"
_NOT_LOOKED_AT: Final = (
    "Versions tried elsewhere, by others, or with other steps on other symbols.",
    "Versions that are nearly the same: each counts as one try.",
)


def multiple_testing_section(evidence: EvidenceInput) -> EvidenceSection[MultipleTestingFigures]:
    """Return the deflated Sharpe ratio and, for a configuration chosen by a study, the probability
    that it is overfitted.
    """
    trials, thresholds = evidence.trials, evidence.thresholds
    benchmark, deflated = deflated_sharpe(evidence.result.sharpe_estimate, trials)
    status = multiple_testing_status(deflated, trials, thresholds)
    sentence = _sentence(deflated, trials, thresholds)
    return EvidenceSection(
        MULTIPLE_TESTING,
        MultipleTestingFigures(
            trials=trials.tried,
            deviationOfRatios=rounded(sqrt(trials.variance), Unit.RATIO),
            expectedMaximum=rounded(benchmark, Unit.RATIO),
            sharpeRatioDaily=rounded_figure(evidence.result.sharpe, Unit.RATIO),
            deflatedSharpeRatio=rounded_figure(deflated, Unit.RATIO),
            passesFrom=thresholds.deflated_sharpe,
            doubtFrom=thresholds.deflated_sharpe_doubt,
            overfitting=_figures(trials.overfitting, thresholds),
        ),
        sentence,
        _NOT_LOOKED_AT,
        EvidenceCheck(MULTIPLE_TESTING, status, sentence),
    )


def deflated_sharpe(estimate: SharpeEstimate | None, trials: Trials) -> tuple[float, float | None]:
    """Return the expected best daily Sharpe ratio of this many trials without any skill, and the
    probability that the true ratio is above it.
    """
    benchmark = expected_maximum(trials.tried, trials.variance)
    return benchmark, None if estimate is None else estimate.probability(benchmark)


def multiple_testing_status(
    deflated: float | None, trials: Trials, thresholds: EvidenceThresholds
) -> CheckStatus:
    """Return the status of the check.

    If a study chose the configuration, a likely overfitted choice leaves a doubt at best, and one
    of unknown overfitting does not pass.
    """
    status = graded(deflated, thresholds.deflated_sharpe, thresholds.deflated_sharpe_doubt)
    if status != CheckStatus.PASS or trials.selected_from < thresholds.selected_sets:
        return status
    if trials.overfitting is None:
        return CheckStatus.UNKNOWN
    is_overfitted = trials.overfitting.probability > thresholds.overfitting
    return CheckStatus.DOUBT if is_overfitted else CheckStatus.PASS


def _sentence(deflated: float | None, trials: Trials, thresholds: EvidenceThresholds) -> str:
    if deflated is None:
        return "Too few different daily returns to tell whether the best of many was luck."
    luck = "luck" if trials.tried == 1 else f"the luckiest of {trials.tried:,} versions tried"
    sentence = f"It is {percent_text(deflated)} likely to be better than {luck}."
    if trials.selected_from < thresholds.selected_sets:
        return sentence
    study = f"study of {trials.selected_from:,} sets that chose it"
    if trials.overfitting is None:
        return f"{sentence} Whether the {study} is overfitted is not known."
    probability = trials.overfitting.probability
    if probability <= thresholds.overfitting:
        return sentence
    return f"{sentence} The {study} is {percent_text(probability)} likely to be overfitted."


def _figures(
    study: Overfitting | None, thresholds: EvidenceThresholds
) -> OverfittingOfTheStudy | None:
    if study is None:
        return None
    return OverfittingOfTheStudy(
        **study.figures(),
        passesUpTo=thresholds.overfitting,
        countsFromSets=thresholds.selected_sets,
    )
