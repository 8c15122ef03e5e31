"""The whole evidence on a result, as one JSON document, and the verdict that leads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from apps.engine.evidence.costs import COSTS, costs_section
from apps.engine.evidence.fills import FILLS, fills_section
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.look_ahead import LOOK_AHEAD, look_ahead_section
from apps.engine.evidence.multiple_testing import MULTIPLE_TESTING, multiple_testing_section
from apps.engine.evidence.regimes import REGIMES, regimes_section
from apps.engine.evidence.sections import CheckStatus, EvidenceCheck, EvidenceSection, section_json
from apps.engine.evidence.sensitivity import SENSITIVITY, sensitivity_section
from apps.engine.evidence.significance import SIGNIFICANCE, significance_section

SECTIONS: Final[Mapping[str, Callable[[EvidenceInput], EvidenceSection]]] = {
    COSTS: costs_section,
    FILLS: fills_section,
    SIGNIFICANCE: significance_section,
    MULTIPLE_TESTING: multiple_testing_section,
    LOOK_AHEAD: look_ahead_section,
    REGIMES: regimes_section,
    SENSITIVITY: sensitivity_section,
}
CANDLES: Final = "candles"
NEEDED: Final = frozenset({SIGNIFICANCE, MULTIPLE_TESTING})
"""Checks that a result passes by; of the others none may fail."""
_OPENINGS: Final = {
    CheckStatus.FAIL: "What speaks against this result:",
    CheckStatus.DOUBT: "What is in doubt:",
    CheckStatus.UNKNOWN: "What is not known:",
}


class Assessment(NamedTuple):
    """Whether a result passes, the sentence to lead with, and the checks behind it.

    It says what chance and hindsight could have done in the range, never what comes after.
    """

    passes: bool
    sentence: str
    checks: tuple[EvidenceCheck, ...]


def assess(checks: Sequence[EvidenceCheck]) -> Assessment:
    """Return the verdict on the checks of all sections. A check that is needed and missing is one
    that does not pass.
    """
    passed = {check.name for check in checks if check.status == CheckStatus.PASS}
    failed = any(check.status == CheckStatus.FAIL for check in checks)
    parts = []
    for status, opening in _OPENINGS.items():
        reasons = [check.reason for check in checks if check.status == status]
        if reasons:
            parts.append(" ".join([opening, *reasons]))
    sentence = (
        " ".join(parts) or "No check speaks against this result, in the range that was tested."
    )
    return Assessment(not failed and passed >= NEEDED, sentence, tuple(checks))


def evidence_document(
    evidence: EvidenceInput, *, generated: Sequence[str] = ()
) -> dict[str, object]:
    """Return the verdict, the checks behind it, and the sections by their names.

    `generated` are the symbols whose candles are a sample and no market's: no result on those
    passes. Raises EngineError.
    """
    sections = [section_of(evidence) for section_of in SECTIONS.values()]
    checks = [section.check for section in sections if section.check]
    if generated:
        reason = f"The candles of {', '.join(generated)} are a generated sample, no market's."
        checks.insert(0, EvidenceCheck(CANDLES, CheckStatus.FAIL, reason))
    verdict = assess(checks)
    return {
        "verdict": {"passes": verdict.passes, "sentence": verdict.sentence},
        "checks": [
            {"name": check.name, "status": check.status.value, "reason": check.reason}
            for check in verdict.checks
        ],
        "sections": {section.name: section_json(section) for section in sections},
    }
