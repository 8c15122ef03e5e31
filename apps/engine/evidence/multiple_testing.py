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
    "What was tried elsewhere, by others, or with other steps on other symbols.",
    "How alike the trials are, but by how little their ratios vary: each counts as one.",
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
    tried = "1 configuration" if trials.tried == 1 else f"{trials.tried:,} configurations"
    if deflated is None:
        return f"Of {tried} tried, too few daily returns differ to say what the choice is worth."
    sentence = (
        f"With {tried} tried, the Sharpe ratio is above what the best of them reaches by luck with"
        f" a probability of {percent_text(deflated)}."
    )
    if trials.selected_from < thresholds.selected_sets:
        return sentence
    study = f"study of {trials.selected_from:,} sets that chose it"
    if trials.overfitting is None:
        return (
            f"{sentence} How likely the {study} is overfitted is not known: it ran before that was"
            " computed, or has too few days."
        )
    probability = trials.overfitting.probability
    if probability <= thresholds.overfitting:
        return sentence
    return (
        f"{sentence} The {study} is overfitted with a probability of {percent_text(probability)}."
    )


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
